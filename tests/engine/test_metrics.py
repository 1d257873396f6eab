"""What is counted is what has happened, and what is shown is how it stands; tenants are nowhere."""

import pytest

from kwicket.core.leases import pause
from kwicket.core.limits import Closed
from kwicket.core.pools import Lane
from kwicket.core.reasons import Reason
from kwicket.kube.metrics.catalogue import OPERATOR
from kwicket.ports.enforcement import IN_FORCE, Enforcement
from support.builders import catalog, job_seen, jobs, limit, pods, pool, rate
from support.fakes import FlakyLedger
from support.world import Replica, World

HOUR = 3_600_000
OFF = Enforcement("EnforcementOff", "it is switched off")


def grants(replica: Replica, lane: str = "") -> float:
    return replica.number("kwicket_grants_total", pool="pool", lane=lane) or 0


def writes(replica: Replica, outcome: str) -> float:
    return replica.number("kwicket_ledger_writes_total", pool="pool", outcome=outcome) or 0


def used(replica: Replica, name: str, unit: str, lane: str = "") -> tuple[float | None, ...]:
    """What is used of a limit, and what it admits."""
    labels = {"pool": "pool", "lane": lane, "limit": name, "unit": unit}
    metrics = ("kwicket_limit_used", "kwicket_limit_max")
    return tuple(replica.number(metric, **labels) for metric in metrics)


def in_lane(replica: Replica, metric: str, lane: str = "") -> float | None:
    return replica.number(metric, pool="pool", lane=lane)


def series(replica: Replica) -> int:
    return sum(len(family.samples) for family in replica.registry.collect())


async def test_each_grant_counts_once_by_its_lane_with_the_time_it_waited(world: World) -> None:
    world.catalog = catalog(pool(), Lane("gpu", "pool"), jobs(2))
    world.api.create(job_seen("x-1"), job_seen("x-2", pool=None, lane="gpu"), job_seen("x-3"))
    replica = await world.replica()
    assert (grants(replica), grants(replica, "gpu")) == (1, 1)
    await world.moment(20)
    world.api.change("x-1", ended=True)
    await world.moment()
    assert len(world.api.written) == grants(replica) + grants(replica, "gpu") == 3
    waits = "kwicket_grant_wait_seconds"
    assert replica.number(f"{waits}_count", pool="pool") == 3
    assert 20 < (replica.number(f"{waits}_sum", pool="pool") or 0) < 22
    assert replica.number(f"{waits}_bucket", pool="pool", le="16.0") == 2
    assert replica.number(f"{waits}_bucket", pool="pool", le="32.0") == 3


async def test_a_job_that_is_put_back_counts_again_but_has_no_second_wait(world: World) -> None:
    world.api.create(job_seen("x-1", token=5, granted_pool="pool", deliveries=1))
    replica = await world.replica()
    await world.moment(pause(1))
    assert world.started() == ["x-1"]
    assert grants(replica) == 1
    assert replica.number("kwicket_grant_wait_seconds_count", pool="pool") is None


async def test_what_never_reached_its_job_was_granted_and_given_back(world: World) -> None:
    world.api.denied["x-1"] = "a webhook says no"
    world.api.create(job_seen("x-1"))
    replica = await world.replica()
    assert grants(replica) == 1
    assert replica.number("kwicket_grants_given_back_total", pool="pool") == 1
    assert replica.number("kwicket_set_aside_jobs", reason="Denied") == 1


@pytest.mark.parametrize("fate", ["before", "after"])
async def test_a_grant_counts_once_though_its_commit_had_no_answer(world: World, fate: str) -> None:
    ledger = FlakyLedger(world.ledger)
    replica = await world.replica(ledger)
    ledger.lose.append(fate)
    world.api.create(job_seen("x-1"))
    await world.until(lambda: world.started() == ["x-1"])
    await world.moment(5)
    assert grants(replica) == 1
    assert writes(replica, "unanswered") == 1


async def test_a_conflict_counts_as_one_and_its_decision_as_no_grant(world: World) -> None:
    ledger = FlakyLedger(world.ledger)
    replica = await world.replica(ledger)
    page = await world.ledger.read("pool")
    assert page is not None
    await world.ledger.commit(page, page.state)
    before = writes(replica, "written")
    world.api.create(job_seen("x-1"))
    await world.until(lambda: world.started() == ["x-1"])
    assert (writes(replica, "conflict"), grants(replica)) == (1, 1)
    assert writes(replica, "written") == before + 1
    total = sum(writes(replica, outcome) for outcome in ("written", "conflict", "unanswered"))
    assert total == replica.number("kwicket_ledger_write_seconds_count") == ledger.commits


async def test_decisions_are_timed_while_anything_is_decided(world: World) -> None:
    world.enforcement = OFF
    replica = await world.replica()
    world.api.create(job_seen("x-1"))
    await world.moment()
    assert replica.number("kwicket_decision_seconds_count") == 0
    await world.enforce(IN_FORCE)
    assert (replica.number("kwicket_decision_seconds_count") or 0) >= 1


async def test_a_pool_shows_who_waits_and_who_runs_by_lane(world: World) -> None:
    world.catalog = catalog(pool(), Lane("gpu", "pool"), Lane("idle", "pool"), jobs(1))
    await world.moment(40)
    world.api.create(
        job_seen("held", "dave", held=True),
        job_seen("a-1", created=world.clock.now() - 3000),
        job_seen("b-1", "bob", pool=None, lane="gpu", created=world.clock.now() - 2000),
        job_seen("b-2", "bob", pool=None, lane="gpu", created=world.clock.now()),
    )
    replica = await world.replica()
    lanes = ("", "gpu", "idle")
    assert [in_lane(replica, "kwicket_waiting_jobs", lane) for lane in lanes] == [1, 2, 0]
    assert [in_lane(replica, "kwicket_running_jobs", lane) for lane in lanes] == [1, 0, 0]
    assert replica.number("kwicket_waiting_tenants", pool="pool") == 2
    oldest = replica.number("kwicket_oldest_wait_seconds", pool="pool")
    assert oldest == pytest.approx(2.2, abs=0.05)


async def test_limits_show_what_they_admit_and_what_is_used_of_them(world: World) -> None:
    world.catalog = catalog(
        *(pool(), Lane("gpu", "pool"), jobs(9, name="j"), pods(8, name="p")),
        *(rate(7, HOUR, "gpu", name="r"), jobs(6, each=True, name="each")),
    )
    world.api.create(job_seen("x-1", parallelism=3, completions=3), job_seen("x-2", lane="gpu"))
    replica = await world.replica()
    assert world.started() == ["x-1", "x-2"]
    assert used(replica, "j", "jobs") == (2, 9)
    assert used(replica, "p", "pods") == (4, 8)
    assert used(replica, "r", "starts", "gpu") == (1, 7)
    assert used(replica, "each", "jobs") == (None, 6)
    world.api.change("x-1", ended=True)
    world.api.change("x-2", ended=True)
    await world.moment()
    assert [used(replica, name, unit)[0] for name, unit in (("j", "jobs"), ("p", "pods"))] == [0, 0]
    assert used(replica, "r", "starts", "gpu") == (1, 7)
    await world.moment(3601)
    assert used(replica, "r", "starts", "gpu") == (0, 7)


async def test_a_limit_that_is_not_understood_shows_nothing(world: World) -> None:
    world.catalog = catalog(pool(), limit(Closed("newer"), name="x"))
    replica = await world.replica()
    shown = [s for f in replica.registry.collect() if "limit" in f.name for s in f.samples]
    assert shown == []


async def test_jobs_in_no_line_count_by_reason_until_they_are_mended(world: World) -> None:
    world.api.create(job_seen("x-1", pool="nowhere"), job_seen("x-2", pool="nowhere"))
    replica = await world.replica()
    assert replica.number("kwicket_set_aside_jobs", reason=Reason.UNKNOWN_POOL) == 2
    world.api.delete("x-1")
    await world.declare(catalog(pool(), pool("nowhere"), jobs(1)))
    assert replica.number("kwicket_set_aside_jobs", reason=Reason.UNKNOWN_POOL) is None


async def test_a_job_that_somebody_else_has_granted_counts_as_set_aside_no_more(
    world: World,
) -> None:
    world.api.create(job_seen("x-1", traits=(("urgent", "very"),)))
    replica = await world.replica()
    assert replica.number("kwicket_set_aside_jobs", reason=Reason.BAD_TRAIT) == 1
    token = (await world.page()).version
    granted = {"suspended": False, "token": token, "granted_pool": "pool", "deliveries": 1}
    world.api.change("x-1", traits=(), **granted)
    await world.moment()
    assert world.started() == ["x-1"]
    assert replica.number("kwicket_set_aside_jobs", reason=Reason.BAD_TRAIT) is None


async def test_without_policies_or_ledger_it_says_so(world: World) -> None:
    ledger = FlakyLedger(world.ledger)
    replica = await world.replica(ledger)
    assert replica.number("kwicket_policies_in_force") == 1
    assert replica.number("kwicket_ledger_up", pool="pool") == 1
    ledger.down = True
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    await world.moment(5)
    assert replica.number("kwicket_ledger_up", pool="pool") == 0
    assert in_lane(replica, "kwicket_waiting_jobs") == 1
    await world.enforce(OFF)
    assert replica.number("kwicket_policies_in_force") == 0


async def test_only_the_leader_shows_pools_so_that_sums_are_right(world: World) -> None:
    world.api.create(job_seen("x-1"), job_seen("x-2"), job_seen("lost", pool="nowhere"))
    follower, leader = await world.replica(leads=False), await world.replica()
    replicas = (follower, leader)
    assert [one.number("kwicket_leader") for one in replicas] == [0, 1]
    assert [one.number("kwicket_policies_in_force") for one in replicas] == [1, 1]
    assert [in_lane(one, "kwicket_running_jobs") for one in replicas] == [None, 1]
    lost = [one.number("kwicket_set_aside_jobs", reason="UnknownPool") for one in replicas]
    assert lost == [None, 1]


async def test_a_pool_that_is_gone_is_shown_no_more(world: World) -> None:
    replica = await world.replica()
    assert in_lane(replica, "kwicket_waiting_jobs") == 0
    await world.declare(catalog())
    assert in_lane(replica, "kwicket_waiting_jobs") is None


async def test_no_word_of_a_tenant_makes_a_series(world: World) -> None:
    """T20: ten thousand names, in every place that a tenant can write, leave no trace."""
    world.catalog = catalog(pool(), Lane("gpu", "pool"), jobs(0), jobs(0, each=True))
    replica = await world.replica()
    world.api.create(job_seen("first", pool="nowhere"), job_seen("second", traits=(("x", "y"),)))
    await world.moment()
    before = series(replica)
    for number in range(2000):
        name = f'evil{number}"\n\x1b[31m'
        world.api.create(
            job_seen(f"a-{number}", name),
            job_seen(f"b-{number}", pool=name, created=number),
            job_seen(f"c-{number}", traits=((name, name),)),
            job_seen(f"d-{number}", lane=name, suspended=False, token=7, granted_pool="pool"),
        )
    await world.moment(5)
    assert in_lane(replica, "kwicket_running_jobs") == 2000
    assert in_lane(replica, "kwicket_waiting_jobs") == 2000
    assert series(replica) == before
    shown = {s for f in replica.registry.collect() for m in f.samples for s in m.labels.values()}
    assert not any("evil" in text for text in shown)


async def test_what_is_shown_is_what_the_catalogue_says(world: World) -> None:
    world.api.create(job_seen("x-1"), job_seen("x-2", pool="nowhere"))
    replica = await world.replica()
    families = {family.name: family for family in replica.registry.collect()}
    expected = {metric.name.removesuffix("_total"): metric for metric in OPERATOR}
    assert families.keys() == expected.keys()
    for name, metric in expected.items():
        family = families[name]
        assert (family.type, family.documentation) == (metric.kind, metric.says)
        labels = {tuple(sample.labels.keys() - {"le"}) for sample in family.samples}
        assert labels <= {tuple(frozenset(metric.labels))} or name == "kwicket_grants_given_back"
