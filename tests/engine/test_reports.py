"""What users see: figures, conditions and places in line, a second later at most."""

from kwicket.core.limits import Closed
from kwicket.core.pools import Lane
from kwicket.core.reasons import Reason
from support.builders import START, catalog, job_seen, jobs, limit, pool, rate
from support.fakes import FakeNotices
from support.world import World

SOON = 2.5


def ready(notices: FakeNotices, name: str = "pool") -> tuple[bool, str]:
    [condition, *_] = notices.pools[name][1]
    return condition.true, condition.reason


def shown(notices: FakeNotices, kind: str, name: str) -> tuple[bool, str]:
    [condition] = notices.shown[kind, name]
    return condition.true, condition.reason


async def test_a_pool_shows_its_figures(world: World) -> None:
    names = [job_seen(f"x-{n}", created=START + n) for n in range(3)]
    world.api.create(*names, job_seen("c-1", "carol", created=START + 9))
    replica = await world.replica()
    await world.moment(SOON)
    figures, _ = replica.notices.pools["pool"]
    assert (figures.waiting, figures.running, figures.tenants) == (3, 1, 2)
    assert (figures.oldest_waiting, figures.token) == (START + 1, world.job("x-0").token)
    assert figures.last_grant == world.api.orders[0].granted_at
    assert ready(replica.notices) == (True, "Serving")


async def test_a_job_in_line_is_told_its_place_and_why_it_waits(world: World) -> None:
    world.api.create(*[job_seen(f"x-{n}") for n in range(4)], job_seen("z-1", "carol"))
    replica = await world.replica()
    await world.moment(SOON)
    notices = {notice.job.uid: notice.sentence for notice in replica.notices.of(Reason.QUEUED)}
    reached = "limit jobs-pool is reached: 1 of 1 Jobs run"
    assert notices["z-1"] == f"waits in pool pool at position 1: {reached}"
    assert notices["x-3"] == f"waits in pool pool at position 4: {reached}"
    assert "x-0" not in notices


async def test_a_job_is_told_its_place_once(world: World) -> None:
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    replica = await world.replica()
    for _ in range(3):
        await world.moment(SOON)
        world.api.change("x-2", settled=True)
    assert len(replica.notices.of(Reason.QUEUED)) == 1


async def test_a_paused_pool_says_so(world: World) -> None:
    world.catalog = catalog(pool(paused=True))
    replica = await world.replica()
    await world.moment(SOON)
    assert ready(replica.notices) == (True, "Paused")


async def test_a_limit_that_is_not_understood_closes_its_door_and_says_so(world: World) -> None:
    world.catalog = catalog(pool(), limit(Closed("it counts memory"), name="memory"))
    world.api.create(job_seen("x-1"))
    replica = await world.replica()
    await world.moment(SOON)
    assert world.api.orders == []
    assert ready(replica.notices) == (False, "LimitNotUnderstood")
    assert shown(replica.notices, "Limit", "memory") == (False, "NotUnderstood")


async def test_lanes_and_limits_say_whether_they_count(world: World) -> None:
    world.catalog = catalog(
        pool(), Lane("gpu", "pool"), Lane("lost", "nowhere"), jobs(1), jobs(1, "tpu")
    )
    replica = await world.replica()
    await world.moment(SOON)
    assert shown(replica.notices, "Lane", "gpu") == (True, "PoolFound")
    assert shown(replica.notices, "Lane", "lost") == (False, "UnknownPool")
    assert shown(replica.notices, "Limit", "jobs-pool") == (True, "Counted")
    assert shown(replica.notices, "Limit", "jobs-tpu") == (False, "UnknownLane")


async def test_a_rate_says_that_it_does_not_know_its_whole_window_yet(world: World) -> None:
    world.catalog = catalog(pool(), rate(1, 60_000))
    replica = await world.replica()
    await world.moment(SOON)
    assert shown(replica.notices, "Limit", "rate-pool") == (True, "WindowNotFull")
    await world.moment(60)
    world.api.create(job_seen("x-1"))
    await world.moment(SOON)
    assert shown(replica.notices, "Limit", "rate-pool") == (True, "Counted")


async def test_of_several_defaults_the_oldest_says_that_it_is_the_one(world: World) -> None:
    world.catalog = catalog(pool("a", default=True, created=9), pool("b", default=True, created=5))
    replica = await world.replica()
    await world.moment(SOON)
    defaults = {
        name: condition.reason
        for name, (_, conditions) in replica.notices.pools.items()
        for condition in conditions
        if condition.kind == "Default"
    }
    assert defaults == {"a": "OlderDefaultExists", "b": "OnlyDefault"}
