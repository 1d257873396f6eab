"""I11: after the last fault, the same end as without any."""

from faults.run import Record
from faults.server import is_true
from faults.store import JOBS


def convergence(record: Record) -> list[str]:
    """Compares with the run that nothing went wrong in, where there was one."""
    if record.faultless is None or not record.quiet:
        return []
    lasting = record.options.lasting
    refused = lasting.where if lasting is not None and lasting.what == "refused" else ""
    here, there = _fates(record, refused), _fates(record.faultless, refused)
    names = sorted(here.keys() | there.keys())
    pairs = ((name, here.get(name, "gone"), there.get(name, "gone")) for name in names)
    return [f"{name} is {one}, and {two} without faults" for name, one, two in pairs if one != two]


def _fates(record: Record, refused: str) -> dict[str, str]:
    """How each planned Job stands at the end, but for one that is refused for ever.

    Whether it completes or fails is its pods' affair, and a node that dies counts as a failure.
    """
    found: dict[str, str] = {}
    for change in record.kind(JOBS):
        name = "/".join(change.key)
        if change.after is None:
            found.pop(name, None)
        elif change.key[1] != refused and not change.key[1].startswith("probe"):
            body = change.after.body
            ended = is_true(body, "Complete") or is_true(body, "Failed")
            waits = bool(body["spec"]["suspend"])
            found[name] = "over" if ended else "waiting" if waits else "running"
    return found
