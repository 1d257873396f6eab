"""The clock of the machine."""

import time


class SystemClock:
    """Implements ports/clock.py."""

    def now(self) -> int:
        """Milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds from an arbitrary moment."""
        return time.monotonic()
