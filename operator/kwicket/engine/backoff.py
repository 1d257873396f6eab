"""Waiting longer after each failure, so that a struggling server gets air."""

import asyncio
import random


class Backoff:
    """Doubles from `first` to `longest` seconds, with jitter; starts anew after `reset`."""

    def __init__(self, first: float = 0.1, longest: float = 15) -> None:
        self._first = first
        self._longest = longest
        self._next = first

    def reset(self) -> None:
        """Starts anew: the other side has answered."""
        self._next = self._first

    async def sleep(self, at_least: float = 0) -> None:
        """Waits the next time, or as long as the other side asked for if that is longer."""
        jitter = 0.75 + random.random() / 2  # noqa: S311  # spreads retries, guards nothing
        await asyncio.sleep(max(at_least, self._next * jitter))
        self._next = min(self._next * 2, self._longest)
