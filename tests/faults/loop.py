"""The bench's event loop: no file, no socket, no real time; and processes that can be stopped.

Everything that a process starts runs in a context that carries the process's name. A stopped
process is one whose callbacks are kept instead of run, so that it stops between any two awaits,
as SIGSTOP does; one that is never continued was killed.
"""

import asyncio
from collections.abc import Iterator
from contextvars import ContextVar
from heapq import heappop
from typing import Any

PROCESS: ContextVar[str] = ContextVar("PROCESS", default="")
"""Which process the running callback belongs to; empty for the world around them."""


class StuckError(Exception):
    """Nothing can ever happen again: every task waits for another one."""


class BenchLoop(asyncio.BaseEventLoop):
    """Its clock stands still while anything can run, and then moves to the next timer."""

    def __init__(self) -> None:
        super().__init__()
        self.failures: list[str] = []
        """What went wrong where nobody waits for it."""
        self._now = 0.0
        self._kept: dict[str, list[Any]] = {}
        self.set_exception_handler(self._note)

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._now

    def stop_process(self, name: str) -> None:
        """From now on nothing of this process runs."""
        self._kept.setdefault(name, [])

    def continue_process(self, name: str) -> None:
        """It goes on where it was stopped; what was due meanwhile is due now."""
        self._ready.extend(self._kept.pop(name, ()))  # type: ignore[attr-defined]

    def _run_once(self) -> None:
        """One round: what is due, in the order in which it became so."""
        ready: Any = self._ready  # type: ignore[attr-defined]
        scheduled: list[Any] = self._scheduled  # type: ignore[attr-defined]
        while scheduled and scheduled[0]._cancelled:
            heappop(scheduled)._scheduled = False
        if not ready and not self._stopping:  # type: ignore[attr-defined]
            if not scheduled:
                raise StuckError("every task waits for another one: no timer is left")
            self._now = max(self._now, scheduled[0]._when)
        while scheduled and scheduled[0]._when <= self._now:
            handle = heappop(scheduled)
            handle._scheduled = False
            ready.append(handle)
        for handle in _first(ready, len(ready)):
            kept = self._kept.get(handle._context.get(PROCESS, "")) if self._kept else None
            if kept is not None:
                kept.append(handle)
            elif not handle._cancelled:
                handle._run()

    def _note(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.failures.append(f"{context.get('message')}: {context.get('exception')!r}")

    def _timer_handle_cancelled(self, handle: Any) -> None:
        """Cancelled timers are dropped when their time comes."""

    def _process_events(self, event_list: object) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """Nobody calls from another thread."""


def _first(ready: Any, count: int) -> Iterator[Any]:
    for _ in range(count):
        yield ready.popleft()
