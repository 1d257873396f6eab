"""What is declared anew takes hold at once; a changed priority slice by slice, between turns."""

import asyncio

from kwicket.core.priority import FairShare, Priority, Trait
from kwicket.engine.turn import SLICE
from support.builders import START, catalog, job_seen, jobs, pool
from support.world import World

MANY = 8 * SLICE
BY_TRAIT = Priority((Trait("urgent", 1), FairShare(0)))


def submit(world: World) -> None:
    """A long line, and an urgent Job at its end."""
    urgent = job_seen("urgent", created=START + 1, traits=(("urgent", "1"),))
    world.api.create(*[job_seen(f"x-{n}") for n in range(MANY)], urgent)


async def test_a_changed_priority_stops_no_turns_while_it_is_taken_over(world: World) -> None:
    """A raised limit lets x-0 and x-1 start while most of the line is still in the old order."""
    submit(world)
    world.catalog = catalog(pool(paused=True), jobs(2))
    replica = await world.replica()
    replica.engine.declare(catalog(pool(priority=BY_TRAIT), jobs(2)))
    desk = replica.engine.registry.desk("pool")
    assert desk is not None
    slices, under_way = 0, 0
    while desk.book.reordering and slices < MANY:
        under_way = under_way or len(desk.pending)
        slices += 1
        await asyncio.sleep(0)
    assert MANY // SLICE <= slices < MANY
    assert under_way == 2
    await world.moment()
    assert world.started() == ["x-0", "x-1"]
    world.api.change("x-0", ended=True)
    await world.moment()
    assert world.started() == ["x-1", "urgent"]


async def test_the_old_ranking_is_let_go_once_a_changed_priority_was_taken_over(
    world: World,
) -> None:
    submit(world)
    replica = await world.replica()
    await world.declare(catalog(pool(priority=BY_TRAIT), jobs(1)))
    desk = replica.engine.registry.desk("pool")
    assert desk is not None
    assert not desk.book.reordering
    assert desk.book.reorder(0) is False


async def test_a_priority_that_changes_again_meanwhile_is_the_last_that_was_said(
    world: World,
) -> None:
    submit(world)
    world.catalog = catalog(pool(), jobs(1))
    replica = await world.replica()
    replica.engine.declare(catalog(pool(priority=BY_TRAIT), jobs(1)))
    await asyncio.sleep(0)
    await world.declare(catalog(pool(priority=Priority((FairShare(0),))), jobs(1)))
    for name in ("x-0", "x-1"):
        assert world.started() == [name]
        world.api.change(name, ended=True)
        await world.moment()


async def test_a_pool_that_is_deleted_and_made_again_starts_no_job_by_what_it_knew_before(
    world: World,
) -> None:
    """x-1 was granted, held before the grant arrived, and let go when x-2 had its slot."""
    replica = await world.replica()
    world.api.lose.extend(["before"] * 1000)
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    await world.moment(40)
    await world.declare(catalog())
    await world.declare(catalog(pool(), jobs(1)))
    world.api.change("x-1", held=True)
    world.api.lose.clear()
    await world.until(lambda: world.started() == ["x-2"])
    world.api.change("x-1", held=False)
    await world.moment(60)
    assert world.started() == ["x-2"]
    assert [order.job.name for order in world.api.written] == ["x-2"]
    desk = replica.engine.registry.desk("pool")
    assert desk is not None
    assert not desk.pending


async def test_a_start_that_hangs_when_its_pool_and_ledger_are_deleted_keeps_its_slot(
    world: World,
) -> None:
    """It arrives when the Pool was made again: nobody else may have been granted until then."""
    replica = await world.replica()
    world.api.reachable.clear()
    world.api.create(job_seen("x-1"))
    await world.moment()
    await world.declare(catalog())
    world.ledger.remove("pool")
    world.api.create(job_seen("x-0", created=START - 1))
    await world.declare(catalog(pool(), jobs(1)))
    desk = replica.engine.registry.desk("pool")
    assert desk is not None
    assert "may be on its way" in str(desk.fault)
    world.api.reachable.set()
    await world.until(lambda: desk.fault is None)
    assert world.started() == ["x-1"]
    assert [order.job.name for order in world.api.written] == ["x-1"]
