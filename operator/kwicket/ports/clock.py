"""The clock."""

from typing import Protocol


class Clock(Protocol):
    """Wall time for stamps that others read, monotonic time for durations."""

    def now(self) -> int:
        """Milliseconds since 1970."""
        ...

    def monotonic(self) -> float:
        """Seconds, from an arbitrary moment."""
        ...
