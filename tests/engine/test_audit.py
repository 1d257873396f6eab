"""Row 42: what has gone wrong in a book is found, said, counted and set right."""

import asyncio
from collections.abc import Callable

import pytest
from structlog.testing import capture_logs

from kwicket.core.scopes import Scopes
from kwicket.core.state import State
from kwicket.engine.audit import EVERY
from kwicket.engine.intake import SWEEP
from kwicket.ports.ledger import Conflict, Page
from kwicket_storage.memory import MemoryLedger
from support.builders import catalog, job_seen, jobs, lease, namespace_seen, pool
from support.world import Replica, World

SOON = 30.0
"""Seconds within which a pool that is recovered takes turns again."""


def corrections(replica: Replica) -> float:
    return replica.number("kwicket_book_corrections_total", pool="pool") or 0


def flip(replica: Replica, by: int) -> None:
    """Memory goes wrong: the pool's limits count a Job more or less than there are."""
    scopes = replica.engine.registry.desks()[0].book.in_line.scopes
    scopes.pool.jobs += by
    scopes.mind(scopes.pool)


async def test_a_slot_that_no_job_holds_is_free_again_and_that_is_said(world: World) -> None:
    world.catalog = catalog(pool(), jobs(2))
    world.api.create(job_seen("x-1"))
    replica = await world.replica()
    flip(replica, 1)
    world.api.create(job_seen("x-2"))
    await world.moment(EVERY / 2)
    assert world.started() == ["x-1"]
    with capture_logs() as logs:
        await world.moment(EVERY / 2 + SOON)
    assert world.started() == ["x-1", "x-2"]
    [said] = [line for line in logs if line["event"] == "book was wrong"]
    assert "limit jobs-pool: 2, counted 1" in said["what"]
    assert (said["pool"], said["log_level"]) == ("pool", "error")
    assert corrections(replica) == 1


async def test_a_slot_too_many_is_not_given_away_for_ever(world: World) -> None:
    world.api.create(job_seen("x-1"))
    replica = await world.replica()
    flip(replica, -1)
    await world.moment(EVERY + SOON)
    world.api.create(job_seen("x-2"))
    await world.moment(SOON)
    assert world.started() == ["x-1"]


def shut(scopes: Scopes) -> None:
    scopes.pool.open = False


def keep_room(scopes: Scopes) -> None:
    """For nobody."""
    scopes.pool.reserved += 1
    scopes.mind(scopes.pool)


@pytest.mark.parametrize("wrong", [shut, keep_room])
async def test_a_pool_that_is_shut_for_no_reason_is_open_again(
    world: World, wrong: Callable[[Scopes], None]
) -> None:
    replica = await world.replica()
    wrong(replica.engine.registry.desks()[0].book.in_line.scopes)
    world.api.create(job_seen("x-1"))
    await world.moment(EVERY / 2)
    assert world.started() == []
    await world.moment(EVERY / 2 + SOON)
    assert world.started() == ["x-1"]
    assert corrections(replica) == 1


async def test_a_job_that_fell_out_of_the_line_is_put_back(world: World) -> None:
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    replica = await world.replica()
    replica.engine.registry.desks()[0].book.forget("x-2")
    world.api.change("x-1", ended=True)
    await world.moment(EVERY + SOON)
    assert world.started() == ["x-2"]
    assert corrections(replica) == 1


async def test_a_slot_of_a_job_that_nobody_knows_is_free_again(world: World) -> None:
    replica = await world.replica()
    replica.engine.registry.desks()[0].book.occupy(lease("ghost"))
    world.api.create(job_seen("x-1"))
    await world.moment(EVERY + SOON)
    assert world.started() == ["x-1"]
    assert corrections(replica) == 1


async def test_a_slot_of_a_job_that_the_census_has_lost_is_free_when_its_end_is_proved(
    world: World,
) -> None:
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    replica = await world.replica()
    replica.cluster.deaf.add("lost_job")
    replica.engine.census.drop_job("x-1")
    world.api.delete("x-1")
    await world.moment(EVERY / 2)
    assert world.started() == []
    await world.moment(EVERY / 2 + SOON)
    assert world.started() == ["x-2"]


async def test_a_job_that_the_census_has_lost_frees_its_slot_when_it_goes(world: World) -> None:
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    replica = await world.replica()
    replica.engine.census.drop_job("x-1")
    world.api.delete("x-1")
    await world.moment(SOON)
    assert world.started() == ["x-2"]


async def test_turns_go_on_from_the_ledger_after_a_book_was_made_anew(world: World) -> None:
    world.api.create(job_seen("x-1"))
    replica = await world.replica()
    before = await world.page()
    flip(replica, 1)
    await world.moment(EVERY + SOON)
    assert (await world.page()).fairness == before.fairness
    assert replica.engine.registry.desks()[0].book.version == before.version
    assert len(world.api.orders) == 1


async def test_a_follower_sets_its_books_right_as_well(world: World) -> None:
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    replica = await world.replica(leads=False)
    desk = replica.engine.registry.desks()[0]
    desk.book.turns.tenant("alice").waiting += 1
    await world.moment(EVERY + SOON)
    assert corrections(replica) == 1
    assert desk.book.line() == {"alice": 2}


@pytest.mark.parametrize("late", [-0.001, 0, 0.001])
async def test_what_is_left_to_a_sweep_is_no_error(world: World, late: float) -> None:
    """A namespace lets its Jobs into line at the moment of an audit, just before or just after."""
    world.namespaces = [namespace_seen(tenant="bob")]
    world.api.create(*(job_seen(f"x-{number}") for number in range(5 * SWEEP)))
    begins = asyncio.get_running_loop().time() + EVERY
    replica = await world.replica()
    engine, changed = replica.engine, namespace_seen(tenant="alice")
    asyncio.get_running_loop().call_at(begins + late, engine.saw_namespace, changed)
    await world.moment(EVERY + SOON)
    assert engine.intake.asides().total() == 0
    assert corrections(replica) == 0


async def test_a_book_that_is_right_is_left_alone(world: World) -> None:
    """A Job that rests, one that runs, one that waits and one that no pool takes."""
    world.api.create(job_seen("x-1"), job_seen("x-2"), job_seen("x-3", pool="nowhere"))
    world.api.create(job_seen("x-4", token=5, granted_pool="pool", deliveries=5))
    replica = await world.replica()
    book, relists = replica.engine.registry.desks()[0].book, replica.cluster.relists
    await world.moment(3 * EVERY)
    assert corrections(replica) == 0
    assert replica.engine.registry.desks()[0].book is book
    assert replica.cluster.relists == relists


class Held(MemoryLedger):
    """Opens a page, and answers when a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.answering = asyncio.Event()

    async def open(self, pool: str, state: State) -> Page | Conflict:
        opened = await super().open(pool, state)
        await self.answering.wait()
        return opened


async def test_a_book_that_is_made_anew_amid_a_recovery_gives_nothing_away(world: World) -> None:
    """Its Jobs have their slots again only when all are considered; the ledger answers sooner."""
    full = 10 * SWEEP
    world.catalog = catalog(pool(), jobs(full))
    world.api.create(job_seen("a-waits"))
    world.api.create(
        *(
            job_seen(f"x-{n}", suspended=False, token=n, granted_pool="pool")
            for n in range(1, full + 1)
        )
    )
    ledger = Held()
    replica = await world.replica(ledger)
    flip(replica, 1)
    replica.metrics.corrected = lambda *_: ledger.answering.set()  # type: ignore[method-assign]
    await world.moment(EVERY + SOON)
    assert ledger.answering.is_set()
    assert "a-waits" not in world.started()
    world.api.change("x-1", ended=True)
    await world.moment(SOON)
    assert "a-waits" in world.started()
