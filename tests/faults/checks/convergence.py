"""I11: after the last fault, the same end as without any."""

from faults.options import Options
from faults.run import Record
from faults.server import is_true
from faults.shared.options import Shared
from faults.shared.restore import RESTORED


def convergence(record: Record) -> list[str]:
    """Compares with the run that nothing went wrong in, where there was one."""
    if record.faultless is None or not record.quiet or _restored(record.options):
        return []
    lasting = record.options.lasting
    refused = lasting.where if lasting is not None and lasting.what == "refused" else ""
    one, other, lost = record, record.faultless, record.lost
    here, there = _fates(one, refused, lost), _fates(other, refused, lost)
    names = sorted(here.keys() | there.keys())
    pairs = ((name, here.get(name, "gone"), there.get(name, "gone")) for name in names)
    return [f"{name} is {one}, and {two} without faults" for name, one, two in pairs if one != two]


def _restored(options: Options) -> bool:
    """Jobs that were submitted after the backup are gone."""
    return isinstance(options, Shared) and any(one.what == RESTORED for one in options.faults)


def _fates(record: Record, refused: str, lost: str) -> dict[str, str]:
    """How each planned Job stands at the end, but for one that is refused for ever.

    Whether it completes or fails is its pods' affair, and a node that dies counts as a failure.
    """
    found: dict[str, str] = {}
    for key, body in record.last_jobs(lost).items():
        if key[1] != refused and not key[1].startswith("probe"):
            ended = is_true(body, "Complete") or is_true(body, "Failed")
            waits = bool(body["spec"]["suspend"])
            found["/".join(key)] = "over" if ended else "waiting" if waits else "running"
    return found
