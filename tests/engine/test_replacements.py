"""Beside pods on silent nodes a Job gets new pods at once, and without them late, as any other."""

import asyncio

import pytest
from msgspec.structs import replace

from kwicket.core.jobs import JobSeen
from kwicket.core.leases import Terms
from kwicket.ports.cluster import Denied, Gone, Replaced, Stale
from support.builders import catalog, job_seen, jobs, pod_seen, pool
from support.world import Replica, World


@pytest.fixture
async def replica(world: World) -> Replica:
    """x-1 was put back from node-1, which is silent, and runs again on node-2."""
    world.catalog = catalog(pool(lease=Terms(duration=60_000)), jobs(1))
    world.api.create(job_seen("x-1"))
    world.api.node("node-1")
    world.api.node("node-2")
    made = await world.replica()
    run(world, "old", "node-1")
    await world.moment()
    world.api.node("node-1", silent=True)
    await world.until(lambda: world.job("x-1").suspended)
    world.api.change("x-1", settled=True)
    await world.until(lambda: not world.job("x-1").suspended)
    run(world, "new", "node-2")
    await world.moment(5)
    return made


def run(world: World, name: str, node: str) -> None:
    token = world.job("x-1").token
    world.api.run(pod_seen("x-1", name=name, node=node, token=token, pool="pool", started=True))


async def test_a_job_is_started_beside_what_is_left_of_it(world: World, replica: Replica) -> None:
    assert [order.beside for order in world.api.written] == [False, True]
    await world.moment(600)
    assert world.job("x-1").beside


async def test_its_pods_are_replaced_late_again_once_the_old_ones_are_gone(
    world: World, replica: Replica
) -> None:
    world.api.remove("old")
    await world.moment()
    assert not world.job("x-1").beside
    assert not world.job("x-1").suspended


async def test_old_ones_that_have_ended_are_gone(world: World, replica: Replica) -> None:
    world.api.run(replace(world.api.pods["old"], phase="Failed"))
    await world.moment()
    assert not world.job("x-1").beside
    assert not world.job("x-1").suspended


@pytest.mark.parametrize("lost", ["after", "stale"])
async def test_a_write_that_was_not_answered_or_came_too_late_is_made_again(
    world: World, replica: Replica, lost: str
) -> None:
    if lost == "after":
        world.api.lose.append(lost)
    else:
        replica.cluster.deaf |= {"saw_job"}
        world.api.change("x-1", parallelism=1)
    world.api.remove("old")
    await world.moment(5)
    assert not world.job("x-1").beside


async def test_a_refused_write_is_not_made_again_and_again(world: World, replica: Replica) -> None:
    world.api.denied["x-1"] = "a webhook says no"
    world.api.remove("old")
    await world.moment(60)
    assert world.job("x-1").beside
    run(world, "new", "node-2")
    await world.moment(60)
    assert world.job("x-1").beside


async def test_a_refusal_counts_for_one_grant_only(world: World, replica: Replica) -> None:
    world.api.denied["x-1"] = "a webhook says no"
    world.api.remove("old")
    await world.moment(5)
    world.api.denied.clear()
    world.api.change("x-1", suspended=True, settled=True)
    world.api.remove("new")
    await world.until(lambda: not world.job("x-1").suspended)
    world.api.change("x-1", beside=True)
    await world.moment(5)
    assert not world.job("x-1").beside


async def test_a_follower_writes_nothing(world: World, replica: Replica) -> None:
    replica.leadership.follow()
    world.api.remove("old")
    await world.moment(60)
    assert world.job("x-1").beside
    replica.leadership.lead()
    await world.moment()
    assert not world.job("x-1").beside


async def test_a_job_that_ends_meanwhile_is_left_alone(world: World, replica: Replica) -> None:
    world.api.change("x-1", ended=True)
    world.api.remove("old")
    await world.moment(5)
    assert world.job("x-1").beside


async def test_an_end_that_only_a_read_shows_frees_the_slot(world: World, replica: Replica) -> None:
    """The watch says so later, which is nothing new then."""
    world.api.create(job_seen("x-2"))
    await world.moment()
    replica.cluster.deaf |= {"saw_job"}
    world.api.change("x-1", ended=True)
    world.api.remove("old")
    await world.moment(5)
    assert world.started() == ["x-2"]
    replica.cluster.deaf.clear()
    await replica.cluster.relist()
    await world.moment(5)
    assert world.started() == ["x-2"]


async def test_a_job_that_is_gone_when_its_read_is_answered_is_not_known_again(
    world: World, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = replica.cluster.look

    async def late(namespace: str, name: str) -> JobSeen | None:
        answer = await look(namespace, name)
        if "x-1" in world.api.jobs:
            world.api.delete("x-1")
        await asyncio.sleep(0.05)
        return answer

    monkeypatch.setattr(replica.cluster, "look", late)
    replica.cluster.deaf |= {"saw_job"}
    world.api.change("x-1", parallelism=1)
    world.api.remove("old")
    await world.moment(5)
    assert replica.engine.census.job("x-1") is None


async def test_a_job_is_read_before_it_is_written_if_it_was_not_seen_since_the_cluster_went_back(
    world: World, replica: Replica
) -> None:
    """The version that was known of it is another life's, and 0 would match any."""
    replica.cluster.deaf |= {"saw_job"}
    here = world.api.change("x-1", parallelism=1).version
    replica.engine.went_back()
    sent: list[str] = []
    write = replica.cluster.replace_late

    async def heard(job: JobSeen) -> Replaced | Stale | Gone | Denied:
        sent.append(job.version)
        return await write(job)

    replica.cluster.replace_late = heard  # type: ignore[method-assign]
    world.api.remove("old")
    await world.moment(5)
    assert sent == [here]
    assert not world.job("x-1").beside
