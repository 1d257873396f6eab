"""An alarm rings once, at its moment, unless it was set anew."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from kwicket.engine.alarms import SLACK, Alarms
from support.fakes import FakeClock


class Bell:
    """Alarms at work, and what has rung when, in whole seconds."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.alarms = Alarms(self.clock)
        self.rung: list[tuple[int, str]] = []
        self.begun = self.clock.monotonic()

    def after(self, uid: str, seconds: float) -> None:
        self.alarms.set(uid, self.clock.monotonic() + seconds)

    def ring(self, uid: str) -> None:
        self.rung.append((round(self.clock.monotonic() - self.begun), uid))


@pytest.fixture
async def bell() -> AsyncIterator[Bell]:
    made = Bell()
    task = asyncio.create_task(made.alarms.run(made.ring))
    yield made
    task.cancel()


async def test_each_rings_once_in_the_order_of_their_moments(bell: Bell) -> None:
    bell.after("b", 20)
    bell.after("a", 10)
    bell.after("c", 30)
    await asyncio.sleep(60)
    assert bell.rung == [(10, "a"), (20, "b"), (30, "c")]


async def test_an_earlier_one_that_is_set_meanwhile_rings_first(bell: Bell) -> None:
    bell.after("late", 30)
    await asyncio.sleep(5)
    bell.after("early", 5)
    await asyncio.sleep(60)
    assert bell.rung == [(10, "early"), (30, "late")]


async def test_one_that_is_moved_rings_at_its_new_moment_only(bell: Bell) -> None:
    bell.after("a", 10)
    bell.after("a", 20)
    bell.after("b", 20)
    bell.after("b", 10)
    await asyncio.sleep(60)
    assert bell.rung == [(10, "b"), (20, "a")]


async def test_one_that_is_taken_away_does_not_ring(bell: Bell) -> None:
    bell.after("a", 10)
    bell.alarms.set("a", None)
    bell.alarms.set("never", None)
    await asyncio.sleep(60)
    assert bell.rung == []


async def test_one_may_be_set_while_it_rings(bell: Bell) -> None:
    def again(uid: str) -> None:
        Bell.ring(bell, uid)
        if len(bell.rung) < 3:
            bell.after(uid, 10)

    task = asyncio.create_task(bell.alarms.run(again))
    bell.after("a", 10)
    await asyncio.sleep(60)
    task.cancel()
    assert len(bell.rung) == 3


async def test_moments_that_count_no_more_are_let_go(bell: Bell) -> None:
    """Else each grant would be remembered for as long as its pods might have taken to start."""
    for n in range(20 * SLACK):
        bell.after(f"x-{n}", 3600)
        bell.alarms.set(f"x-{n}", None)
    bell.after("a", 10)
    assert len(vars(bell.alarms)["_heap"]) <= SLACK + 3
    await asyncio.sleep(60)
    assert bell.rung == [(10, "a")]
