"""A Job that runs without a grant is suspended, counted, told so, and waits in line.

Row 36 of the fault matrix, where no policy refuses the start.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from kwicket.core.reasons import Reason
from kwicket.ports.enforcement import IN_FORCE, Enforcement
from support.builders import catalog, job_seen, jobs, pod_seen, pool
from support.world import Replica, World

STOPPED = "kwicket_strays_stopped_total"
OFF = Enforcement("EnforcementOff", "it is switched off")


def stopped(replica: Replica) -> list[str]:
    """The UIDs of the Jobs whose authors were told."""
    return [notice.job.uid for notice in replica.notices.of(Reason.STOPPED_WITHOUT_GRANT)]


async def test_it_is_suspended_counted_and_told_so(world: World) -> None:
    world.catalog = catalog(pool(), jobs(0))
    world.api.create(job_seen("stray", suspended=False))
    replica = await world.replica()
    assert world.job("stray").suspended
    assert replica.number(STOPPED) == 1
    [notice] = replica.notices.of(Reason.STOPPED_WITHOUT_GRANT)
    assert notice.warning
    assert "leave spec.suspend to Kwicket, or delete the Job" in notice.sentence
    assert replica.notices.of(Reason.STARTED_WITHOUT_GRANT) == []


async def test_it_starts_in_its_turn_once_its_pods_have_ended(world: World) -> None:
    world.api.create(job_seen("stray", suspended=False))
    world.api.run(pod_seen("stray"))
    await world.replica()
    world.api.change("stray", settled=True)
    await world.moment(30)
    assert world.started() == []
    world.api.run(pod_seen("stray", phase="Failed"))
    await world.moment()
    assert world.started() == ["stray"]
    assert world.job("stray").deliveries == 2


async def test_while_its_pods_end_they_take_a_slot(world: World) -> None:
    world.api.create(job_seen("stray", suspended=False))
    world.api.run(pod_seen("stray"))
    await world.replica()
    world.api.create(job_seen("x-1"))
    await world.moment()
    assert world.started() == []
    world.api.change("stray", settled=True)
    world.api.run(pod_seen("stray", phase="Failed"))
    await world.moment()
    assert len(world.started()) == 1


async def test_its_first_grant_is_charged_like_any_other(world: World) -> None:
    world.catalog = catalog(pool(), jobs(1))
    world.api.create(job_seen("stray", suspended=False))
    await world.replica()
    world.api.change("stray", settled=True)
    await world.moment()
    assert world.started() == ["stray"]
    assert world.api.orders[-1].charged == "1"


@pytest.mark.parametrize("reason", ["EnforcementOff", "PolicyMissing", "NotRead"])
async def test_without_enforcement_nobody_is_suspended(world: World, reason: str) -> None:
    """Jobs behave as if Kwicket were absent; back in force, they are suspended."""
    world.enforcement = Enforcement(reason, "why")
    world.catalog = catalog(pool(), jobs(0))
    world.api.create(job_seen("stray", suspended=False))
    replica = await world.replica()
    await world.moment(60)
    assert world.api.stops == []
    assert len(replica.notices.of(Reason.STARTED_WITHOUT_GRANT)) == 1
    await world.enforce(IN_FORCE)
    assert stopped(replica) == ["stray"]


async def test_our_own_start_that_is_not_seen_yet_is_no_stray(world: World) -> None:
    """Its answer is lost, and the watch is deaf."""
    world.api.lose.append("after")
    world.api.create(job_seen("x-1"))
    replica = await world.replica()
    replica.cluster.deaf |= {"saw_job"}
    await world.moment(60)
    assert world.started() == ["x-1"]
    assert world.api.stops == []


async def test_a_stray_that_was_granted_since_it_was_seen_is_left_alone(world: World) -> None:
    """Only a read at the moment of the write says what it is now."""
    world.enforcement = OFF
    world.api.create(job_seen("stray", suspended=False))
    replica = await world.replica()
    replica.cluster.deaf |= {"saw_job"}
    world.api.change("stray", token=7, granted_pool="pool")
    await world.enforce(IN_FORCE)
    assert world.api.stops == []
    assert world.started() == ["stray"]


def ends(world: World) -> None:
    world.api.change("stray", ended=True)


def is_deleted(world: World) -> None:
    world.api.delete("stray")


@pytest.mark.parametrize("happens", [ends, is_deleted])
async def test_a_stray_that_is_over_is_left_alone(
    world: World, happens: Callable[[World], None]
) -> None:
    world.enforcement = OFF
    world.api.create(job_seen("stray", suspended=False))
    replica = await world.replica()
    replica.cluster.deaf |= {"saw_job", "lost_job"}
    happens(world)
    await world.enforce(IN_FORCE)
    await world.moment(60)
    assert world.api.stops == []


@pytest.mark.parametrize("lost", ["before", "after"])
async def test_a_suspension_without_an_answer_is_read_back(world: World, lost: str) -> None:
    world.catalog = catalog(pool(), jobs(0))
    world.api.lose.append(lost)
    world.api.create(job_seen("stray", suspended=False))
    replica = await world.replica()
    await world.moment(5)
    assert world.job("stray").suspended
    assert len(world.api.stops) == replica.number(STOPPED) == 1
    assert stopped(replica) == ["stray"]


async def test_against_somebody_who_starts_it_again_the_pauses_double(world: World) -> None:
    world.catalog = catalog(pool(), jobs(0))
    world.api.create(job_seen("stray", suspended=False))
    replica = await world.replica()
    times = [world.clock.monotonic()]
    for _ in range(4):
        fields: dict[str, Any] = {"suspended": False}
        world.api.change("stray", **fields)
        await world.until(lambda: world.job("stray").suspended)
        times.append(world.clock.monotonic())
    await world.moment()
    pauses = [later - earlier for earlier, later in pairwise(times)]
    for pause, planned in zip(pauses, (10, 20, 40, 80), strict=True):
        assert 0.7 * planned < pause < 1.3 * planned + 1
    assert replica.number(STOPPED) == 5


async def test_a_refused_suspension_is_told_and_tried_again_later(world: World) -> None:
    world.api.denied["stray"] = "a webhook says no"
    world.api.create(job_seen("stray", suspended=False))
    replica = await world.replica()
    await world.moment(5)
    assert world.api.stops == ["stray"]
    assert len(replica.notices.of(Reason.STARTED_WITHOUT_GRANT)) == 1
    world.api.denied.clear()
    await world.moment(15)
    assert stopped(replica) == ["stray"]
