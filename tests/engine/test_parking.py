"""A Job that is put back again and again rests longer each time, and is parked in the end."""

from itertools import pairwise

import pytest

from kwicket.core.leases import Terms
from kwicket.core.reasons import Reason
from support.builders import catalog, job_seen, jobs, pod_seen, pool
from support.world import Replica, World

TERMS = Terms(start_within=60_000, redeliveries=3)
MANAGER = "argocd-controller"


@pytest.fixture
async def replica(world: World) -> Replica:
    """x-1 has the one slot of its pool, and none of its pods ever starts."""
    world.catalog = catalog(pool(lease=TERMS), jobs(1))
    world.api.create(job_seen("x-1"))
    return await world.replica()


async def put_back(world: World, replica: Replica, times: int) -> list[float]:
    """Lets the lease lapse so often; how long the Job rested each time."""
    rests = []
    for _ in range(times):
        await world.until(lambda: world.job("x-1").suspended, 700)
        world.api.change("x-1", settled=True)
        begun = world.clock.monotonic()
        await world.moment()
        if replica.notices.of(Reason.PARKED):
            break
        await world.until(lambda: not world.job("x-1").suspended, 700)
        rests.append(world.clock.monotonic() - begun)
    return rests


async def interfere(world: World, manager: str = MANAGER) -> None:
    """Somebody else suspends the running Job, and its pods end."""
    world.api.change("x-1", suspended=True, settled=True, suspended_by=manager)
    await world.moment()


async def test_each_rest_is_twice_as_long(world: World, replica: Replica) -> None:
    rests = await put_back(world, replica, 3)
    for rest, planned in zip(rests, (10, 20, 40), strict=True):
        assert planned <= rest < planned + 1
    texts = [notice.sentence for notice in replica.notices.of(Reason.PUT_BACK)]
    assert [f"rests for {n}s" in text for n, text in zip((10, 20, 40), texts, strict=True)]
    assert "since Kwicket has suspended it" in texts[0]


async def test_after_its_redeliveries_it_is_parked_with_the_way_back(
    world: World, replica: Replica
) -> None:
    await put_back(world, replica, 4)
    job = world.job("x-1")
    assert (job.suspended, job.deliveries) == (True, 4)
    [notice] = replica.notices.of(Reason.PARKED)
    assert notice.warning
    assert notice.sentence == (
        "it was started 4 times and put back each time, the last time since Kwicket has suspended"
        " it; pool pool lets that happen 3 times. Mend the cause, then make a new Job, or have an"
        " administrator run: kubectl annotate job x-1 -n team kwicket.dev/deliveries=0"
        " --overwrite --field-manager=kwicket"
    )
    await world.moment(7200)
    assert len(world.api.orders) == 4


async def test_a_parked_job_takes_no_slot_and_no_turn(world: World, replica: Replica) -> None:
    await put_back(world, replica, 4)
    world.api.create(job_seen("x-2"))
    await world.moment()
    assert world.started() == ["x-2"]
    world.api.change("x-1", held=True)
    await world.declare(catalog(pool(lease=TERMS), jobs(2)))
    assert world.started() == ["x-2"]
    assert replica.engine.registry.desks()[0].book.running == 1


async def test_pods_that_appear_late_must_be_proved_to_have_ended_anew(
    world: World, replica: Replica
) -> None:
    """One is seen to end; another one that no watch has shown yet runs still."""
    await put_back(world, replica, 4)
    world.api.run(pod_seen("x-1", name="seen"))
    await world.moment()
    world.api.create(job_seen("x-2"))
    await world.moment()
    assert world.started() == []
    replica.cluster.deaf |= {"saw_pod"}
    world.api.run(pod_seen("x-1", name="unseen"))
    world.api.remove("seen")
    await world.moment(30)
    assert world.started() == []
    world.api.remove("unseen")
    await world.moment(30)
    assert world.started() == ["x-2"]


async def test_a_parked_job_is_proved_once(world: World, replica: Replica) -> None:
    """Else each change of what is declared would give it a slot until its pods were listed."""
    await put_back(world, replica, 4)
    lists: list[str] = []
    replica.cluster.listing = lambda: lists.append("pods")
    await world.declare(catalog(pool(lease=TERMS), jobs(2)))
    world.api.change("x-1", held=True)
    await world.moment(5)
    assert lists == []


async def test_each_token_is_higher_than_the_one_before(world: World, replica: Replica) -> None:
    await put_back(world, replica, 4)
    tokens = [order.token for order in world.api.written]
    assert all(earlier < later for earlier, later in pairwise(tokens))


async def test_it_is_parked_still_after_a_restart(world: World, replica: Replica) -> None:
    await put_back(world, replica, 4)
    await replica.crash()
    again = await world.replica()
    await world.moment(7200)
    assert len(again.notices.of(Reason.PARKED)) == 1
    assert len(world.api.orders) == 4


async def test_an_administrator_brings_it_back_and_it_costs_no_turn(
    world: World, replica: Replica
) -> None:
    await put_back(world, replica, 4)
    fairness = (await world.page()).fairness
    world.api.change("x-1", deliveries=0)
    await world.moment()
    assert (world.started(), world.job("x-1").deliveries) == (["x-1"], 1)
    assert world.api.written[-1].charged == "0"
    assert (await world.page()).fairness == fairness


async def test_more_redeliveries_bring_it_back_as_well(world: World, replica: Replica) -> None:
    await put_back(world, replica, 4)
    await world.declare(catalog(pool(lease=Terms(redeliveries=4)), jobs(1)))
    await world.moment(81)
    assert world.started() == ["x-1"]


async def test_a_new_job_of_its_name_is_a_new_submission(world: World, replica: Replica) -> None:
    await put_back(world, replica, 4)
    world.api.delete("x-1")
    world.api.create(job_seen("x-1", uid="new"))
    await world.moment()
    assert world.job("new").deliveries == 1


async def test_a_job_that_only_strangers_have_started_is_not_parked(
    world: World, replica: Replica
) -> None:
    """It never had a grant, and starts by its first one."""
    await world.declare(catalog(pool(lease=TERMS), jobs(2)))
    world.api.create(job_seen("stray", deliveries=9))
    await world.moment()
    assert world.started() == ["x-1", "stray"]


async def test_without_redeliveries_it_is_parked_the_first_time(world: World) -> None:
    world.catalog = catalog(pool(lease=Terms(redeliveries=0)), jobs(1))
    world.api.create(job_seen("x-1"))
    replica = await world.replica()
    await interfere(world)
    assert len(replica.notices.of(Reason.PARKED)) == 1


async def test_somebody_who_goes_on_suspending_it_ends_with_it_parked_and_is_named(
    world: World, replica: Replica
) -> None:
    for rest in (11, 21, 41):
        await interfere(world)
        await world.moment(rest)
        assert world.started() == ["x-1"]
    await interfere(world)
    [notice] = replica.notices.of(Reason.PARKED)
    assert f"the last time since field manager {MANAGER} has suspended it" in notice.sentence
    await world.moment(7200)
    assert world.job("x-1").suspended
    assert world.api.stops == []
    texts = [notice.sentence for notice in replica.notices.of(Reason.PUT_BACK)]
    assert all(f"since field manager {MANAGER} has suspended it" in text for text in texts)


async def test_a_job_suspended_while_it_rests_does_not_rest_longer(
    world: World, replica: Replica
) -> None:
    await interfere(world)
    await world.moment(8)
    world.api.change("x-1", suspended_by="another")
    await world.moment(2)
    assert world.started() == ["x-1"]


async def test_a_job_that_ran_for_long_rests_all_the_same(world: World, replica: Replica) -> None:
    """Its rest begins when it is put back, not when it was started."""
    world.api.run(pod_seen("x-1", token=world.job("x-1").token, started=True))
    await world.moment(3600)
    world.api.remove("x-1-a")
    await interfere(world)
    await world.moment(8)
    assert world.started() == []


async def test_a_restart_has_it_rest_once_more_and_no_longer(
    world: World, replica: Replica
) -> None:
    await interfere(world)
    await world.moment(8)
    await replica.crash()
    await world.replica()
    await world.moment(9)
    assert world.started() == []
    await world.moment(1.1)
    assert world.started() == ["x-1"]


async def test_who_took_over_and_followed_before_lets_it_rest_no_longer(
    world: World, replica: Replica
) -> None:
    follower = await world.replica(leads=False)
    await interfere(world)
    await world.moment(8)
    await replica.crash()
    follower.leadership.lead()
    await world.moment(2.5)
    assert world.started() == ["x-1"]
