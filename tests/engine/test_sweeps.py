"""However many pools recover at once, all submissions are considered once or twice."""

import asyncio

import pytest

from kwicket.engine.sweeps import Sweeps


class Counted:
    """A sweep that takes a while."""

    def __init__(self) -> None:
        self.begun = 0
        self.go_on = asyncio.Event()

    async def __call__(self) -> None:
        self.begun += 1
        await self.go_on.wait()


async def test_those_who_ask_during_a_sweep_share_the_next_one() -> None:
    counted = Counted()
    sweeps = Sweeps(counted)
    async with asyncio.TaskGroup() as group:
        group.create_task(sweeps.one())
        await asyncio.sleep(0)
        for _ in range(50):
            group.create_task(sweeps.one())
        await asyncio.sleep(0)
        counted.go_on.set()
    assert counted.begun == 2


async def test_who_can_wait_takes_the_sweep_that_somebody_else_asks_for() -> None:
    counted = Counted()
    counted.go_on.set()
    sweeps = Sweeps(counted)
    waits = asyncio.create_task(sweeps.one(0.01))
    await asyncio.sleep(0)
    await sweeps.one()
    await waits
    assert counted.begun == 1


async def test_who_can_wait_does_not_wait_for_ever() -> None:
    counted = Counted()
    counted.go_on.set()
    await Sweeps(counted).one(0.01)
    assert counted.begun == 1


async def test_a_sweep_that_was_broken_off_serves_nobody() -> None:
    counted = Counted()
    sweeps = Sweeps(counted)
    first = asyncio.create_task(sweeps.one())
    await asyncio.sleep(0)
    second, third = (asyncio.create_task(sweeps.one()) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    await asyncio.sleep(0)
    second.cancel()
    counted.go_on.set()
    await third
    assert counted.begun == 3
