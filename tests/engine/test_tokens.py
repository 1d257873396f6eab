"""Tokens that no pool has given: none of them stops a pool, and who runs by one is suspended."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwicket.core.leases import pause
from kwicket.core.reasons import Reason
from kwicket.core.state import HIGHEST_TOKEN, State
from kwicket.core.tokens import HEADROOM
from kwicket.engine.desk import Desk
from kwicket.ports.enforcement import IN_FORCE, Enforcement
from kwicket.ports.ledger import Page
from support.builders import catalog, job_seen, jobs, pod_seen, pool, rules
from support.fakes import FlakyLedger
from support.world import Replica, World

OFF = Enforcement("EnforcementOff", "it is switched off")
UNBELIEVED = [HIGHEST_TOKEN, HIGHEST_TOKEN - 1, 10**17, 10**15]
RUNNING: dict[str, Any] = {"suspended": False, "deliveries": 1, "granted_pool": "pool"}


@pytest.fixture
def two_pools(world: World) -> World:
    """Pools `pool` and `other`, with room for all."""
    world.catalog = catalog(pool(), pool("other"))
    return world


def told(replica: Replica) -> list[str]:
    """The Jobs whose authors were told that their token is a bad one."""
    return [notice.job.name for notice in replica.notices.of(Reason.BAD_TOKEN)]


async def highest_version(world: World) -> int:
    pages = [await world.ledger.read(name) for name in ("pool", "other")]
    return max(page.state.version for page in pages if page is not None)


@pytest.mark.parametrize("token", UNBELIEVED)
@pytest.mark.parametrize("granted_pool", ["pool", None])
@pytest.mark.parametrize("ledger", ["none", "there"])
async def test_a_job_that_waits_with_one_is_set_aside_and_all_others_go_on(
    two_pools: World, token: int, granted_pool: str | None, ledger: str
) -> None:
    world = two_pools
    if ledger == "there":
        await world.ledger.open("pool", State(5))
    world.api.create(job_seen("forged", token=token, granted_pool=granted_pool))
    world.api.create(job_seen("x-1"), job_seen("y-1", pool="other"))
    replica = await world.replica()
    await world.moment(70)
    assert sorted(world.started()) == ["x-1", "y-1"]
    assert {order.job.name for order in world.api.orders} == {"x-1", "y-1"}
    assert await highest_version(world) <= world.clock.now()
    assert told(replica) == ["forged"]
    [notice] = replica.notices.of(Reason.BAD_TOKEN)
    assert str(token) in notice.sentence
    assert "delete the Job and make it again" in notice.sentence


async def test_a_job_that_comes_with_one_while_others_wait_stops_nobody(two_pools: World) -> None:
    replica = await two_pools.replica()
    two_pools.api.create(job_seen("forged", token=HIGHEST_TOKEN), job_seen("x-1"))
    await two_pools.moment()
    assert two_pools.started() == ["x-1"]
    assert told(replica) == ["forged"]


async def test_the_status_of_a_pool_is_believed_no_further(world: World) -> None:
    world.catalog = catalog()
    replica = await world.replica()
    replica.engine.registry.saw_token("pool", HIGHEST_TOKEN)
    await world.declare(catalog(pool()))
    world.api.create(job_seen("x-1"))
    await world.moment()
    assert world.started() == ["x-1"]
    assert (await world.page()).version <= world.clock.now()


async def test_a_status_that_is_not_believed_stops_no_pool(world: World) -> None:
    """Nor does it make a token believed that somebody else wrote on a Job."""
    replica = await world.replica()
    replica.engine.registry.saw_token("pool", HIGHEST_TOKEN)
    page = await world.ledger.read("pool")
    assert page is not None
    await world.ledger.commit(page, replace(page.state, version=page.state.version + 1))
    world.api.create(job_seen("forged", token=HIGHEST_TOKEN - 1), job_seen("x-1"))
    await world.moment(30)
    assert world.started() == ["x-1"]
    assert told(replica) == ["forged"]


async def test_what_a_pool_has_given_is_remembered_while_it_is_not_declared(world: World) -> None:
    """However high that is: it is the ledger's own."""
    further = world.clock.now() + 2 * HEADROOM
    await world.ledger.open("pool", State(further))
    replica = await world.replica()
    await world.declare(catalog())
    assert replica.engine.registry.token("pool") == further


async def test_a_desk_passes_none_over(world: World) -> None:
    desk = Desk(rules(), world.clock)
    desk.pass_over(HIGHEST_TOKEN)
    assert desk.book.version == 1
    desk.pass_over(7)
    assert desk.book.version == 7


async def test_the_highest_token_that_is_believed_is_passed_over(two_pools: World) -> None:
    highest = two_pools.clock.now() + HEADROOM
    two_pools.api.create(job_seen("first", token=highest, granted_pool="pool"))
    await two_pools.replica()
    two_pools.api.create(*[job_seen(f"x-{n}") for n in range(40)])
    await two_pools.moment()
    tokens = [order.token for order in two_pools.api.written]
    assert tokens == list(range(highest + 2, highest + 43))
    assert two_pools.api.stops == []


async def test_a_ledger_that_is_further_is_believed_and_so_are_its_grants(world: World) -> None:
    """It was so before, and no token is given twice."""
    further = world.clock.now() + 2 * HEADROOM
    await world.ledger.open("pool", State(further))
    world.api.create(job_seen("r-1", token=further, **RUNNING))
    world.api.create(job_seen("again", token=further - 1, deliveries=1))
    await world.replica()
    await world.moment(30)
    assert world.api.stops == []
    assert world.started() == ["r-1"]
    world.api.change("r-1", ended=True)
    await world.moment()
    assert world.started() == ["again"]
    assert world.job("again").token == further + 1


@pytest.mark.parametrize("token", UNBELIEVED)
@pytest.mark.parametrize("granted_pool", ["pool", "nowhere", None])
async def test_a_job_that_runs_by_one_is_suspended_and_set_aside(
    world: World, token: int, granted_pool: str | None
) -> None:
    fields = RUNNING | {"token": token, "granted_pool": granted_pool}
    world.api.create(job_seen("forged", **fields))
    world.api.run(pod_seen("forged", token=token, pool="pool"))
    replica = await world.replica()
    assert world.job("forged").suspended
    assert [n.job.name for n in replica.notices.of(Reason.STOPPED_WITHOUT_GRANT)] == ["forged"]
    world.api.change("forged", settled=True)
    world.api.run(pod_seen("forged", phase="Failed"))
    world.api.create(job_seen("x-1"))
    await world.moment()
    assert told(replica) == ["forged"]
    assert world.started() == ["x-1"]


async def test_while_a_ledger_is_not_understood_nobody_is_suspended(
    two_pools: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = two_pools
    await world.replica()

    async def not_understood(_: str) -> Page:
        raise ValueError("version is no number")

    monkeypatch.setattr(world.ledger, "read", not_understood)
    world.api.create(job_seen("r-1", token=HIGHEST_TOKEN, **RUNNING))
    await world.moment(70)
    assert world.api.stops == []
    monkeypatch.undo()
    await world.until(lambda: world.api.stops == ["r-1"])


async def test_a_pod_that_carries_one_and_has_no_job_holds_no_slot(world: World) -> None:
    world.api.run(pod_seen("gone", token=HIGHEST_TOKEN, pool="pool"))
    world.api.create(job_seen("x-1"))
    await world.replica()
    assert world.started() == ["x-1"]


async def test_a_job_that_runs_by_a_token_above_its_pools_is_suspended_and_takes_its_turn(
    two_pools: World,
) -> None:
    world = two_pools
    replica = await world.replica()
    await world.enforce(OFF)
    forged = (await world.page()).version + 5
    world.api.create(job_seen("forged", token=forged, **RUNNING))
    await world.moment()
    [notice] = replica.notices.of(Reason.STARTED_WITHOUT_GRANT)
    assert (notice.job.name, world.api.stops) == ("forged", [])
    await world.enforce(IN_FORCE)
    assert world.api.stops == ["forged"]
    world.api.change("forged", settled=True)
    world.api.create(job_seen("x-1"))
    await world.moment(pause(2) + 1)
    assert sorted(world.started()) == ["forged", "x-1"]
    assert (world.job("forged").token or 0) > forged


async def test_a_job_that_runs_by_a_token_of_its_pools_is_left_alone(two_pools: World) -> None:
    """Nothing tells it from one that was granted."""
    await two_pools.replica()
    given = (await two_pools.page()).version
    two_pools.api.create(job_seen("r-1", token=given, **RUNNING))
    await two_pools.moment(30)
    assert two_pools.api.stops == []


async def test_jobs_of_a_lost_ledger_are_left_alone(world: World) -> None:
    """Nor does anything tell them from those that somebody has forged meanwhile."""
    tokens = {"r-1": 7, "r-2": world.clock.now() * 3}
    world.api.create(*[job_seen(name, token=token, **RUNNING) for name, token in tokens.items()])
    replica = await world.replica()
    await world.moment(30)
    assert world.api.stops == []
    assert replica.engine.registry.desks()[0].book.running == 2


async def test_a_grant_of_another_leader_is_left_alone_and_counted(two_pools: World) -> None:
    """Without a lease of leaders, or when this one has slept."""
    world = two_pools
    await world.declare(catalog(pool(), jobs(1)))
    replica = await world.replica()
    page = await world.ledger.read("pool")
    assert page is not None
    granted = page.state.version + 1
    written = await world.ledger.commit(page, replace(page.state, version=granted))
    assert isinstance(written, Page)
    world.api.create(job_seen("r-1", token=granted, **RUNNING))
    await world.moment()
    world.api.create(job_seen("x-1"))
    await world.moment(30)
    assert world.api.stops == []
    assert world.started() == ["r-1"]
    assert replica.engine.registry.desks()[0].book.version == granted


async def test_two_leaders_leave_each_others_grants_alone(world: World) -> None:
    world.catalog = catalog(pool(), jobs(40))
    await world.replica()
    await world.replica()
    for turn in range(10):
        world.api.create(*[job_seen(f"x-{turn}-{n}") for n in range(4)])
        await world.moment(0.05)
    await world.moment(30)
    assert len(world.started()) == 40
    assert world.api.stops == []


async def test_while_the_ledger_is_lost_nobody_is_suspended(two_pools: World) -> None:
    """It is made anew above every token that is found."""
    world = two_pools
    await world.replica()
    found = (await world.page()).version + 9
    world.ledger.remove("pool")
    world.api.create(job_seen("r-1", token=found, **RUNNING))
    await world.moment()
    assert world.api.stops == []
    assert (await world.page()).version > found


async def test_while_the_ledger_is_down_nobody_is_suspended(two_pools: World) -> None:
    world = two_pools
    ledger = FlakyLedger(world.ledger)
    await world.replica(ledger)
    ledger.down = True
    forged = (await world.page()).version + 5
    world.api.create(job_seen("forged", token=forged, **RUNNING))
    await world.moment(30)
    assert world.api.stops == []
    ledger.down = False
    await world.until(lambda: world.api.stops == ["forged"])


async def test_a_former_leader_counts_the_grants_of_the_next(two_pools: World) -> None:
    world = two_pools
    old, new = await world.replica(), await world.replica(leads=False)
    old.leadership.follow()
    new.leadership.lead()
    await world.moment()
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    await world.moment()
    assert [desk.book.running for desk in old.engine.registry.desks()] == [0, 2]
