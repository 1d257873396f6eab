"""Whoever starts, takes over or is contradicted reads everything before it decides anything."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from kwicket.core.jobs import JobSeen, PodSeen
from kwicket.core.leases import pause
from kwicket.core.pools import Charging
from kwicket.core.release import Standing
from kwicket.core.state import State
from kwicket.engine.leases import Leases
from kwicket.ports.ledger import Page
from support.builders import (
    START,
    catalog,
    fairness,
    intent,
    job_seen,
    jobs,
    pod_seen,
    pods,
    pool,
    rate,
)
from support.fakes import FlakyLedger
from support.world import World

RUNNING: dict[str, Any] = {"suspended": False, "granted_pool": "pool", "deliveries": 1}


async def test_a_grant_that_was_committed_only_is_applied_with_its_token(world: World) -> None:
    world.api.reachable.clear()
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    first = await world.replica()
    [decided] = (await world.page()).intents
    await first.crash()
    world.api.reachable.set()
    await world.replica()
    assert world.started() == ["x-1"]
    assert world.job("x-1").token == decided.lease.token == (await world.page()).version


async def test_a_grant_that_was_applied_only_is_acknowledged_and_not_sent_again(
    world: World,
) -> None:
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    first = await world.replica()
    assert [i.lease.uid for i in (await world.page()).intents] == ["x-1"]
    await first.crash()
    await world.replica()
    await world.moment(2)
    assert world.started() == ["x-1"]
    assert len(world.api.orders) == 1
    assert (await world.page()).intents == ()


async def test_a_grant_whose_job_has_ended_meanwhile_is_acknowledged(world: World) -> None:
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    first = await world.replica()
    await first.crash()
    world.api.change("x-1", ended=True)
    await world.replica()
    assert world.started() == ["x-2"]
    assert (await world.page()).fairness == fairness(1, {"alice": 2})


async def crash_before_the_write_and_lose_the_job(world: World) -> None:
    """x-1 is granted and its start not written; then it is deleted, and x-2 waits on."""
    world.api.reachable.clear()
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    first = await world.replica()
    await first.crash()
    world.api.delete("x-1")
    world.api.reachable.set()


async def test_a_grant_whose_job_is_gone_after_a_restart_frees_its_slot_and_stays_charged(
    world: World,
) -> None:
    """It may have run: nobody knows any more whether the start had reached the Job."""
    await crash_before_the_write_and_lose_the_job(world)
    await world.replica()
    assert world.started() == ["x-2"]
    assert (await world.page()).fairness == fairness(1, {"alice": 2})


async def test_a_start_whose_job_is_gone_after_a_restart_still_counts_in_a_rate(
    world: World,
) -> None:
    world.catalog = catalog(pool(), rate(1, 60_000))
    await crash_before_the_write_and_lose_the_job(world)
    await world.replica()
    await world.moment(5)
    assert world.started() == []


async def test_jobs_that_run_hold_their_slots_through_a_restart(world: World) -> None:
    world.api.create(job_seen("r-1", token=5, **RUNNING), job_seen("x-1"))
    await world.replica()
    assert world.started() == ["r-1"]


async def test_of_jobs_that_say_that_they_have_ended_nothing_else_is_asked(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be very many of them, and all are looked at in one go."""
    world.catalog = catalog(pool(charging=Charging.TIME), jobs(1))
    world.api.create(job_seen("x-1"))
    await (await world.replica()).crash()
    over: dict[str, Any] = {"suspended": False, "ended": True, "granted_pool": "pool"}
    world.api.create(*(job_seen(f"e-{n}", token=n, **over) for n in range(1, 9)))
    judged: list[str] = []
    judge = Leases.judge

    def noted(leases: Leases, job: JobSeen | None, uid: str, pods: Sequence[PodSeen]) -> Standing:
        judged.append(uid)
        return judge(leases, job, uid, pods)

    monkeypatch.setattr(Leases, "judge", noted)
    await world.replica()
    assert judged == ["x-1"]


def three_pods() -> list[PodSeen]:
    """Of x-1."""
    return [pod_seen("x-1", f"x-1-{n}", token=7, pool="pool") for n in range(3)]


async def test_pods_that_are_seen_before_their_job_count_as_wide_as_it(world: World) -> None:
    """Jobs and pods are listed side by side, and pods may come first, one after the other."""
    world.catalog = catalog(pool(), pods(4))
    replica = await world.replica()
    for pod in three_pods():
        replica.engine.saw_pod(pod)
    world.api.create(job_seen("x-1", token=7, parallelism=3, completions=3, **RUNNING))
    world.api.create(job_seen("x-2", parallelism=2, completions=2))
    await world.moment()
    assert world.started() == ["x-1"]


async def test_all_pods_that_a_vanished_job_left_are_counted(world: World) -> None:
    world.catalog = catalog(pool(), pods(4))
    world.api.run(*three_pods())
    world.api.create(job_seen("x-2", parallelism=2, completions=2))
    await world.replica()
    assert world.started() == []


async def test_a_proof_that_comes_late_does_not_put_a_granted_job_in_line(world: World) -> None:
    """It was put back, granted again, and its start not written when the operator died."""
    world.api.reachable.clear()
    world.api.create(job_seen("x-1", token=5, granted_pool="pool", deliveries=1))
    first = await world.replica()
    await world.moment(pause(1) + 1)
    [decided] = (await world.page()).intents
    await first.crash()
    second = await world.replica()
    second.engine.intake.proved("x-1")
    await world.moment(pause(1) + 1)
    assert (await world.page()).intents == (decided,)


async def test_pods_of_a_vanished_job_hold_its_slot_through_a_restart(world: World) -> None:
    world.api.run(pod_seen("gone", token=5, pool="pool"))
    world.api.create(job_seen("x-1"))
    await world.replica()
    assert world.started() == []
    world.api.run(pod_seen("gone", token=5, pool="pool", phase="Failed"))
    await world.moment()
    assert world.started() == ["x-1"]


async def test_nothing_is_granted_before_every_job_is_in_the_book(world: World) -> None:
    """A pool is declared whose Jobs all run; the one that waits is looked at before them."""
    world.api.latency = 0
    world.catalog = catalog()
    running = [job_seen(f"r-{n}", token=n + 1, **RUNNING) for n in range(400)]
    world.api.create(job_seen("a-1"), *running)
    await world.replica()
    await world.declare(catalog(pool(), jobs(400)))
    assert world.job("a-1").suspended


async def test_a_pool_declared_anew_counts_the_jobs_that_it_had_started(world: World) -> None:
    world.api.latency = 0
    world.catalog = catalog(pool(), jobs(1))
    world.api.create(job_seen("r-1"), job_seen("x-1"))
    await world.replica()
    declared = world.catalog
    await world.declare(catalog())
    await world.declare(declared)
    assert world.started() == ["r-1"]
    world.api.change("r-1", ended=True)
    await world.moment()
    assert world.started() == ["x-1"]


async def test_a_conflict_makes_it_read_again_and_go_on_above(world: World) -> None:
    """Somebody else has committed: its tokens and its intents are taken over."""
    replica = await world.replica()
    page = await world.ledger.read("pool")
    assert page is not None
    other = intent("x-1", token=page.state.version + 50)
    taken = replace(page.state, version=other.lease.token, intents=(other,))
    assert isinstance(await world.ledger.commit(page, taken), Page)
    relists = replica.cluster.relists
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    await world.moment()
    assert replica.cluster.relists == relists + 1
    assert world.started() == ["x-1"]
    assert world.job("x-1").token == other.lease.token
    world.api.change("x-1", ended=True)
    await world.moment()
    assert world.job("x-2").token == other.lease.token + 1


async def test_a_lost_commit_is_read_back_and_applied_once(world: World) -> None:
    ledger = FlakyLedger(world.ledger)
    await world.replica(ledger)
    ledger.lose.append("after")
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    await world.until(lambda: world.started() == ["x-1"])
    assert ledger.commits == 1
    assert len(world.api.orders) == 1
    assert world.job("x-1").token == (await world.page()).version


async def test_a_commit_that_never_arrived_is_decided_again(world: World) -> None:
    ledger = FlakyLedger(world.ledger)
    await world.replica(ledger)
    ledger.lose.append("before")
    world.api.create(job_seen("x-1"))
    await world.until(lambda: world.started() == ["x-1"])
    assert world.job("x-1").token == (await world.page()).version


async def test_while_the_ledger_is_down_nothing_starts_and_the_pool_says_why(world: World) -> None:
    ledger = FlakyLedger(world.ledger)
    ledger.down = True
    world.api.create(job_seen("x-1"))
    replica = await world.replica(ledger)
    await world.moment(30)
    assert world.started() == []
    _, [ready, *_] = replica.notices.pools["pool"]
    assert (ready.true, ready.reason) == (False, "LedgerUnavailable")
    assert ready.message == "the ledger is down"
    ledger.down = False
    await world.until(lambda: world.started() == ["x-1"])
    await world.moment(2)
    _, [ready, *_] = replica.notices.pools["pool"]
    assert (ready.true, ready.reason) == (True, "Serving")


async def test_a_new_ledger_begins_at_the_milliseconds_since_1970(world: World) -> None:
    await world.replica()
    page = await world.page()
    assert START <= page.version <= world.clock.now()


async def test_a_ledger_made_anew_begins_above_every_token_on_a_job(world: World) -> None:
    world.api.create(job_seen("r-1", token=START * 7, **RUNNING))
    await world.replica()
    assert (await world.page()).version > START * 7


async def test_a_ledger_removed_at_work_gives_no_token_twice(world: World) -> None:
    """The clock is wrong, too: only the Jobs and what the operator knows are above it."""
    world.catalog = catalog(pool(), jobs(9))
    world.api.create(*[job_seen(f"x-{n}") for n in range(3)])
    await world.replica()
    world.ledger.remove("pool")
    world.clock.ahead = -1_000_000
    world.api.create(*[job_seen(f"y-{n}") for n in range(3)])
    await world.moment()
    tokens = [order.token for order in world.api.written]
    assert len(world.started()) == 6
    assert tokens == sorted(set(tokens))


async def test_a_page_that_somebody_made_anew_too_low_gives_no_token_twice(world: World) -> None:
    """And no Job is left that carries the last one. It waits for a word (test_restores.py)."""
    world.api.create(job_seen("x-1"))
    await world.replica()
    last = world.job("x-1").token
    assert last is not None
    world.api.delete("x-1")
    await world.moment(2)
    world.ledger.remove("pool")
    await world.ledger.open("pool", State(5))
    world.api.create(job_seen("x-2"))
    await world.declare(catalog(pool(above=last + 1), jobs(1)))
    assert world.job("x-2").token == last + 2


async def test_a_token_that_was_never_answered_for_is_not_given_by_a_ledger_made_anew(
    world: World,
) -> None:
    """The page that had it was there for a while, for somebody else to read."""
    ledger = FlakyLedger(world.ledger)
    world.catalog = catalog(pool(), jobs(2))
    await world.replica(ledger)
    ledger.lose.append("after")
    ledger.answering.clear()
    world.api.create(job_seen("x-1"), job_seen("x-2"))
    await world.moment()
    lost = {intent.lease.token for intent in (await world.page()).intents}
    world.ledger.remove("pool")
    world.clock.ahead = -1_000_000
    ledger.answering.set()
    await world.until(lambda: len(world.started()) == 2)
    assert len(lost) == 2
    assert {order.token for order in world.api.written}.isdisjoint(lost)


async def test_a_version_behind_a_jobs_token_is_passed_over(world: World) -> None:
    await world.ledger.open("pool", State(5))
    world.api.create(job_seen("r-1", token=900, **RUNNING), job_seen("x-1"))
    world.catalog = catalog(pool(), jobs(2))
    await world.replica()
    assert world.job("x-1").token == 901
