"""The bench's event loop: no file, no socket, no real time; and processes that can be stopped.

Everything that a process starts runs in a context that carries the process's name. A stopped
process is one whose callbacks are kept instead of run, so that it stops between any two awaits,
as SIGSTOP does; one that is never continued was killed.
"""

import asyncio
from collections import deque
from contextvars import Context, ContextVar
from heapq import heappop, heappush
from typing import Any

PROCESS: ContextVar[str] = ContextVar("PROCESS", default="")
"""Which process the running callback belongs to; empty for the world around them."""


class StuckError(Exception):
    """Nothing can ever happen again: every task waits for another one."""


class BenchLoop(asyncio.BaseEventLoop):
    """Its clock stands still while anything can run, and then moves to the next timer.

    What is due at one moment runs in the order in which it was asked for.
    """

    def __init__(self) -> None:
        super().__init__()
        self.failures: list[str] = []
        """What went wrong where nobody waits for it."""
        self._now = 0.0
        self._asked = 0
        self._due: deque[Any] = deque()
        self._timers: list[tuple[float, int, Any]] = []
        self._kept: dict[str, list[Any]] = {}
        self.set_exception_handler(self._note)

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._now

    def call_soon(  # type: ignore[override]
        self, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """As every loop does it."""
        handle = asyncio.Handle(callback, args, self, context)
        self._due.append(handle)
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """As every loop does it."""
        return self.call_at(self._now + delay, callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """As every loop does it."""
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._asked += 1
        heappush(self._timers, (when, self._asked, handle))
        return handle

    def stop_process(self, name: str) -> None:
        """From now on nothing of this process runs."""
        self._kept.setdefault(name, [])

    def continue_process(self, name: str) -> None:
        """It goes on where it was stopped; what was due meanwhile is due now."""
        self._due.extend(self._kept.pop(name, ()))

    def _run_once(self) -> None:
        """A round: what is due; if nothing is, the clock moves on. Raises StuckError."""
        due, timers = self._due, self._timers
        while timers and timers[0][2]._cancelled:
            heappop(timers)
        if not due and not self._stopping:  # type: ignore[attr-defined]
            if not timers:
                raise StuckError("every task waits for another one: no timer is left")
            self._now = max(self._now, timers[0][0])
        while timers and timers[0][0] <= self._now:
            due.append(heappop(timers)[2])
        for _ in range(len(due)):
            handle = due.popleft()
            if handle._cancelled:
                continue
            kept = self._kept.get(handle._context.get(PROCESS, "")) if self._kept else None
            if kept is None:
                handle._run()
            else:
                kept.append(handle)

    def _note(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.failures.append(f"{context.get('message')}: {context.get('exception')!r}")

    def _write_to_self(self) -> None:
        """Nobody calls from another thread, but generators that are finalised ask as if."""

    def _timer_handle_cancelled(self, handle: Any) -> None:
        """Cancelled timers are dropped when their time comes."""
