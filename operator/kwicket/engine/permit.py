"""The permit to start Jobs: only while the policies are in force is anything granted."""

import asyncio
from collections.abc import Awaitable, Callable

from kwicket.ports.enforcement import NOT_READ, Enforcement


class Permit:
    """Nothing is permitted until the policies were read."""

    def __init__(self) -> None:
        self.enforcement = NOT_READ
        self.reread: Callable[[], Awaitable[None]] | None = None
        """Reads the policies once more, and has `take` hear of them."""
        self._opened = asyncio.Event()

    @property
    def open(self) -> bool:
        """Whether Jobs may be started now."""
        return self._opened.is_set()

    def take(self, enforcement: Enforcement) -> bool:
        """Takes what is known of the policies now; False if it says nothing new."""
        if enforcement == self.enforcement:
            return False
        self.enforcement = enforcement
        if enforcement.in_force:
            self._opened.set()
        else:
            self._opened.clear()
        return True

    async def confirmed(self) -> bool:
        """Whether Jobs may be started by what the policies are now, not when last read."""
        if self.reread is not None:
            await self.reread()
        return self.open

    async def opened(self) -> None:
        """Returns once Jobs may be started."""
        await self._opened.wait()
