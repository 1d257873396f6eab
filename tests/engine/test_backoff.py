"""Waiting longer after each failure."""

import asyncio

from kwicket.engine.backoff import Backoff


async def slept(backoff: Backoff, at_least: float = 0) -> float:
    """How long it slept, in the loop's own time."""
    begin = asyncio.get_running_loop().time()
    await backoff.sleep(at_least)
    return asyncio.get_running_loop().time() - begin


async def test_each_sleep_is_about_twice_the_last_up_to_the_longest() -> None:
    backoff = Backoff(first=1, longest=5)
    times = [await slept(backoff) for _ in range(5)]
    for seconds, expected in zip(times, [1, 2, 4, 5, 5], strict=True):
        assert expected * 0.75 <= seconds <= expected * 1.25


async def test_an_answer_makes_it_start_anew() -> None:
    backoff = Backoff(first=1)
    for _ in range(4):
        await slept(backoff)
    backoff.reset()
    assert await slept(backoff) <= 1.25


async def test_it_waits_as_long_as_the_other_side_asks_for() -> None:
    assert await slept(Backoff(first=1), at_least=30) == 30
