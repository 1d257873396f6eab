"""What a Listener hears, and what it says when it hears nothing."""

import asyncio

import pytest

from kwicket_storage.listener import Listener


class Heard:
    """What rang, in its order."""

    def __init__(self) -> None:
        self.pools: list[str | None] = []
        self._rung = asyncio.Event()

    def __call__(self, pool: str | None) -> None:
        self.pools.append(pool)
        self._rung.set()

    async def until(self, *pools: str | None) -> None:
        """Returns once all that rang is this."""
        async with asyncio.timeout(20):
            while self.pools != list(pools):
                self._rung.clear()
                await self._rung.wait()


async def said_by(
    listener: Listener, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> str:
    """What it logs up to its first warning, after which it is ended."""
    task = asyncio.create_task(listener.run())
    said = ""
    async with asyncio.timeout(20):
        while "not listening" not in said:
            await asyncio.sleep(0)
            said += capsys.readouterr().out + caplog.text
    assert not task.done()
    task.cancel()
    await asyncio.wait([task])
    return said
