"""A Job whose lease has lapsed is put back in line, or keeps its slot, as its pool wants it."""

import asyncio
from typing import Any

import pytest

from kwicket.core.catalog import Catalog
from kwicket.core.jobs import JobSeen
from kwicket.core.leases import OnLapse, Terms
from kwicket.core.reasons import Reason
from kwicket.ports.enforcement import IN_FORCE, Enforcement
from support.builders import catalog, fairness, job_seen, jobs, pod_seen, pool
from support.world import Replica, World

TERMS = Terms(duration=60_000, start_within=60_000)


def declared(**terms: Any) -> Catalog:
    fields = {"duration": 60_000, "start_within": 60_000} | terms
    return catalog(pool(lease=Terms(**fields)), jobs(1))


@pytest.fixture
async def replica(world: World) -> Replica:
    """x-1 has the one slot of a pool whose leases last a minute; x-2 waits for it."""
    world.catalog = declared()
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    world.api.node("node-1")
    made = await world.replica()
    assert world.started() == ["x-1"]
    return made


def run(world: World, uid: str = "x-1", **fields: Any) -> None:
    """A pod of the Job's present grant on node-1, running unless said otherwise."""
    told = {"token": world.job(uid).token, "pool": "pool", "node": "node-1", "started": True}
    world.api.run(pod_seen(uid, **(told | fields)))


async def settle(world: World, uid: str = "x-1") -> None:
    """The Job controller has seen the suspension."""
    world.api.change(uid, settled=True)
    await world.moment()


async def test_a_job_of_which_nothing_starts_is_suspended_and_the_next_one_starts(
    world: World, replica: Replica
) -> None:
    run(world, phase="Pending", started=False)
    await world.moment(59)
    assert world.api.stops == []
    await world.moment(1)
    assert world.api.stops == ["x-1"]
    assert (world.job("x-1").suspended, world.job("x-1").deliveries) == (True, 1)
    world.api.remove("x-1-a")
    await settle(world)
    assert world.started() == ["x-2"]
    [notice] = replica.notices.of(Reason.LEASE_LAPSED)
    assert notice.warning
    assert notice.sentence == (
        "its lease of pool pool has lapsed, and it was suspended:"
        " none of its pods has run a container within 60s"
    )


async def test_it_starts_again_with_a_higher_token_and_keeps_its_place(
    world: World, replica: Replica
) -> None:
    """It was submitted before x-2, so that it is first once it has rested."""
    first = world.job("x-1").token
    assert first is not None
    await world.declare(catalog(pool(lease=TERMS), jobs(0)))
    await world.moment(61)
    await settle(world)
    await world.moment(11)
    await world.declare(declared())
    again = world.job("x-1")
    assert (again.suspended, again.deliveries, again.token) == (False, 2, first + 1)
    assert (await world.page()).fairness == fairness(0, {"alice": 1})
    assert world.api.written[-1].charged == "0"


async def test_a_pod_that_started_meanwhile_keeps_the_lease(world: World, replica: Replica) -> None:
    await world.moment(50)
    run(world)
    await world.moment(3600)
    assert world.api.stops == []


async def test_a_start_that_no_watch_has_shown_yet_keeps_the_lease(
    world: World, replica: Replica
) -> None:
    """Only a consistent read at the moment of the write says what there is."""
    replica.cluster.deaf |= {"saw_pod"}
    run(world)
    await world.moment(3600)
    assert world.api.stops == []


async def test_a_job_on_a_node_that_falls_silent_is_put_back_and_its_old_pod_takes_no_slot(
    world: World, replica: Replica
) -> None:
    run(world)
    await world.moment(10)
    world.api.node("node-1", silent=True)
    await world.moment(59)
    assert world.api.stops == []
    await world.moment(1.1)
    assert world.api.stops == ["x-1"]
    await settle(world)
    assert world.started() == ["x-2"]
    assert "from where its pods run: node-1" in replica.notices.of(Reason.LEASE_LAPSED)[0].sentence


async def test_a_node_that_is_gone_is_silent(world: World, replica: Replica) -> None:
    run(world)
    await world.moment(10)
    world.api.drop_node("node-1")
    await world.moment(61)
    assert world.api.stops == ["x-1"]


async def test_a_node_that_comes_back_in_time_keeps_the_lease(
    world: World, replica: Replica
) -> None:
    run(world)
    for _ in range(10):
        world.api.node("node-1", silent=True)
        await world.moment(50)
        world.api.node("node-1")
        await world.moment(1)
    assert world.api.stops == []


async def test_a_node_that_is_back_before_the_watch_says_so_keeps_the_lease(
    world: World, replica: Replica
) -> None:
    run(world)
    world.api.node("node-1", silent=True)
    await world.moment(10)
    replica.cluster.deaf |= {"saw_node"}
    world.api.node("node-1")
    await world.moment(3600)
    assert world.api.stops == []
    replica.cluster.deaf.clear()
    await world.moment(3600)
    assert world.api.stops == []


async def test_a_new_leader_counts_silence_from_its_own_observation(
    world: World, replica: Replica
) -> None:
    run(world)
    world.api.node("node-1", silent=True)
    await world.moment(50)
    await replica.crash()
    await world.replica()
    await world.moment(50)
    assert world.api.stops == []
    await world.moment(10)
    assert world.api.stops == ["x-1"]


async def test_a_follower_has_counted_along_when_it_takes_over(
    world: World, replica: Replica
) -> None:
    follower = await world.replica(leads=False)
    run(world)
    world.api.node("node-1", silent=True)
    await world.moment(50)
    await replica.crash()
    follower.leadership.lead()
    await world.moment(11)
    assert world.api.stops == ["x-1"]


async def test_a_lease_that_lapses_while_nobody_leads_is_ended_by_who_leads_next(
    world: World, replica: Replica
) -> None:
    replica.leadership.follow()
    await world.moment(300)
    assert world.api.stops == []
    replica.leadership.lead()
    await world.moment()
    assert world.api.stops == ["x-1"]


async def test_what_lay_on_a_silent_node_at_a_restart_frees_its_slot_in_the_end(
    world: World,
) -> None:
    """The Job was put back before; nothing but the silence is left to be seen."""
    world.catalog = declared()
    world.api.create(
        job_seen("x-1", token=5, granted_pool="pool", deliveries=1, held=True), job_seen("x-2")
    )
    world.api.node("node-1", silent=True)
    run(world, started=True)
    await world.replica()
    await world.moment(59)
    assert world.started() == []
    await world.moment(1.5)
    assert world.started() == ["x-2"]


async def test_pods_that_a_deleted_job_left_on_a_silent_node_free_its_slot(
    world: World, replica: Replica
) -> None:
    run(world)
    await world.moment()
    world.api.node("node-1", silent=True)
    world.api.delete("x-1")
    await world.moment(59)
    assert world.started() == []
    await world.moment(1.5)
    assert world.started() == ["x-2"]


async def test_what_was_freed_of_a_deleted_job_is_not_taken_again_until_its_node_is_back(
    world: World, replica: Replica
) -> None:
    run(world)
    world.api.node("node-1", silent=True)
    world.api.delete("x-1")
    await world.moment(61)
    assert world.started() == ["x-2"]
    book = replica.engine.registry.desks()[0].book
    replica.engine.saw_pod(world.api.pods["x-1-a"])
    assert (book.running, book.lease("x-1")) == (1, None)
    await world.moment()
    replica.engine.saw_pod(world.api.pods["x-1-a"])
    assert (book.running, book.lease("x-1")) == (1, None)
    world.api.node("node-1")
    await world.moment()
    assert book.running == 2
    world.api.node("node-1", silent=True)
    await world.moment(61)
    world.api.remove("x-1-a")
    await world.moment()
    assert book.lease("x-1") is None
    assert vars(replica.engine.intake)["_proved"] == {}


async def test_a_silent_node_that_is_read_alive_keeps_the_slot_of_a_deleted_job(
    world: World, replica: Replica
) -> None:
    run(world)
    world.api.node("node-1", silent=True)
    await world.moment()
    replica.cluster.deaf |= {"saw_node"}
    world.api.node("node-1")
    world.api.delete("x-1")
    await world.moment(600)
    assert replica.engine.registry.desks()[0].book.lease("x-1") is not None
    assert world.job("x-2").suspended


async def test_a_job_put_back_from_a_silent_node_ends_by_its_new_pods(
    world: World, replica: Replica
) -> None:
    world.api.change("x-1", completions=1)
    run(world)
    world.api.node("node-1", silent=True)
    await world.moment(61)
    world.api.change("x-2", held=True)
    await settle(world)
    await world.moment(11)
    assert world.started() == ["x-1"]
    world.api.node("node-2")
    world.api.change("x-2", held=False)
    run(world, name="x-1-b", node="node-2", phase="Succeeded")
    await world.moment(30)
    assert world.api.stops == ["x-1"]
    assert not world.job("x-2").suspended


@pytest.mark.parametrize("reason", ["EnforcementOff", "PolicyMissing", "NotRead"])
async def test_without_enforcement_nobody_is_put_back(
    world: World, replica: Replica, reason: str
) -> None:
    await world.enforce(Enforcement(reason, "why"))
    await world.moment(600)
    assert world.api.stops == []
    await world.enforce(IN_FORCE)
    assert world.api.stops == ["x-1"]


async def test_a_refused_suspension_is_tried_again(world: World, replica: Replica) -> None:
    world.api.denied["x-1"] = "a webhook says no"
    await world.moment(61)
    assert world.api.stops
    assert replica.notices.of(Reason.LEASE_LAPSED) == []
    [notice] = {(n.sentence, n.key) for n in replica.notices.of(Reason.LEASE_HELD)}
    assert "since the API server refuses to suspend it (a webhook says no)" in notice[0]
    world.api.denied.clear()
    await world.moment(120)
    assert world.job("x-1").suspended
    assert len(replica.notices.of(Reason.LEASE_LAPSED)) == 1


async def test_a_job_that_is_gone_when_its_read_is_answered_holds_no_slot(
    world: World, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watch was faster: no list would ever remove it again."""
    look = replica.cluster.look

    async def late(namespace: str, name: str) -> JobSeen | None:
        answer = await look(namespace, name)
        if "x-1" in world.api.jobs:
            world.api.delete("x-1")
            await asyncio.sleep(0.05)
        return answer

    monkeypatch.setattr(replica.cluster, "look", late)
    await world.moment(62)
    assert replica.engine.census.job("x-1") is None
    assert world.started() == ["x-2"]


@pytest.mark.parametrize("lost", ["before", "after"])
async def test_a_suspension_without_an_answer_is_read_back(
    world: World, replica: Replica, lost: str
) -> None:
    world.api.lose.append(lost)
    await world.moment(70)
    assert (world.job("x-1").suspended, world.job("x-1").deliveries) == (True, 1)
    assert len(world.api.stops) == 1
    assert len(replica.notices.of(Reason.LEASE_LAPSED)) == 1


async def test_a_job_that_does_not_name_its_pool_has_the_terms_of_the_one_that_holds_its_slot(
    world: World, replica: Replica
) -> None:
    world.api.change("x-1", granted_pool=None)
    await world.moment(61)
    assert world.api.stops == ["x-1"]
    [notice] = replica.notices.of(Reason.LEASE_LAPSED)
    assert notice.sentence.startswith("its lease of pool pool has lapsed")


async def test_longer_terms_count_at_once(world: World, replica: Replica) -> None:
    await world.moment(50)
    await world.declare(declared(start_within=600_000))
    await world.moment(500)
    assert world.api.stops == []
    await world.moment(100)
    assert world.api.stops == ["x-1"]


async def test_shorter_terms_count_at_once(world: World, replica: Replica) -> None:
    await world.moment(50)
    await world.declare(declared(start_within=10_000))
    assert world.api.stops == ["x-1"]


async def test_a_pool_that_holds_suspends_nobody_and_says_why(world: World) -> None:
    world.catalog = declared(on_lapse=OnLapse.HOLD)
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    world.api.node("node-1")
    replica = await world.replica()
    run(world)
    world.api.node("node-1", silent=True)
    await world.moment(600)
    assert (world.api.stops, world.started()) == ([], ["x-1"])
    [notice] = replica.notices.of(Reason.LEASE_HELD)
    assert notice.warning
    assert "keeps its slot, since the Pool's spec.lease.onLapse is Hold" in notice.sentence
    _, conditions = replica.notices.pools["pool"]
    [shown] = [one for one in conditions if one.kind == "LeaseLapsed"]
    assert (shown.true, shown.reason) == (True, "Held")
    assert "team/x-1 (no sign of life for 60s" in shown.message


async def test_a_held_slot_is_free_when_the_node_is_back_and_says_so(world: World) -> None:
    world.catalog = declared(on_lapse=OnLapse.HOLD)
    world.api.create(job_seen("x-1", completions=1), job_seen("x-2"))
    world.api.node("node-1", silent=True)
    replica = await world.replica()
    run(world)
    await world.moment(600)
    world.api.node("node-1")
    await world.moment(2)
    kinds = [one.kind for one in replica.notices.pools["pool"][1]]
    assert "LeaseLapsed" not in kinds
    run(world, phase="Succeeded")
    await world.moment()
    assert not world.job("x-2").suspended


async def test_a_held_slot_is_free_when_an_administrator_has_the_pods_removed(
    world: World,
) -> None:
    """By the taint out-of-service, a deleted Node, or a forced deletion."""
    world.catalog = declared(on_lapse=OnLapse.HOLD)
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    world.api.node("node-1", silent=True)
    await world.replica()
    run(world)
    await world.moment(600)
    world.api.change("x-1", deleting=True)
    await world.moment(60)
    assert world.started() == ["x-1"]
    world.api.remove("x-1-a")
    await world.moment()
    assert not world.job("x-2").suspended


async def test_a_pool_that_redelivers_from_now_on_puts_back_what_it_held(world: World) -> None:
    world.catalog = declared(on_lapse=OnLapse.HOLD)
    world.api.create(job_seen("x-1"))
    await world.replica()
    await world.moment(600)
    assert world.api.stops == []
    await world.declare(declared())
    assert world.api.stops == ["x-1"]


async def test_without_a_pool_whose_terms_are_understood_nobody_is_suspended(
    world: World, replica: Replica
) -> None:
    await world.declare(catalog(pool(fault="written for a later version"), jobs(1)))
    await world.moment(600)
    await world.declare(catalog(pool("other")))
    await world.moment(600)
    assert world.api.stops == []
    await world.declare(declared())
    assert world.api.stops == ["x-1"]


async def test_nothing_is_looked_at_without_need(world: World, replica: Replica) -> None:
    """Nothing is kept of Jobs that ended or never ran, and no alarm of one that has started."""
    run(world)
    world.api.create(*[job_seen(f"z-{n}") for n in range(50)])
    await world.moment(5)
    leases, alarms = vars(replica.engine.leases), vars(vars(replica.engine)["_alarms"])
    assert (list(leases["_watched"]), list(alarms["_moments"])) == (["x-1"], [])
    assert replica.engine.census.placed_on("node-1") == {"x-1"}
    world.api.change("x-1", ended=True)
    world.api.remove("x-1-a")
    await world.moment()
    assert vars(replica.engine.census)["_placed"] == {}
    assert (list(leases["_watched"]), list(alarms["_moments"])) == (["x-2"], ["x-2"])
    world.api.delete("x-2")
    await world.moment(5)
    assert (list(leases["_watched"]), list(alarms["_moments"])) == (["z-0"], ["z-0"])
