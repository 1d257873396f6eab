"""Where a Job stands follows what is seen of it, of its namespace, and of what is declared."""

import asyncio
from itertools import pairwise

from kwicket.core.pools import Lane
from kwicket.core.reasons import Reason
from kwicket.engine.intake import SWEEP
from kwicket.ports.enforcement import IN_FORCE, Enforcement
from support.builders import START, catalog, job_seen, jobs, namespace_seen, pool
from support.fakes import FakeNotices
from support.world import World


def told(notices: FakeNotices, uid: str) -> list[Reason]:
    return [notice.reason for notice in notices.told if notice.job.uid == uid]


async def test_a_paused_pool_starts_nothing_until_it_goes_on(world: World) -> None:
    world.catalog = catalog(pool(paused=True), jobs(1))
    world.api.create(job_seen("x-1"))
    await world.replica()
    await world.moment(5)
    assert world.api.orders == []
    await world.declare(catalog(pool(), jobs(1)))
    assert world.started() == ["x-1"]


async def test_a_raised_limit_starts_more_at_once(world: World) -> None:
    world.api.create(*[job_seen(f"x-{n}") for n in range(5)])
    await world.replica()
    assert world.started() == ["x-0"]
    await world.declare(catalog(pool(), jobs(3)))
    assert world.started() == ["x-0", "x-1", "x-2"]


async def test_a_job_of_a_pool_that_goes_is_set_aside_until_the_pool_is_back(world: World) -> None:
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    replica = await world.replica()
    await world.declare(catalog())
    world.api.change("x-1", ended=True)
    await world.moment()
    assert told(replica.notices, "x-2")[-1] is Reason.UNKNOWN_POOL
    assert replica.notices.of(Reason.UNKNOWN_POOL)[-1].sentence == (
        "there is no Pool pool; there are: none"
    )
    await world.declare(catalog(pool(), jobs(1)))
    assert world.started() == ["x-2"]


async def test_a_bad_job_is_set_aside_with_one_notice_and_blocks_nobody(world: World) -> None:
    bad = job_seen("bad", created=START - 1, traits=(("urgent", "very"),))
    world.api.create(bad, job_seen("x-1"))
    replica = await world.replica()
    for _ in range(3):
        world.api.change("bad", settled=True)
        await world.moment()
    await world.declare(catalog(pool(), jobs(2)))
    assert world.started() == ["x-1"]
    assert told(replica.notices, "bad") == [Reason.BAD_TRAIT]
    assert replica.notices.told[0].warning


async def test_a_job_that_was_set_aside_comes_into_line_when_its_namespace_allows(
    world: World,
) -> None:
    world.namespaces = [namespace_seen(tenant="bob")]
    world.api.create(job_seen("x-1", "alice"))
    replica = await world.replica()
    assert told(replica.notices, "x-1") == [Reason.TENANT_MISMATCH]
    replica.engine.saw_namespace(namespace_seen(tenant="alice"))
    await world.moment()
    assert world.started() == ["x-1"]


async def test_a_namespace_of_many_jobs_is_taken_in_bit_by_bit(world: World) -> None:
    """Whoever else has something to do must not wait for all of them."""
    world.namespaces = [namespace_seen(tenant="bob")]
    world.api.create(*(job_seen(f"x-{number}") for number in range(3 * SWEEP)))
    replica = await world.replica()
    intake, aside = replica.engine.intake, [3 * SWEEP]
    replica.engine.saw_namespace(namespace_seen(tenant="alice"))
    while aside[-1]:
        aside.append(intake.asides().total())
        await asyncio.sleep(0)
    assert max(before - after for before, after in pairwise(aside)) <= SWEEP
    await world.moment()
    assert len(world.started()) == 1


async def test_a_job_waits_until_its_namespace_was_seen(world: World) -> None:
    """Its namespace's labels may forbid it, so that it is not granted on a guess."""
    world.namespaces = []
    world.api.create(job_seen("x-1"))
    replica = await world.replica()
    assert world.started() == []
    replica.engine.saw_namespace(namespace_seen())
    await world.moment()
    assert world.started() == ["x-1"]


async def test_a_job_of_a_lane_that_moves_moves_along(world: World) -> None:
    one, other = pool("one"), pool("other")
    world.catalog = catalog(one, other, Lane("gpu", "one"), jobs(0))
    world.api.create(job_seen("x-1", pool=None, lane="gpu"))
    await world.replica()
    assert world.started() == []
    await world.declare(catalog(one, other, Lane("gpu", "other"), jobs(0)))
    assert world.job("x-1").granted_pool == "other"


async def test_a_job_that_runs_without_a_grant_is_reported_and_not_counted(world: World) -> None:
    """While the policies are not in force, that is: else it is suspended."""
    world.enforcement = Enforcement("PolicyMissing", "kwicket-guard is missing")
    world.api.create(job_seen("stray", suspended=False), job_seen("x-1"))
    replica = await world.replica()
    for _ in range(3):
        world.api.change("stray", settled=True)
        await world.moment()
    assert told(replica.notices, "stray") == [Reason.STARTED_WITHOUT_GRANT]
    await world.enforce(IN_FORCE)
    assert not world.job("x-1").suspended


async def test_an_older_version_of_a_job_than_is_known_says_nothing(world: World) -> None:
    """A list that was made before the start comes in after it."""
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    before = world.job("x-1")
    replica = await world.replica()
    replica.engine.saw_job(before)
    await world.moment()
    assert world.started() == ["x-1"]
    assert len(world.api.orders) == 1


async def test_a_held_job_starts_when_its_author_lets_it(world: World) -> None:
    world.api.create(job_seen("x-1", held=True))
    await world.replica()
    assert world.started() == []
    world.api.change("x-1", held=False)
    await world.moment()
    assert world.started() == ["x-1"]


async def test_a_finished_or_deleted_job_is_no_ticket_whatever_suspend_says(world: World) -> None:
    world.api.create(job_seen("x-1", ended=True), job_seen("x-2", deleting=True))
    await world.replica()
    await world.moment(5)
    assert world.api.orders == []


async def test_a_job_put_back_whose_pool_is_gone_waits_where_it_belongs_now(world: World) -> None:
    """It was started by a pool that has been the default and is no more."""
    world.catalog = catalog(pool(default=True), jobs(1))
    world.api.create(job_seen("x-1", pool=None, token=5, granted_pool="old", deliveries=1))
    await world.replica()
    await world.moment(10)
    assert world.job("x-1").granted_pool == "pool"


async def test_a_job_put_back_whose_pool_is_gone_is_set_aside_with_a_reason(world: World) -> None:
    world.api.create(job_seen("x-1", pool="old", token=5, granted_pool="old", deliveries=1))
    replica = await world.replica()
    assert told(replica.notices, "x-1") == [Reason.UNKNOWN_POOL]


async def test_a_job_put_back_into_a_younger_line_gets_a_higher_token_than_it_has(
    world: World,
) -> None:
    """Pools count apart: the token of the pool that it comes from may be far above this pool's."""
    world.catalog = catalog(pool(default=True), jobs(1))
    await world.replica()
    far = START * 10
    world.api.create(job_seen("x-1", pool=None, token=far, granted_pool="old", deliveries=1))
    await world.moment(15)
    assert len(world.api.orders) == 1
    assert world.job("x-1").token == far + 1
