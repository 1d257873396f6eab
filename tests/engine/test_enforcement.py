"""While the policies are not in force nothing is granted, and nothing that runs is touched."""

import pytest

from kwicket.core.pools import Charging
from kwicket.core.reasons import Reason
from kwicket.ports.enforcement import IN_FORCE, NOT_READ, Enforcement
from kwicket.ports.notices import Condition
from support.builders import catalog, job_seen, jobs, pod_seen, pool, rate
from support.fakes import FakeNotices
from support.world import World

OUT = Enforcement("PolicyMissing", "kwicket-guard is missing: run helm upgrade")
OLD = Enforcement("DefinitionsOutdated", "pools.kwicket.dev does not know .spec.paused")
OFF = Enforcement("EnforcementOff", "it is switched off")
SOON = 2.5


def conditions(notices: FakeNotices) -> dict[str, Condition]:
    return {condition.kind: condition for condition in notices.pools["pool"][1]}


@pytest.mark.parametrize("enforcement", [NOT_READ, OUT, OFF, OLD])
async def test_nothing_is_granted_until_the_policies_are_in_force(
    world: World, enforcement: Enforcement
) -> None:
    world.enforcement = enforcement
    world.api.create(job_seen("x-1"))
    await world.replica()
    await world.moment(30)
    assert world.api.orders == []
    assert (await world.page()).intents == ()
    await world.enforce(IN_FORCE)
    assert world.started() == ["x-1"]


async def test_jobs_that_run_go_on_and_no_freed_slot_is_given_away(world: World) -> None:
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    await world.replica()
    await world.enforce(OUT)
    assert world.started() == ["x-1"]
    world.api.change("x-1", ended=True)
    await world.moment(30)
    assert world.started() == []
    await world.enforce(IN_FORCE)
    assert world.started() == ["x-2"]


async def test_a_grant_that_was_committed_waits_and_keeps_its_token(world: World) -> None:
    world.api.reachable.clear()
    world.api.lose.append("before")
    world.api.create(job_seen("x-1"))
    await world.replica()
    [decided] = (await world.page()).intents
    await world.enforce(OUT)
    world.api.reachable.set()
    await world.moment(60)
    assert world.started() == []
    await world.enforce(IN_FORCE)
    assert world.job("x-1").token == decided.lease.token


async def test_what_ends_meanwhile_is_still_kept_in_the_ledger(world: World) -> None:
    world.api.create(job_seen("x-1"))
    await world.replica()
    assert len((await world.page()).intents) == 1
    await world.enforce(OUT)
    await world.moment(SOON)
    assert (await world.page()).intents == ()


async def test_a_rate_that_opens_meanwhile_is_not_waited_for_in_a_hot_loop(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.catalog = catalog(pool(), rate(1, 1000))
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    replica = await world.replica()
    await world.enforce(OUT)
    desk = replica.engine.registry.desk("pool")
    assert desk is not None
    pauses: list[float | None] = []
    woken = desk.woken

    async def noted(pause: float | None) -> bool:
        pauses.append(pause)
        return await woken(pause)

    monkeypatch.setattr(desk, "woken", noted)
    await world.moment(60)
    assert len(pauses) < 10


async def test_a_grant_whose_job_is_being_read_when_they_go_is_held_back_too(
    world: World,
) -> None:
    world.api.lose.extend(["before", "before"])
    world.api.create(job_seen("x-1"))
    await world.replica()
    world.api.latency = 1
    await world.moment(0.5)
    await world.enforce(OUT)
    await world.moment(5)
    assert world.started() == []


async def test_grants_that_are_held_back_keep_no_pool_from_writing_its_ledger(
    world: World,
) -> None:
    world.catalog = catalog(pool(charging=Charging.TIME), jobs(100))
    world.api.create(job_seen("first"))
    await world.replica()
    world.api.lose.extend(["before"] * 50)
    world.api.create(*[job_seen(f"x-{n}") for n in range(50)])
    await world.moment(0.05)
    await world.enforce(OUT)
    world.api.lose.clear()
    world.api.change("first", ended=True)
    await world.moment(SOON)
    assert world.job("first").token not in {charge.token for charge in (await world.page()).charges}
    await world.enforce(IN_FORCE)
    await world.moment(SOON)
    assert len(world.started()) == 50


async def test_every_pool_says_what_is_missing_and_what_to_do(world: World) -> None:
    replica = await world.replica()
    await world.moment(SOON)
    assert not conditions(replica.notices)["PolicyMissing"].true
    assert conditions(replica.notices)["Ready"].reason == "Serving"
    await world.enforce(OUT)
    await world.moment(SOON)
    for kind, true in (("PolicyMissing", True), ("Ready", False)):
        condition = conditions(replica.notices)[kind]
        assert condition == Condition(kind, true, "PolicyMissing", OUT.message)
    await world.enforce(IN_FORCE)
    await world.moment(SOON)
    assert conditions(replica.notices)["Ready"].true


async def test_of_definitions_that_are_too_old_it_does_not_blame_the_policies(
    world: World,
) -> None:
    replica = await world.replica()
    await world.enforce(OLD)
    await world.moment(SOON)
    told = conditions(replica.notices)
    assert not told["PolicyMissing"].true
    assert told["Ready"] == Condition("Ready", False, "DefinitionsOutdated", OLD.message)


async def test_a_job_that_waits_is_told_so(world: World) -> None:
    world.enforcement = OUT
    world.api.create(job_seen("x-1"))
    replica = await world.replica()
    await world.moment(SOON)
    [queued] = replica.notices.of(Reason.QUEUED)
    assert queued.sentence.endswith(f"are not in force: {OUT.message}")


async def test_a_lost_job_still_frees_its_slot(world: World) -> None:
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    await world.replica()
    world.api.run(pod_seen("x-1", token=world.job("x-1").token, pool="pool"))
    await world.enforce(OUT)
    world.api.run(pod_seen("x-1", phase="Failed"))
    world.api.delete("x-1")
    await world.moment()
    await world.enforce(IN_FORCE)
    assert world.started() == ["x-2"]
