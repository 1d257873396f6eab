"""Operators of several clusters on one ledger: one limit, one turn, and tokens that only grow."""

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

import pytest
from msgspec.structs import replace

from kwicket.core.jobs import JobSeen
from kwicket.core.pools import Charging
from kwicket.core.state import State
from kwicket.engine.sharing import BEAT
from kwicket.ports.backlog import Claimed
from kwicket.ports.enforcement import IN_FORCE, Enforcement
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Conflict, Page
from kwicket_storage.backlog import START_DEADLINE
from kwicket_storage.clusters import Cluster
from kwicket_storage.shared_memory import SharedMemory, SharedMemoryBacklog, SharedMemoryLedger
from support.builders import catalog, job_seen, jobs, pods, pool
from support.clusters import ClusterWorld
from support.world import World


def running(*worlds: World) -> int:
    return sum(len(world.started()) for world in worlds)


def tokens(*worlds: World) -> list[int]:
    return [order.token for world in worlds for order in world.api.written]


async def begin(*worlds: ClusterWorld) -> None:
    """An operator in each, for one slot that they share."""
    for world in worlds:
        world.catalog = catalog(pool(), jobs(1))
        await world.replica()


async def holds_the_slot_and_falls_silent(silent: ClusterWorld, other: ClusterWorld) -> None:
    """The one slot is with a Job `y` of a cluster whose operator is gone; the other's begins."""
    for world in (silent, other):
        world.catalog = catalog(pool(), jobs(1))
    dead = await silent.replica()
    silent.api.create(job_seen("y", "bob"))
    await silent.until(lambda: silent.started() == ["y"])
    await silent.moment(2)
    await dead.crash()
    await other.replica()


async def end_one(*worlds: World) -> None:
    """The Job that has run longest ends."""
    oldest = min(
        (world.job(name).token or 0, n, name)
        for n, world in enumerate(worlds)
        for name in world.started()
    )
    worlds[oldest[1]].api.change(oldest[2], ended=True)
    await worlds[0].moment()


async def serve(*worlds: World, most: int) -> None:
    """Jobs end one by one until none is left; at no moment do more than `most` run."""
    while any(not job.ended for world in worlds for job in world.api.jobs.values()):
        await worlds[0].until(lambda: running(*worlds) > 0)
        assert running(*worlds) <= most
        await end_one(*worlds)


async def test_one_limit_holds_over_both_clusters(east: ClusterWorld, west: ClusterWorld) -> None:
    for world in (east, west):
        world.catalog = catalog(pool(), jobs(3))
        world.api.create(*[job_seen(f"x-{n}", "alice") for n in range(15)])
        await world.replica()
    await east.until(lambda: running(east, west) == 3)
    await serve(east, west, most=3)
    assert len(tokens(east, west)) == len(set(tokens(east, west))) == 30


async def test_the_turn_goes_round_all_clusters(east: ClusterWorld, west: ClusterWorld) -> None:
    """A tenant with one Job in the west does not wait behind thirty of the east."""
    await begin(east, west)
    east.api.create(*[job_seen(f"x-{n}", "alice") for n in range(30)])
    await east.moment()
    west.api.create(job_seen("y", "bob"))
    await west.moment()
    await end_one(east, west)
    assert west.started() == ["y"]


async def test_a_slot_freed_in_one_cluster_starts_a_job_in_the_other(
    east: ClusterWorld, west: ClusterWorld
) -> None:
    await begin(east, west)
    east.api.create(job_seen("x", "alice"))
    await east.until(lambda: east.started() == ["x"])
    west.api.create(job_seen("y", "bob"))
    await west.moment()
    assert west.started() == []
    east.api.change("x", ended=True)
    await west.until(lambda: west.started() == ["y"], seconds=1)


async def test_tokens_grow_over_all_clusters(east: ClusterWorld, west: ClusterWorld) -> None:
    await begin(east, west)
    order: list[int] = []
    for number in range(6):
        world = (east, west)[number % 2]
        world.api.create(job_seen(f"x-{number}", "alice"))
        await world.until(lambda: running(east, west) == 1)
        order.append(world.api.written[-1].token)
        await end_one(east, west)
    assert order == sorted(set(order))


@pytest.mark.parametrize("charging", list(Charging))
async def test_operators_that_crash_in_turn_lose_no_job_and_exceed_no_limit(
    east: ClusterWorld, west: ClusterWorld, charging: Charging
) -> None:
    for world in (east, west):
        world.catalog = catalog(pool(charging=charging), jobs(3))
        tenants = ("alice", "bob", "carol")
        world.api.create(*[job_seen(f"x-{n}", tenants[n % 3]) for n in range(20)])
    steady = await east.replica()
    for number in range(20):
        replica = await west.replica()
        await west.moment(0.001 * number)
        if number % 4 == 3 and running(east, west):
            await end_one(east, west)
        assert running(east, west) <= 3
        await replica.crash()
        assert running(east, west) <= 3
    await west.replica()
    await serve(east, west, most=3)
    assert not steady.task.done()
    assert len(tokens(east, west)) == len(set(tokens(east, west))) == 40
    await east.moment(5)
    page = await east.page()
    assert (page.intents, page.reservations, page.charges) == ((), (), ())


async def test_a_job_that_leaves_elsewhere_is_granted_no_more(
    east: ClusterWorld, west: ClusterWorld
) -> None:
    await begin(east, west)
    east.api.create(job_seen("x", "alice"))
    await east.until(lambda: east.started() == ["x"])
    west.api.create(job_seen("y", "bob"), job_seen("z", "bob"))
    await west.moment()
    west.api.delete("y")
    await west.moment()
    east.api.change("x", ended=True)
    await west.until(lambda: west.started() == ["z"], seconds=1)


async def test_what_a_dead_operator_does_not_take_up_goes_to_another_cluster(
    east: ClusterWorld, west: ClusterWorld
) -> None:
    """After the deadline; then its Jobs are not granted until it gives signs of life."""
    for world in (east, west):
        world.catalog = catalog(pool(), jobs(1))
    dead = await west.replica()
    await east.replica()
    east.api.create(job_seen("x", "alice"))
    await east.until(lambda: east.started() == ["x"])
    west.api.create(job_seen("y", "bob"))
    await west.moment()
    east.api.create(job_seen("z", "alice"))
    await east.moment()
    await dead.crash()
    east.api.change("x", ended=True)
    await east.moment(1)
    assert running(east, west) == 0
    await east.until(lambda: east.started() == ["z"], seconds=START_DEADLINE + 3 * BEAT)
    east.api.change("z", ended=True)
    await east.moment(1)
    await west.replica()
    await west.until(lambda: west.started() == ["y"])


OUT = Enforcement("PolicyMissing", "run helm upgrade")

type Ability = Callable[[ClusterWorld, bool], Awaitable[None]]


async def _policies(world: ClusterWorld, there: bool) -> None:
    await world.enforce(IN_FORCE if there else OUT)


async def _pause(world: ClusterWorld, serves: bool) -> None:
    await world.declare(catalog(pool(paused=not serves), jobs(1)))


@pytest.mark.parametrize("make_able", [_policies, _pause])
async def test_a_cluster_that_cannot_start_jobs_takes_no_slots_from_the_others(
    east: ClusterWorld, west: ClusterWorld, make_able: Ability
) -> None:
    """Its Jobs are in line again once it can."""
    await begin(east, west)
    await make_able(west, False)
    west.api.create(*[job_seen(f"y-{n}", "bob") for n in range(3)])
    east.api.create(*[job_seen(f"x-{n}", "alice") for n in range(4)])
    for _ in range(4):
        await east.until(lambda: running(east) == 1, seconds=1)
        await end_one(east)
    assert west.started() == []
    await make_able(west, True)
    await west.until(lambda: running(west) == 1, seconds=1)


@pytest.mark.parametrize("make_able", [_policies, _pause])
async def test_what_waits_where_jobs_can_no_longer_be_started_is_granted_no_more(
    east: ClusterWorld, west: ClusterWorld, make_able: Ability
) -> None:
    await begin(east, west)
    west.api.create(*[job_seen(f"y-{n}", "bob") for n in range(2)])
    await west.until(lambda: running(west) == 1)
    await make_able(west, False)
    await end_one(west)
    for number in range(3):
        east.api.create(job_seen(f"x-{number}", "alice"))
        await east.until(lambda: running(east) == 1, seconds=1)
        await end_one(east)
    assert running(west) == 0
    await make_able(west, True)
    await west.until(lambda: running(west) == 1, seconds=1)


async def test_a_cluster_whose_api_server_is_down_takes_the_slots_of_one_grant_only(
    east: ClusterWorld, west: ClusterWorld
) -> None:
    """Of those it has taken up before it knew, whose Jobs may have started."""
    for world in (east, west):
        world.catalog = catalog(pool(), jobs(2))
        await world.replica()
    west.api.down = True
    west.api.create(*[job_seen(f"y-{n}", "bob") for n in range(1)])
    await west.moment(2)
    west.api.create(*[job_seen(f"y-{n}", "bob") for n in range(1, 5)])
    east.api.create(*[job_seen(f"x-{n}", "alice") for n in range(5)])
    for _ in range(5):
        await east.until(lambda: running(east) == 1, seconds=1)
        await end_one(east)
    west.api.down = False
    await west.until(lambda: running(west) == 2, seconds=40)


async def test_the_slots_of_a_silent_cluster_stay_taken(
    east: ClusterWorld, west: ClusterWorld
) -> None:
    await holds_the_slot_and_falls_silent(west, east)
    east.api.create(job_seen("x", "alice"))
    await east.moment(3600)
    assert east.started() == []


async def test_the_slots_of_a_cluster_that_lapsed_are_free(
    east: ClusterWorld, west: ClusterWorld
) -> None:
    east.lapse = 900
    await holds_the_slot_and_falls_silent(west, east)
    east.api.create(job_seen("x", "alice"))
    await east.moment(880)
    assert east.started() == []
    await east.moment(40)
    assert east.started() == ["x"]


async def test_a_cluster_that_lapsed_and_comes_back_has_its_slots_again(
    east: ClusterWorld, west: ClusterWorld
) -> None:
    """More run then than the limit lets; nothing more is granted until it holds again."""
    east.lapse = 900
    await holds_the_slot_and_falls_silent(west, east)
    east.api.create(*[job_seen(f"x-{n}", "alice") for n in range(2)])
    await east.moment(920)
    await west.replica()
    await east.moment()
    east.api.change("x-0", ended=True)
    await east.moment(2)
    assert running(east, west) == 1
    west.api.change("y", ended=True)
    await east.until(lambda: east.started() == ["x-1"], seconds=2)


class Hanging(SharedMemoryLedger):
    """Answers no commit while it is told to."""

    hangs = False

    async def commit(self, page: Page, state: State) -> Page | Conflict:
        if self.hangs:
            await asyncio.Event().wait()
        return await super().commit(page, state)


class Losing(SharedMemoryLedger):
    """Holds answers back, and has one read fail, when it is told to."""

    fails = False

    def __init__(self, memory: SharedMemory, cluster: Cluster) -> None:
        super().__init__(memory, cluster)
        self.answers = asyncio.Event()
        self.answers.set()

    async def read(self, pool: str) -> Page | None:
        if self.fails:
            self.fails = False
            raise UnavailableError("the server is gone")
        await self.answers.wait()
        return await super().read(pool)

    async def commit(self, page: Page, state: State) -> Page | Conflict:
        answer = await super().commit(page, state)
        await self.answers.wait()
        return answer


def fail_over(memory: SharedMemory, state: State) -> None:
    """Another server takes over, on which the pool is as it was; all grants since then are lost."""
    shelf = memory.shelf("pool")
    shelf.state, shelf.stamp = state, memory.stamp()
    shelf.grants.clear()
    for member in shelf.members.values():
        member.told = False


async def test_no_start_is_sent_between_telling_all_after_a_failover_and_reading_what_is_left(
    memory: SharedMemory, east: ClusterWorld, west: ClusterWorld
) -> None:
    """Its grant may be lost, and its slot be another's by then."""
    for world in (east, west):
        world.catalog = catalog(pool(), jobs(1))
    ledger = Losing(memory, Cluster("west"))
    await west.replica(ledger)
    await east.replica()
    before = await west.page()
    ledger.answers.clear()
    west.api.create(job_seen("y", "bob"))
    await west.moment()
    await west.enforce(OUT)
    ledger.answers.set()
    await west.moment(0.01)
    ledger.answers.clear()
    fail_over(memory, before)
    ledger.fails = True
    memory.ring("pool")
    await west.moment(1)
    east.api.create(job_seen("x", "alice"))
    await west.enforce(IN_FORCE)
    await east.until(lambda: east.started() == ["x"], seconds=40)
    assert west.started() == []
    ledger.answers.set()
    await west.moment(1)
    assert west.started() == []
    await end_one(east)
    await west.until(lambda: west.started() == ["y"])


class Far(SharedMemoryLedger):
    """Somebody else has always written the page before its commit arrives."""

    async def commit(self, page: Page, state: State) -> Page | Conflict:
        await asyncio.sleep(0.01)
        return Conflict()


class FarBacklog(SharedMemoryBacklog):
    """Somebody else has always written the page before its claim arrives."""

    async def claim(self, page: Page, tokens: tuple[int, ...]) -> Claimed:
        await asyncio.sleep(0.01)
        return await super().claim(replace(page, stamp="older"), tokens)


async def test_a_cluster_whose_writes_always_come_second_takes_up_what_others_grant_it(
    memory: SharedMemory, east: ClusterWorld, west: ClusterWorld
) -> None:
    """And its slot is free again when a Job has ended, though its commits are refused."""
    for world in (east, west):
        world.catalog = catalog(pool(), jobs(1))
    await east.replica()
    west.backlogs = FarBacklog
    west.shelf()
    await west.replica(Far(memory, Cluster("west")))
    for number in range(5):
        west.api.create(job_seen(f"y-{number}", "bob"))
        east.api.create(job_seen(f"x-{number}", "alice"))
    for _ in range(10):
        await east.until(lambda: running(east, west) == 1, seconds=2)
        await end_one(east, west)
    assert len(tokens(west)) == 5
    await east.moment(2 * BEAT)
    assert (await east.page()).intents == ()


async def test_a_grant_for_another_cluster_that_was_never_committed_leaves_no_slot_taken(
    memory: SharedMemory, east: ClusterWorld, west: ClusterWorld
) -> None:
    """Its decider loses the lead in the middle of it, and gets it back."""
    for world in (east, west):
        world.catalog = catalog(pool(), jobs(1))
    ledger = Hanging(memory, Cluster("east"))
    decider = await east.replica(ledger)
    follower = await west.replica()
    await west.moment(1)
    east.api.create(job_seen("x", "alice"))
    await east.until(lambda: east.started() == ["x"])
    west.api.create(job_seen("y", "bob"))
    await west.moment(1)
    await follower.crash()
    ledger.hangs = True
    east.api.change("x", ended=True)
    await east.moment(1)
    decider.leadership.follow()
    await east.moment()
    ledger.hangs = False
    decider.leadership.lead()
    await east.moment(1)
    assert [intent.lease.uid for intent in (await east.page()).intents] == ["west/y"]


async def test_nothing_is_granted_while_a_member_has_not_told_what_runs_there(
    east: ClusterWorld, west: ClusterWorld
) -> None:
    for world in (east, west):
        world.catalog = catalog(pool(), jobs(1))
    await west.backlog().join("pool", "rules")
    await east.replica()
    east.api.create(job_seen("x", "alice"))
    await east.moment(60)
    assert east.started() == []
    await west.replica()
    await east.until(lambda: east.started() == ["x"])


@pytest.mark.parametrize("seed", range(24))
async def test_whatever_happens_no_limit_is_exceeded_and_no_job_is_lost(
    east: ClusterWorld, west: ClusterWorld, seed: int
) -> None:
    """Jobs come, end and vanish; operators crash and come back, with a follower now and then."""
    dice = Random(seed)  # noqa: S311 - a history, not a secret
    charging, most = dice.choice(list(Charging)), dice.randint(1, 4)
    worlds = (east, west)
    for world in worlds:
        world.catalog = catalog(pool(charging=charging), pods(most))
        await world.replica()
    for step in range(120):
        world = dice.choice(worlds)
        match dice.choice(["create", "create", "create", "end", "end", "delete", "crash", "pause"]):
            case "create":
                width = dice.choice([1, 1, 1, most])
                tenant = dice.choice(["alice", "bob", "carol"])
                world.api.create(job_seen(f"x-{step}", tenant, parallelism=width))
            case "end" if world.started():
                world.api.change(dice.choice(world.started()), ended=True)
            case "delete" if world.api.jobs:
                world.api.delete(dice.choice(sorted(world.api.jobs)))
            case "crash":
                for replica in world.replicas:
                    if not replica.task.done():
                        await replica.crash()
                await world.replica()
            case _:
                await world.moment(dice.choice([0.001, 0.01, 0.1, 2]))
        assert sum(job.width for job in alive(*worlds)) <= most
    await serve(*worlds, most=most)
    await east.moment(2 * BEAT)
    page = await east.page()
    assert (page.intents, page.reservations, page.charges) == ((), (), ())
    assert len(tokens(*worlds)) == len(set(tokens(*worlds)))


def alive(*worlds: World) -> list[JobSeen]:
    jobs = [job for world in worlds for job in world.api.jobs.values()]
    return [job for job in jobs if not (job.suspended or job.ended)]
