"""Lines of the log, written by a thread: a reader that hangs must not stop who logs.

A pipe that nobody reads is full after 64 KiB, and a write to it waits; an event loop that waits
there renews no lease. So lines wait here, and if too many do, the newest are lost, and counted.
"""

import contextlib
import logging
import os
import queue
import threading

MOST_WAITING = 10_000
"""Lines."""
FAREWELL = 1.0
"""Seconds that the end of the process, or whoever flushes, waits for what is not written yet."""


class Lines(logging.Handler):
    """Writes each record as a line to a file descriptor that is already open."""

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._waiting: queue.Queue[bytes | None] = queue.Queue(MOST_WAITING)
        self._lost = 0
        self._counting = threading.Lock()
        threading.Thread(target=self._write_all, name="log", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Takes a record; never waits."""
        try:
            line = self._line(record)
        except Exception:  # as every handler does, whatever cannot be formatted
            self.handleError(record)
            return
        try:
            self._waiting.put_nowait(line)
        except queue.Full:
            with self._counting:
                self._lost += 1

    def flush(self) -> None:
        """Returns when all is written, or after a second."""
        left = self._waiting
        with left.all_tasks_done:
            left.all_tasks_done.wait_for(lambda: not left.unfinished_tasks, FAREWELL)

    def close(self) -> None:
        """Has the thread end after what waits."""
        with contextlib.suppress(queue.Full):
            self._waiting.put_nowait(None)
        super().close()

    def _line(self, record: logging.LogRecord) -> bytes:
        return f"{self.format(record)}\n".encode(errors="backslashreplace")

    def _write_all(self) -> None:
        while (line := self._waiting.get()) is not None:
            self._write(line)
            if lost := self._taken_lost():
                self._write(self._line(_confession(lost)))
            self._waiting.task_done()
        self._waiting.task_done()

    def _taken_lost(self) -> int:
        """How many were lost since this was last asked."""
        with self._counting:
            lost, self._lost = self._lost, 0
        return lost

    def _write(self, line: bytes) -> None:
        """All of it, unless nobody will ever read it."""
        with contextlib.suppress(OSError):
            while line:
                line = line[os.write(self._descriptor, line) :]


def _confession(lost: int) -> logging.LogRecord:
    message = "%d lines of the log were lost: nobody read them"
    return logging.LogRecord(__name__, logging.WARNING, "", 0, message, (lost,), None)
