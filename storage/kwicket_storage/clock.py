"""The database's clock, as all clusters that share it read it."""

import time


class DatabaseClock:
    """Implements ports/clock.py: the last moment that an answer said, and what has passed since.

    It lags behind by the way of that answer and never goes back, also when another server answers.
    Until the first answer it is the machine's.
    """

    def __init__(self) -> None:
        self._said = time.time_ns() // 1_000_000
        self._at = time.monotonic()
        self._last = 0
        self._told = False

    def saw(self, now: int) -> None:
        """An answer has said that it is `now`, in milliseconds since 1970."""
        if not self._told:
            self._last = 0  # the machine's clock may be ahead
        self._said, self._at, self._told = now, time.monotonic(), True

    def now(self) -> int:
        """Milliseconds since 1970."""
        passed = int((time.monotonic() - self._at) * 1000)
        self._last = max(self._last, self._said + passed)
        return self._last

    def monotonic(self) -> float:
        """Seconds from an arbitrary moment, by the machine's clock."""
        return time.monotonic()
