"""Two operators on one ledger: twice the work, and never twice a slot or a token."""

import pytest

from kwicket.core.pools import Charging
from support.builders import catalog, job_seen, jobs, pods, pool
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
