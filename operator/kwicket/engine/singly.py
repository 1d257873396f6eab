"""Singly: at most one task for each submission."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from kwicket.engine.tasks import Spawn


class Singly:
    """Remembers the last task of each submission until it is forgotten."""

    def __init__(self, spawn: Spawn) -> None:
        self._spawn = spawn
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._purposes: dict[str, object] = {}

    def start(self, uid: str, work: Coroutine[Any, Any, None], *, name: str) -> None:
        """Starts this work, unless some of the submission is under way."""
        if self.idle(uid):
            self._tasks[uid] = self._spawn(work, name=name)
        else:
            work.close()

    def start_once(
        self, uid: str, purpose: object, work: Coroutine[Any, Any, None], *, name: str
    ) -> None:
        """The same, unless the last one of this purpose came to its end by itself."""
        task = self._tasks.get(uid)
        came_to_end = task is not None and task.done() and not task.cancelled()
        if came_to_end and self._purposes.get(uid) == purpose:
            work.close()
            return
        if self.idle(uid):
            self._purposes[uid] = purpose
        self.start(uid, work, name=name)

    def idle(self, uid: str) -> bool:
        """Whether nothing of a submission is under way."""
        task = self._tasks.get(uid)
        return task is None or task.done()

    def forget(self, uid: str) -> None:
        """Nothing is kept of a Job that has ended; what is under way goes on."""
        self._tasks.pop(uid, None)
        self._purposes.pop(uid, None)
