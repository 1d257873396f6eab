"""A term: the tasks of a time in which this replica leads. They all end with it."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from kwicket.engine.tasks import Spawn


class Term:
    """Serves one time of leading after the other."""

    def __init__(self, spawn: Spawn) -> None:
        self._spawn = spawn
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, None], /, *, name: str) -> asyncio.Task[None]:
        """Starts a task of this term."""
        task = self._spawn(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def end(self) -> None:
        """Cancels what is under way, and returns when none of it runs any more.

        A write that was sent may still be applied: it carries a version, and a token of its own.
        """
        for task in self._tasks:
            task.cancel()
        while self._tasks:
            await asyncio.wait(self._tasks)
