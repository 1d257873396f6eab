"""Durations as Pools and Limits write them: `30m`, `1h30m`, `90s`."""

import re

_DURATION = re.compile(r"(?=[0-9])(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,9})s)?")


def milliseconds(text: str) -> int:
    """The duration in milliseconds. Raises ValueError, with the way to write one."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no duration: write hours, minutes, seconds, as in 1h30m")
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((hours * 60 + minutes) * 60 + seconds) * 1000
