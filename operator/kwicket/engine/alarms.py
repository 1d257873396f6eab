"""Alarms: submissions that must be considered at a later moment, though nothing happens to them."""

import asyncio
import math
from collections.abc import Callable
from heapq import heapify, heappop, heappush

from kwicket.ports.clock import Clock

SLACK = 1000
"""How many moments that count no more may be kept beside as many that do."""


class Alarms:
    """One moment a submission, by the monotonic clock; nothing is scanned."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._moments: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []
        self._sooner = asyncio.Event()

    def set(self, uid: str, moment: float | None) -> None:
        """Sets a submission's moment instead of the one it had; None for none."""
        if moment is None:
            self._moments.pop(uid, None)
            return
        if self._moments.get(uid) == moment:
            return
        self._moments[uid] = moment
        heappush(self._heap, (moment, uid))
        if self._heap[0] == (moment, uid):
            self._sooner.set()
        if len(self._heap) > 2 * len(self._moments) + SLACK:
            self._heap = [(moment, uid) for uid, moment in self._moments.items()]
            heapify(self._heap)

    def late(self, uid: str) -> bool:
        """Whether a submission's moment has come, and it was not rung for yet."""
        return self._moments.get(uid, math.inf) <= self._clock.monotonic()

    async def run(self, ring: Callable[[str], None]) -> None:
        """Calls `ring` with each submission whose moment has come, until cancelled."""
        while True:
            self._sooner.clear()
            await self._wait()
            for uid in self._due():
                ring(uid)

    async def _wait(self) -> None:
        """Returns when the first moment has come, or there is a new first one."""
        first = self._heap[0][0] - self._clock.monotonic() if self._heap else None
        try:
            async with asyncio.timeout(first):
                await self._sooner.wait()
        except TimeoutError:
            return

    def _due(self) -> list[str]:
        now = self._clock.monotonic()
        due = []
        while self._heap and self._heap[0][0] <= now:
            moment, uid = heappop(self._heap)
            if self._moments.get(uid) == moment:
                del self._moments[uid]
                due.append(uid)
        return due
