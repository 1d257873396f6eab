"""News: a test waits until something is so, and is woken by whoever may have made it so."""

import asyncio
from collections.abc import Callable

PATIENCE = 30.0
"""Seconds until a test that waits gives up."""


class News:
    """Whoever changes something stirs; whoever waits looks again."""

    def __init__(self) -> None:
        self._stirred = asyncio.Event()

    def stir(self) -> None:
        """Something has changed."""
        stirred, self._stirred = self._stirred, asyncio.Event()
        stirred.set()

    async def until(self, true: Callable[[], object]) -> None:
        """Waits until it is so."""
        async with asyncio.timeout(PATIENCE):
            while not true():
                await self._stirred.wait()
