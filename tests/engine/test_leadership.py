"""A follower keeps its books warm and writes nothing; whoever leads reads everything first."""

import gc
import os
import tracemalloc
from collections.abc import Iterator

import pytest

from kwicket.core.pools import Lane
from kwicket.core.reasons import Reason
from kwicket.engine.desk import Desk
from kwicket.engine.leading import TIDY
from kwicket.engine.lists import YOUNG
from kwicket.ports.enforcement import IN_FORCE, Enforcement
from support.builders import catalog, job_seen, jobs, pod_seen, pool
from support.fakes import FlakyLedger
from support.world import Replica, World

SOON = 2.5
STOPPED = "kwicket_strays_stopped_total"


def desk_of(replica: Replica) -> Desk:
    desk = replica.engine.registry.desk("pool")
    assert desk is not None
    return desk


async def hand_over(world: World, old: Replica, new: Replica) -> None:
    """One stops leading, and the other begins."""
    old.leadership.follow()
    new.leadership.lead()
    await world.moment()


async def test_a_follower_writes_nothing_and_tells_nobody(world: World) -> None:
    ledger = FlakyLedger(world.ledger)
    world.catalog = catalog(pool(), Lane("gpu", "pool"), jobs(1))
    world.api.create(job_seen("x-1"), job_seen("lost", pool="nowhere"))
    world.api.create(job_seen("stray", suspended=False))
    replica = await world.replica(ledger, leads=False)
    await world.moment(60)
    assert world.api.orders == []
    assert world.api.stops == []
    assert await world.ledger.read("pool") is None
    assert replica.notices.told == []
    assert (replica.notices.pools, replica.notices.shown) == ({}, {})


async def test_a_follower_that_missed_a_grant_keeps_the_slot_until_a_list_shows_no_pod(
    world: World,
) -> None:
    """It had the Job in line, and sees it back there: that is another wait."""
    world.catalog = catalog(pool(), jobs(0))
    world.api.create(job_seen("x-1"))
    await world.replica()
    follower = await world.replica(leads=False)
    assert desk_of(follower).book.ticket("x-1") is not None
    follower.cluster.deaf |= {"saw_job", "saw_pod", "lost_pod"}
    await world.declare(catalog(pool(), jobs(1)))
    world.api.run(pod_seen("x-1", token=world.job("x-1").token, pool="pool"))
    world.api.change("x-1", suspended=True, settled=True)
    follower.engine.saw_job(world.job("x-1"))
    book = desk_of(follower).book
    assert (book.ticket("x-1"), book.running) == (None, 1)
    await world.moment(60)
    assert (book.ticket("x-1"), book.running) == (None, 1)
    world.api.remove("x-1-a")
    await world.moment(60)
    assert book.running == 0


async def test_a_followers_books_are_in_step_with_the_cluster(world: World) -> None:
    world.api.create(*[job_seen(f"x-{n}") for n in range(3)])
    await world.replica()
    follower = await world.replica(leads=False)
    await world.moment(SOON)
    book = desk_of(follower).book
    assert (book.waiting, book.running) == (2, 1)
    world.api.change("x-0", ended=True)
    await world.moment()
    assert (book.waiting, book.running) == (1, 1)


async def test_a_new_leader_goes_on_where_the_old_one_was(world: World) -> None:
    world.api.create(*[job_seen(f"x-{n}") for n in range(4)])
    old, new = await world.replica(), await world.replica(leads=False)
    for number in range(4):
        assert world.started() == [f"x-{number}"]
        old, new = new, old
        await hand_over(world, new, old)
        world.api.change(f"x-{number}", ended=True)
        await world.moment()
    tokens = [order.token for order in world.api.written]
    assert tokens == sorted(set(tokens))
    assert len(tokens) == 4


async def test_a_grant_that_was_committed_is_applied_by_the_next_leader(world: World) -> None:
    world.api.reachable.clear()
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    old, new = await world.replica(), await world.replica(leads=False)
    [decided] = (await world.page()).intents
    old.leadership.follow()
    await world.moment()
    world.api.reachable.set()
    await world.moment(30)
    assert world.started() == []
    new.leadership.lead()
    await world.moment()
    assert world.started() == ["x-1"]
    assert world.job("x-1").token == decided.lease.token


async def test_a_grant_that_the_next_leader_gave_back_is_not_applied_by_the_former_one(
    world: World,
) -> None:
    """It leads again later, and has not forgotten; its slot went to somebody else."""
    world.api.reachable.clear()
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    old, new = await world.replica(), await world.replica(leads=False)
    old.leadership.follow()
    await world.moment()
    world.api.reachable.set()
    world.api.change("x-1", held=True)
    new.leadership.lead()
    await world.moment()
    assert world.started() == ["x-2"]
    world.api.change("x-1", held=False)
    await hand_over(world, new, old)
    await world.moment(30)
    assert world.started() == ["x-2"]


async def test_leadership_that_comes_back_starts_what_was_under_way(world: World) -> None:
    world.api.reachable.clear()
    world.api.create(job_seen("x-1"))
    replica = await world.replica()
    replica.leadership.follow()
    await world.moment()
    world.api.reachable.set()
    replica.leadership.lead()
    await world.moment()
    assert world.started() == ["x-1"]
    assert len({order.token for order in world.api.orders}) == 1


async def test_a_term_that_ends_while_the_ledger_takes_a_decision_loses_no_job(
    world: World,
) -> None:
    """The ledger has it or not; the next term reads which."""
    ledger = FlakyLedger(world.ledger)
    replica = await world.replica(ledger)
    ledger.answering.clear()
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    await world.moment()
    replica.leadership.follow()
    await world.moment()
    assert world.api.orders == []
    ledger.answering.set()
    replica.leadership.lead()
    await world.moment()
    assert world.started() == ["x-1"]
    world.api.change("x-1", ended=True)
    await world.moment()
    assert world.started() == ["x-2"]


async def test_two_that_lead_at_once_are_kept_apart_by_the_ledger(world: World) -> None:
    world.catalog = catalog(pool(), jobs(2))
    world.api.create(*[job_seen(f"x-{n}") for n in range(10)])
    first, second = await world.replica(), await world.replica(leads=False)
    for _ in range(10):
        second.leadership.lead()
        await world.moment(0.003)
        first.leadership.follow()
        first, second = second, first
        assert len(world.started()) <= 2
        world.api.change(world.started()[0], ended=True)
        await world.moment()
    assert len({order.token for order in world.api.written}) == len(world.api.written) == 10


async def test_a_pool_that_is_declared_while_following_is_served_when_leading(
    world: World,
) -> None:
    world.catalog = catalog()
    follower = await world.replica(leads=False)
    await world.declare(catalog(pool(), jobs(1)))
    world.api.create(job_seen("x-1"))
    await world.moment()
    follower.leadership.lead()
    await world.moment()
    assert world.started() == ["x-1"]


async def test_a_pool_that_is_removed_while_following_is_served_no_more(world: World) -> None:
    follower = await world.replica(leads=False)
    await world.declare(catalog())
    follower.leadership.lead()
    world.api.create(job_seen("x-1"))
    await world.moment(SOON)
    assert world.started() == []
    assert len(follower.notices.of(Reason.UNKNOWN_POOL)) == 1


async def test_who_begins_to_lead_shows_and_tells_what_a_follower_kept_to_itself(
    world: World,
) -> None:
    world.catalog = catalog(pool(), Lane("gpu", "pool"), jobs(1))
    world.api.create(*[job_seen(f"x-{n}") for n in range(2)], job_seen("lost", pool="nowhere"))
    follower = await world.replica(leads=False)
    await world.moment(SOON)
    follower.leadership.lead()
    await world.moment(SOON)
    assert {notice.job.uid for notice in follower.notices.of(Reason.UNKNOWN_POOL)} == {"lost"}
    assert {notice.job.uid for notice in follower.notices.of(Reason.QUEUED)} == {"x-1"}
    figures, _ = follower.notices.pools["pool"]
    assert (figures.waiting, figures.running) == (1, 1)
    assert follower.notices.shown.keys() == {("Limit", "jobs-pool"), ("Lane", "gpu")}


async def test_who_begins_to_lead_tells_of_jobs_that_no_pool_takes(world: World) -> None:
    world.catalog = catalog()
    world.api.create(job_seen("x-1"))
    follower = await world.replica(leads=False)
    follower.leadership.lead()
    await world.moment()
    assert len(follower.notices.of(Reason.UNKNOWN_POOL)) == 1


async def test_only_the_leader_suspends_strays(world: World) -> None:
    world.enforcement = Enforcement("PolicyMissing", "why")
    world.catalog = catalog(pool(), jobs(0))
    world.api.create(job_seen("stray", suspended=False))
    follower, leader = await world.replica(leads=False), await world.replica()
    await world.enforce(IN_FORCE)
    assert world.api.stops == ["stray"]
    assert (follower.number(STOPPED), leader.number(STOPPED)) == (0, 1)
    world.api.change("stray", suspended=False)
    await hand_over(world, leader, follower)
    assert follower.number(STOPPED) == 1


@pytest.mark.parametrize("seen", [True, False])
async def test_a_job_that_ended_between_two_leaders_frees_its_slot(
    world: World, seen: bool
) -> None:
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    old, new = await world.replica(), await world.replica(leads=False)
    world.api.run(pod_seen("x-1", token=world.job("x-1").token, pool="pool"))
    old.leadership.follow()
    if not seen:
        new.cluster.deaf |= {"saw_job", "saw_pod", "lost_job", "lost_pod"}
    world.api.run(pod_seen("x-1", phase="Succeeded"))
    world.api.change("x-1", ended=True)
    await world.moment(YOUNG)
    new.leadership.lead()
    await world.moment()
    assert world.started() == ["x-2"]


async def test_a_follower_keeps_nothing_of_a_grant_that_it_could_not_bring_to_its_job(
    world: World,
) -> None:
    """The other gives it back, and its Job is deleted later."""
    old, new = await world.replica(), await world.replica(leads=False)
    world.api.lose.extend(["before"] * 1000)
    world.api.create(job_seen("x-1"))
    await world.moment(SOON)
    old.leadership.follow()
    await world.moment()
    world.api.lose.clear()
    desk = desk_of(old)
    assert (desk.pending, desk.book.waiting, desk.book.running) == ({}, 1, 0)
    new.leadership.lead()
    await world.moment()
    world.api.delete("x-1")
    await world.moment(60)
    assert (desk.applying, desk.book.waiting, desk.book.running) == ({}, 0, 0)
    assert len(world.api.written) == 1


async def come_and_go(world: World, count: int) -> None:
    for number in range(count):
        world.api.create(job_seen(f"x-{number}"))
        await world.moment(0.002)
        world.api.delete(f"x-{number}")
        await world.moment(0.002)


def bytes_of_the_core() -> int:
    """What tickets, entries of rankings and the like take."""
    gc.collect()
    only = tracemalloc.Filter(True, f"*{os.sep}kwicket{os.sep}core{os.sep}*")
    taken = tracemalloc.take_snapshot().filter_traces([only]).statistics("filename")
    return sum(statistic.size for statistic in taken)


@pytest.fixture
def traced() -> Iterator[None]:
    """Allocations are traced for the length of the test."""
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.usefixtures("traced")
async def test_a_follower_of_many_jobs_keeps_no_more_than_the_line(world: World) -> None:
    """What comes and goes while it follows leaves nothing behind."""
    follower = await world.replica(leads=False)
    await come_and_go(world, 100)
    before = bytes_of_the_core()
    await come_and_go(world, 2000)
    await world.moment(2 * TIDY)
    assert bytes_of_the_core() - before < 100_000
    desk = desk_of(follower)
    assert (desk.book.waiting, desk.book.running) == (0, 0)
    assert (desk.unannounced, desk.pending, desk.writing) == (set(), {}, set())
