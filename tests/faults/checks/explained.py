"""I8: every decision has a reason, and replays."""

from faults.run import Record
from faults.server import is_true
from faults.store import Body


def explained(record: Record) -> list[str]:
    """Each Job that waits at the end was told why, and each decision comes out again."""
    return _untold(record) + _unlike(record)


def _untold(record: Record) -> list[str]:
    if not record.quiet:
        return []
    told = {voice.notice.job.uid for voice in record.voices}
    jobs = record.last_jobs(record.lost).values()
    uids = [body["metadata"]["uid"] for body in jobs if _waits(body)]
    return [f"nobody told {uid} why it waits" for uid in uids if uid not in told]


def _waits(job: Body) -> bool:
    """One that has ended does not, though somebody suspends it."""
    return bool(job["spec"]["suspend"]) and not (is_true(job, "Complete") or is_true(job, "Failed"))


def _unlike(record: Record) -> list[str]:
    return [text for one in record.decisions if (text := one.differs())]
