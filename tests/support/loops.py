"""An event loop in which waiting costs nothing: time jumps when nothing else can be done."""

import asyncio
import selectors
from collections.abc import Mapping
from typing import Any


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its clock stands still while anything can run, and then moves to the next timer."""

    def __init__(self) -> None:
        self._jumps = _Jumps()
        super().__init__(self._jumps)

    def time(self) -> float:
        """Seconds since the loop was made, in its own time."""
        return self._jumps.now


class _Jumps(selectors.DefaultSelector):
    """Never waits: what it would have waited is added to `now`."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("every task waits for another one: no timer is left")
            self.now += max(timeout, 0)
        return ready


def virtual_loops() -> Mapping[str, Any]:
    """For the hook `pytest_asyncio_loop_factories`."""
    return {"virtual": VirtualLoop}
