"""Sweeps: every submission considered anew, once for all who ask for it at the same time."""

import asyncio
from collections.abc import Awaitable, Callable


class Sweeps:
    """One at a time; who asks while one is under way shares the next one with all others."""

    def __init__(self, sweep: Callable[[], Awaitable[None]]) -> None:
        self._sweep = sweep
        self._begun = self._complete = 0
        self._lock = asyncio.Lock()
        self.stale = asyncio.Event()
        """Set by whoever wants a sweep and does not wait for it."""

    async def run(self) -> None:
        """Sweeps whenever somebody wants it."""
        while await self.stale.wait():
            self.stale.clear()
            await self.one()

    @property
    def due(self) -> bool:
        """Whether one is asked for or under way: not all is considered anew yet that must be."""
        return self.stale.is_set() or self._lock.locked()

    async def under_way(self) -> None:
        """Returns when the sweep that is under way, if one is, is complete."""
        async with self._lock:
            pass

    async def one(self, patience: float = 0) -> None:
        """Returns when a sweep that began after the call is complete.

        For so many seconds it is left to somebody else to ask for one.
        """
        asked = self._begun
        if patience:
            await asyncio.sleep(patience)
        async with self._lock:
            if self._complete > asked:
                return
            self._begun += 1
            await self._sweep()
            self._complete = self._begun
