"""Input that nobody should send and somebody will: what it does is defined."""

import pytest

from kwicket.core import charges, turns
from kwicket.core.decide import decide, next_opening
from kwicket.core.limits import Closed, Jobs, Pods
from kwicket.core.pools import Charging
from kwicket.core.priority import LONGEST_AGE, Age, FairShare, Priority, Trait
from kwicket.core.turns import MOST_IDLE
from support.builders import (
    START,
    book,
    fairness,
    intent,
    jobs,
    limit,
    priority,
    rate,
    rules,
    ticket,
    tickets,
)
from support.rounds import finish, grant, one_by_one, turn

YEAR = 365 * 24 * 3_600_000


def test_factors_of_weight_0_rank_nothing() -> None:
    """First come, first served, whatever the tenants and traits."""
    factors = priority(FairShare(0), Trait("urgent", 0), Age(0))
    late = ticket("late", "bob", traits=(("urgent", 1000),), submitted=START + 1)
    pool = book(waiting=[late, *tickets("alice", 3)], priority=factors)
    assert grant(pool, START + YEAR) == ["alice-1", "alice-2", "alice-3", "late"]


def test_without_any_factor_turns_are_counted_and_decide_nothing() -> None:
    """So that a factor FairShare that comes later knows who had how much."""
    pool = book(waiting=[*tickets("alice", 3), ticket("bob-1", "bob")], priority=priority())
    assert grant(pool) == ["alice-1", "alice-2", "alice-3", "bob-1"]
    assert pool.snapshot().fairness == fairness(2, {"alice": 3, "bob": 3})


def test_a_share_for_a_tenant_that_never_comes_changes_no_turn() -> None:
    waiting = tickets("alice", 4) + tickets("bob", 4)
    plain, shared = book(waiting=waiting), book(waiting=waiting, shares={"nobody": 1000})
    assert one_by_one(plain, 8) == one_by_one(shared, 8) == ["alice", "bob"] * 4


@pytest.mark.parametrize("full_after", [1, LONGEST_AGE])
def test_the_shortest_and_the_longest_full_age_rank_by_submission(full_after: int) -> None:
    """Ages a millisecond or a day apart, and exact over a year; a trait of 0.001 outweighs none
    of a full age."""
    factors = priority(FairShare(0), Age(1_000_000, full_after), Trait("urgent", 1))
    waiting = [
        ticket("young", submitted=START - 1, traits=(("urgent", 0),)),
        ticket("old", submitted=START - 2),
        ticket("oldest", "bob", submitted=START - YEAR),
    ]
    assert grant(book(waiting=waiting, priority=factors)) == ["oldest", "old", "young"]


@pytest.mark.parametrize("full_after", [0, -1, 10 * YEAR])
def test_a_full_age_of_nothing_and_of_ten_years_is_refused(full_after: int) -> None:
    """1 ns is less than a millisecond, which is the least that there is."""
    with pytest.raises(ValueError, match="fullAfter"):
        Priority((Age(1, full_after),))


def test_a_clock_that_steps_back_by_ten_years_stops_nothing() -> None:
    """Time stands until the clock is there again; Jobs go on starting."""
    pool = book(rate(1, 1000), jobs(9), waiting=tickets("alice", 5), charging=Charging.TIME)
    [first] = turn(pool, START + 10 * YEAR)
    assert (first.at, grant(pool, START)) == (START + 10 * YEAR, [])
    pool.forget("alice-1", START)
    pool.declare(rules(jobs(9), charging=Charging.TIME))
    [second, *_] = turn(pool, START)
    assert (second.at, second.charge) == (START + 10 * YEAR, 1000)
    assert pool.snapshot().last_grant == START + 10 * YEAR


def test_the_same_job_added_twice_is_one_job() -> None:
    pool = book(waiting=[ticket("x-1"), ticket("x-1")])
    assert (pool.waiting, dict(pool.line())) == (1, {"alice": 1})
    assert (grant(pool), grant(pool)) == (["x-1"], [])
    pool.check()


def test_a_job_that_runs_and_is_added_again_waits_and_has_given_up_its_slot() -> None:
    pool = book(jobs(1), waiting=[ticket("x-1")])
    assert grant(pool) == ["x-1"]
    pool.submit(ticket("x-1", deliveries=1))
    assert (pool.waiting, pool.running) == (1, 0)
    assert grant(pool) == ["x-1"]


def test_what_nobody_knows_may_be_forgotten_acknowledged_and_given_back() -> None:
    pool = book(jobs(1), waiting=tickets("alice", 2))
    turn(pool)
    before = pool.snapshot()
    pool.forget("nobody", START)
    pool.acknowledge(10**15)
    pool.give_back(intent("nobody", token=10**15))
    pool.give_back(intent("alice-1", token=2))
    assert pool.snapshot() == before
    assert (pool.waiting, pool.running) == (1, 1)
    pool.check()


@pytest.mark.parametrize("bound", [Jobs(0), Pods(0), Closed("?")], ids=str)
@pytest.mark.parametrize("each", [True, False], ids=["each", "together"])
def test_a_limit_that_becomes_0_lets_nothing_start_and_what_runs_run(
    bound: Jobs | Pods | Closed, each: bool
) -> None:
    pool = book(jobs(2), waiting=tickets("alice", 9))
    assert len(grant(pool)) == 2
    pool.declare(rules(limit(bound, each=each)))
    assert (grant(pool), pool.running, next_opening(pool, START)) == ([], 2, None)
    finish(pool)
    assert grant(pool) == []
    pool.declare(rules(jobs(1)))
    assert grant(pool) == ["alice-3"]


def test_ten_thousand_tenants_of_one_job_each() -> None:
    """Each gets its turn in the order of submission; afterwards no more are known than are kept."""
    count = 10_000
    waiting = [ticket(f"x-{n}", f"tenant-{n}", submitted=START + n) for n in range(count)]
    pool = book(jobs(100), waiting=waiting[::-1])
    order = []
    for _ in range(count // 100):
        for _ in range(7):
            order += grant(pool, START + count)
        finish(pool)
    assert order == [f"x-{n}" for n in range(count)]
    assert (pool.waiting, pool.running) == (0, 0)
    assert len(pool.snapshot().fairness.tags) == MOST_IDLE


def test_of_too_many_idle_tenants_those_with_the_lowest_tags_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And of equal ones that with the smaller name. Who waits or runs is not idle."""
    monkeypatch.setattr(turns, "MOST_IDLE", 2)
    waiting = [one for tenant in "abcdef" for one in tickets(tenant, 1)]
    pool = book(jobs(6), waiting=[*waiting, ticket("a-2", "a", held=True)], shares={"e": 2})
    assert len(grant(pool)) == 6
    finish(pool, "b-1", "c-1", "d-1", "e-1")
    assert pool.snapshot().fairness.tags.keys() == {"a", "c", "d", "f"}


def test_of_too_many_idle_tenants_the_mean_learned_longest_ago_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(charges, "MOST_MEANS", 2)
    pool = book(charging=Charging.TIME, waiting=[ticket("a-2", "a", held=True)])
    for tenant in "abcdb":
        pool.submit(ticket("x", tenant))
        grant(pool)
        pool.forget("x", START + 5000)
    assert list(pool.snapshot().means) == ["a", "d", "b"]


def test_one_tenant_of_a_hundred_thousand_jobs_keeps_nobody_waiting() -> None:
    pool = book(jobs(2), waiting=tickets("flood", 100_000))
    assert one_by_one(pool, 2) == ["flood", "flood"]
    pool.submit(ticket("late", "bob", submitted=START + 1))
    assert one_by_one(pool, 1) == ["bob"]
    assert len(decide(pool, START).grants) == 2
    assert pool.waiting == 100_000 - 4
