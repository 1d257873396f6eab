"""I6: a lease whose pods have ended is free. At the end, as many start as the limits admit."""

from faults.run import Record


def leaks(record: Record) -> list[str]:
    """By the probes that were submitted when all else had ended."""
    if not record.quiet or record.probes == record.wanted_probes:
        return []
    return [f"{record.probes} of {record.wanted_probes} probes run at once when all else is over"]
