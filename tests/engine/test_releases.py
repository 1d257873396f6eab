"""A slot is free again when the Job's pods have really ended, and not before."""

import pytest
from msgspec.structs import replace

from support.builders import fairness, job_seen, pod_seen
from support.world import World


@pytest.fixture
async def busy(world: World) -> World:
    """x-1 runs in one pod and x-2 waits for its slot."""
    world.api.create(job_seen("x-1", completions=1), job_seen("x-2"))
    await world.replica()
    assert world.started() == ["x-1"]
    world.api.run(pod_seen("x-1", token=world.job("x-1").token, pool="pool"))
    await world.moment()
    return world


def waiting(world: World) -> bool:
    return world.job("x-2").suspended


async def test_a_job_that_is_complete_or_failed_frees_its_slot(busy: World) -> None:
    busy.api.change("x-1", ended=True)
    await busy.moment()
    assert not waiting(busy)


async def test_enough_succeeded_pods_free_the_slot_before_the_job_says_so(busy: World) -> None:
    busy.api.run(pod_seen("x-1", phase="Succeeded"))
    await busy.moment()
    assert not waiting(busy)


async def test_a_failed_pod_frees_nothing(busy: World) -> None:
    busy.api.run(pod_seen("x-1", phase="Failed"))
    await busy.moment(60)
    assert waiting(busy)


async def test_orphaned_pods_keep_the_slot_of_a_deleted_job(busy: World) -> None:
    busy.api.delete("x-1")
    await busy.moment(60)
    assert waiting(busy)
    busy.api.run(pod_seen("x-1", phase="Failed"))
    await busy.moment()
    assert not waiting(busy)


async def test_pods_that_no_watch_has_shown_yet_keep_the_slot_too(world: World) -> None:
    """The Job is gone and no pod is known; a consistent list knows better."""
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    replica = await world.replica()
    replica.cluster.deaf |= {"saw_pod", "lost_pod"}
    world.api.run(pod_seen("x-1"))
    world.api.delete("x-1")
    await world.moment()
    assert waiting(world)
    replica.cluster.deaf.clear()
    world.api.remove("x-1-a")
    await world.moment(60)
    assert not waiting(world)


async def test_a_pod_that_ends_while_the_list_is_on_its_way_does_not_come_back(
    world: World,
) -> None:
    """The list still has it, the watch has already lost it: the slot must not leak."""
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    replica = await world.replica()
    replica.cluster.deaf |= {"saw_pod"}
    world.api.run(pod_seen("x-1"))
    replica.cluster.listing = lambda: world.api.remove("x-1-a")
    world.api.delete("x-1")
    await world.moment(60)
    assert not waiting(world)


async def test_a_pod_whose_label_names_another_job_is_that_jobs_and_ends_there(
    busy: World,
) -> None:
    pod = replace(busy.api.pods["x-1-a"], job_uid="other")
    busy.api.run(pod)
    busy.api.delete("x-1")
    await busy.moment(60)
    assert waiting(busy)
    busy.api.remove(pod.uid)
    await busy.moment(60)
    assert not waiting(busy)


async def test_a_pod_whose_label_was_edited_as_it_went_holds_nothing(busy: World) -> None:
    busy.api.delete("x-1")
    busy.api.pods["x-1-a"] = replace(busy.api.pods["x-1-a"], job_uid="other")
    busy.api.remove("x-1-a")
    await busy.moment(60)
    assert not waiting(busy)


async def test_a_job_being_deleted_keeps_its_slot_while_a_pod_lives(busy: World) -> None:
    busy.api.change("x-1", deleting=True)
    await busy.moment(60)
    assert waiting(busy)
    busy.api.remove("x-1-a")
    await busy.moment()
    assert not waiting(busy)


async def test_a_suspended_job_keeps_its_slot_until_its_pods_have_ended(busy: World) -> None:
    busy.api.change("x-1", suspended=True, settled=False)
    await busy.moment()
    busy.api.change("x-1", settled=True)
    await busy.moment(60)
    assert waiting(busy)


async def test_a_suspended_job_goes_back_to_its_place_in_line(busy: World) -> None:
    """It was submitted before x-2, so it is first again, as a redelivery with a higher token."""
    first = busy.job("x-1").token
    assert first is not None
    busy.api.change("x-2", held=True)
    busy.api.change("x-1", suspended=True)
    busy.api.remove("x-1-a")
    await busy.moment(9)
    assert busy.job("x-1").suspended
    await busy.moment(1.1)
    again = busy.job("x-1")
    assert (again.suspended, again.deliveries, again.token) == (False, 2, first + 1)
    busy.api.change("x-2", held=False)
    await busy.moment()
    assert waiting(busy)
    assert (await busy.page()).fairness == fairness(0, {"alice": 1})


async def test_a_job_deleted_in_line_is_no_more(busy: World) -> None:
    busy.api.delete("x-2")
    busy.api.create(job_seen("x-3"))
    await busy.moment()
    busy.api.change("x-1", ended=True)
    await busy.moment()
    assert busy.started() == ["x-3"]
    assert len(busy.api.orders) == 2


async def test_a_start_whose_answer_was_lost_and_whose_job_is_gone_keeps_its_pods_slot(
    world: World,
) -> None:
    """It was applied, its pod runs, the Job is deleted, and no watch has said anything yet."""
    world.api.lose.append("after")
    world.api.reachable.clear()
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    replica = await world.replica()
    replica.cluster.deaf |= {"saw_job", "lost_job", "saw_pod"}
    world.api.reachable.set()
    await world.until(lambda: bool(world.api.written))
    world.api.run(pod_seen("x-1", token=world.job("x-1").token, pool="pool"))
    world.api.delete("x-1")
    await world.moment(60)
    assert waiting(world)
    world.api.run(pod_seen("x-1", phase="Failed"))
    await world.moment(60)
    assert not waiting(world)


async def test_a_job_that_is_gone_before_the_watch_says_so_is_not_granted_again(
    world: World,
) -> None:
    """Once per round trip, else, until the watch has caught up."""
    world.api.reachable.clear()
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    replica = await world.replica()
    replica.cluster.deaf |= {"lost_job"}
    world.api.delete("x-1")
    world.api.reachable.set()
    await world.moment(60)
    assert world.started() == ["x-2"]
    assert [order.job.uid for order in world.api.orders] == ["x-1", "x-2"]
