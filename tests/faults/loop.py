"""The bench's event loop: no file, no socket, no real time; and processes that can be stopped.

Everything that a process starts runs in a context that carries the process's name. A stopped
process is one whose callbacks are kept instead of run, so that it stops between any two awaits,
as SIGSTOP does; one that is never continued was killed.
"""

import asyncio
import itertools
from collections import deque
from contextvars import Context, ContextVar, copy_context
from heapq import heappop, heappush
from typing import Any

PROCESS: ContextVar[str] = ContextVar("PROCESS", default="")
"""Which process the running callback belongs to; empty for the world around them."""


class BenchTask(asyncio.Task[Any]):
    """Has its place in sets by its number, not by where it happens to lie in memory."""

    _numbers = itertools.count()

    def __init__(self, *args: Any, **named: Any) -> None:
        self._number = next(self._numbers)
        super().__init__(*args, **named)

    def __hash__(self) -> int:
        return self._number


class StuckError(Exception):
    """Nothing can ever happen again: every task waits for another one."""


class Handle:
    """As much of asyncio's handles as futures, tasks and timeouts use, at a third of the cost."""

    __slots__ = ("args", "callback", "cancelled_", "context", "moment")

    def __init__(self, callback: Any, args: Any, context: Context | None, moment: float) -> None:
        self.callback = callback
        self.args = args
        self.context = copy_context() if context is None else context
        self.moment = moment
        self.cancelled_ = False

    def cancel(self) -> None:
        """It is not called; what it holds is let go."""
        self.cancelled_ = True
        self.callback, self.args = None, ()

    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self.cancelled_

    def when(self) -> float:
        """The moment for which it was asked."""
        return self.moment


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
        self._due: deque[Handle] = deque()
        self._timers: list[tuple[float, int, Handle]] = []
        self._kept: dict[str, list[Handle]] = {}
        self.set_exception_handler(self._note)
        BenchTask._numbers = itertools.count()
        self.set_task_factory(lambda loop, work, **named: BenchTask(work, loop=loop, **named))

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._now

    def call_soon(  # type: ignore[override]
        self, callback: Any, *args: Any, context: Context | None = None
    ) -> Handle:
        """As every loop does it."""
        handle = Handle(callback, args, context, self._now)
        self._due.append(handle)
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Any, *args: Any, context: Context | None = None
    ) -> Handle:
        """As every loop does it."""
        handle = Handle(callback, args, context, self._now + delay)
        self._asked += 1
        heappush(self._timers, (handle.moment, self._asked, handle))
        return handle

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Context | None = None
    ) -> Handle:
        """As every loop does it."""
        handle = Handle(callback, args, context, when)
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
        while timers and timers[0][2].cancelled_:
            heappop(timers)
        if not due and not self._stopping:  # type: ignore[attr-defined]
            if not timers:
                raise StuckError("every task waits for another one: no timer is left")
            self._now = max(self._now, timers[0][0])
        while timers and timers[0][0] <= self._now:
            due.append(heappop(timers)[2])
        for _ in range(len(due)):
            handle = due.popleft()
            if handle.cancelled_:
                continue
            kept = self._kept.get(handle.context.get(PROCESS, "")) if self._kept else None
            if kept is None:
                self._call(handle)
            else:
                kept.append(handle)

    def _call(self, handle: Handle) -> None:
        try:
            handle.context.run(handle.callback, *handle.args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            message = f"{handle.callback} failed"
            self.call_exception_handler({"message": message, "exception": error})

    def _note(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.failures.append(f"{context.get('message')}: {context.get('exception')!r}")

    def _asyncgen_finalizer_hook(self, agen: Any) -> None:
        """What a killed process has left open ends with it: nothing of it runs any more."""
