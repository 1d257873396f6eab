"""I4: no Job is lost. After the last fault each one ends, or is set aside with a reason."""

from faults.run import Record
from faults.scene import over


def lost(record: Record) -> list[str]:
    """Names what has not come to its end within the run's patience."""
    if record.quiet:
        return []
    jobs = sorted(record.last_jobs(record.lost).items())
    stuck = ["/".join(key) for key, body in jobs if not over(body, record.options)]
    what = ", ".join(stuck) or "no Job, but a grant or a pod"
    return [f"after {record.seconds:.0f} s not over: {what}"]
