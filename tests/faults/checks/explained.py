"""I8: every decision has a reason, and replays."""

from faults.run import Record
from faults.store import JOBS


def explained(record: Record) -> list[str]:
    """Each Job that waits at the end was told why, and each decision comes out again."""
    return _untold(record) + _unlike(record)


def _untold(record: Record) -> list[str]:
    if not record.quiet:
        return []
    told = {voice.notice.job.uid for voice in record.voices}
    last = {change.key: change.after for change in record.kind(JOBS)}
    waiting = [s.body for s in last.values() if s is not None and s.body["spec"]["suspend"]]
    uids = [body["metadata"]["uid"] for body in waiting]
    return [f"nobody told {uid} why it waits" for uid in uids if uid not in told]


def _unlike(record: Record) -> list[str]:
    return [text for one in record.decisions if (text := one.differs())]
