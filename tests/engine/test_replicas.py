"""Two operators on one ledger: twice the work, and never twice a slot or a token."""

import pytest
from msgspec.structs import replace

from kwicket.core.pools import Charging
from kwicket.ports.ledger import Page
from support.builders import catalog, job_seen, jobs, pods, pool
from support.fakes import FlakyLedger
from support.world import World


async def serve(world: World, most: int) -> None:
    """Jobs end one by one until none is left; at no moment do more than `most` run."""
    while any(not job.ended for job in world.api.jobs.values()):
        await world.until(lambda: bool(world.started()))
        assert len(world.started()) <= most
        world.api.change(world.started()[0], ended=True)
        await world.moment(0.02)


def submit(world: World, count: int) -> None:
    tenants = ("alice", "bob", "carol")
    world.api.create(*[job_seen(f"x-{n}", tenants[n % 3]) for n in range(count)])


async def test_two_leaders_exceed_no_limit_and_repeat_no_token(world: World) -> None:
    world.catalog = catalog(pool(), jobs(3))
    submit(world, 40)
    await world.replica()
    await world.replica()
    await serve(world, most=3)
    tokens = [order.token for order in world.api.written]
    assert len(tokens) == len(set(tokens)) == 40
    assert {job.deliveries for job in world.api.jobs.values()} == {1}


async def test_a_leader_that_hears_nothing_any_more_starts_nothing(world: World) -> None:
    """Its watches are dead and it believes that slots are free; the ledger contradicts it."""
    world.catalog = catalog(pool(), jobs(3))
    submit(world, 20)
    deaf = await world.replica()
    deaf.cluster.deaf |= {"saw_job"}
    await world.replica()
    await serve(world, most=3)
    assert len(world.api.written) == 20


async def test_leaders_that_crash_in_turn_lose_no_job(world: World) -> None:
    """Each is ended in the middle of its work, at another moment each time."""
    world.catalog = catalog(pool(), jobs(3))
    submit(world, 30)
    for number in range(30):
        replica = await world.replica()
        for name in world.started()[: number % 3 + 1]:
            world.api.change(name, ended=True)
        assert len(world.started()) <= 3
        await world.moment(0.001 * number)
        await replica.crash()
        assert len(world.started()) <= 3
    await world.replica()
    await serve(world, most=3)
    tokens = [order.token for order in world.api.written]
    assert len(tokens) == len(set(tokens)) == 30


@pytest.mark.parametrize("crashes", [False, True])
async def test_when_all_has_ended_no_charge_is_open_and_no_room_is_kept(
    world: World, crashes: bool
) -> None:
    """Time is charged, every fifth Job is wide, and two operators contradict each other."""
    world.catalog = catalog(pool(charging=Charging.TIME), pods(3))
    tenants = ("alice", "bob", "carol")
    wide = dict.fromkeys(range(0, 30, 5), 3)
    world.api.create(
        *[job_seen(f"x-{n}", tenants[n % 3], parallelism=wide.get(n, 1)) for n in range(30)]
    )
    await world.replica()
    await world.replica()
    for number in range(30 if crashes else 0):
        await world.moment(0.001 * number)
        await world.replicas[-2].crash()
        await world.replica()
        assert sum(world.job(name).parallelism for name in world.started()) <= 3
        world.api.change(world.started()[0], ended=True)
    await serve(world, most=3)
    await world.moment(30)
    page = await world.page()
    assert (page.charges, page.reservations, page.intents) == ((), (), ())
    assert len(page.means) == 3
    assert {job.deliveries for job in world.api.jobs.values()} == {1}


async def test_a_grant_that_the_ledger_has_no_more_is_not_written_after_a_failure(
    world: World,
) -> None:
    """Somebody else has given it back while its writer waited."""
    world.api.lose.extend(["before"] * 4)
    world.api.create(job_seen("x-1"))
    await world.replica()
    await world.until(lambda: len(world.api.lose) == 2)
    page = await world.ledger.read("pool")
    assert page is not None
    await world.ledger.commit(page, replace(page.state, intents=()))
    await world.until(lambda: bool(world.started()))
    assert [order.token > page.state.version for order in world.api.orders] == [True]


class ReadBefore(FlakyLedger):
    """Somebody else writes it, and is heard of, right after it was first read."""

    def __init__(self, world: World) -> None:
        super().__init__(world.ledger)
        self._world = world
        self._written = False

    async def read(self, pool: str) -> Page | None:
        page = await super().read(pool)
        if page is not None and not self._written:
            self._written = True
            higher = page.state.version + 5
            await self.kept.commit(page, replace(page.state, version=higher))
            self._world.replicas[-1].engine.registry.saw_token(pool, higher)
        return page


async def test_a_token_heard_of_after_the_ledger_was_read_is_no_restore(world: World) -> None:
    await (await world.replica()).crash()
    second = await world.replica(ReadBefore(world))
    world.api.create(job_seen("x-1"))
    await world.until(lambda: world.started() == ["x-1"])
    assert [desk.doubt for desk in second.engine.registry.desks()] == [None]
