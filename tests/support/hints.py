"""What kopf tells of Pools, Lanes and Limits."""

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from kwicket.kube.watching import Watching
from support.news import News


class Hints(News):
    """What kopf has told, and in which thread."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, str, str]] = []
        self.threads: set[threading.Thread] = set()
        self.broken = False
        self.is_served = asyncio.Event()
        self.is_served.set()
        self.asked = 0

    async def served(self) -> None:
        self.asked += 1
        self.stir()
        await self.is_served.wait()

    def seen(self, kind: str, body: Mapping[str, Any]) -> None:
        self._tell("seen", kind, body["metadata"]["name"])

    def gone(self, kind: str, name: str) -> None:
        self._tell("gone", kind, name)

    def _tell(self, *word: str) -> None:
        what, kind, name = word
        self.told.append((what, kind, name))
        self.threads.add(threading.current_thread())
        self.stir()
        if self.broken:
            raise ValueError("a hint that breaks something")

    @asynccontextmanager
    async def following(self, watching: Watching) -> AsyncIterator[None]:
        """Has it watch; afterwards its thread must end soon."""
        watching.start()
        try:
            yield
        finally:
            watching.stop()
            await asyncio.to_thread(watching._thread.join, 10)
            assert not watching._thread.is_alive()
