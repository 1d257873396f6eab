"""I4: no Job is lost. After the last fault each one ends, or is set aside with a reason."""

from faults.run import Record, over
from faults.store import JOBS


def lost(record: Record) -> list[str]:
    """Names what has not come to its end within the run's patience."""
    if record.quiet:
        return []
    last = {change.key: change.after for change in record.kind(JOBS)}
    jobs = {key: stored.body for key, stored in last.items() if stored is not None}
    stuck = [key[1] for key, body in sorted(jobs.items()) if not over(body, record.options)]
    what = ", ".join(stuck) or "no Job, but a grant or a pod"
    return [f"after {record.seconds:.0f} s not over: {what}"]
