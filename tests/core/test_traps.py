"""Histories that trapped a fast decision before: one each, named after what was wrong."""

import pytest
from msgspec.structs import replace

from kwicket.core import field
from kwicket.core.book import Book
from kwicket.core.decide import decide, next_opening
from kwicket.core.limits import Limit
from kwicket.core.priority import Age, FairShare, Trait
from kwicket.core.state import State
from kwicket.core.tickets import Ticket
from support.builders import START, book, fairness, jobs, priority, rate, rules, ticket, tickets
from support.rounds import finish, grant, one_by_one
from support.seeded import play


def urgent(job: str, tenant: str, thousandths: int, **fields: object) -> Ticket:
    """A Job with trait `urgent`."""
    return ticket(job, tenant, traits=(("urgent", thousandths),), **fields)


def test_housekeeping_at_every_opportunity_changes_no_decision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A list that was rebuilt while a search still held it: rare at the usual thresholds."""
    monkeypatch.setattr(field, "CROWD", 0)
    monkeypatch.setattr(field, "SLACK", 0)
    for seed in range(15):
        play(seed, 60)


def test_a_tenant_above_virtual_time_is_found_where_none_is_at_it() -> None:
    """a has lane l and b lane m; d and c are another tenant's, who is due after each of a's."""
    factors = priority(FairShare(2), Trait("urgent", 1))
    waiting = [
        urgent("a", "A", 1000, lane="l"),
        urgent("b", "A", 900, lane="m"),
        urgent("d", "D", 500),
        urgent("c", "D", 0),
    ]
    pool = book(waiting=waiting, priority=factors)
    assert [grant(pool, most=1)[0] for _ in range(4)] == ["a", "d", "b", "c"]


def test_a_job_that_ripens_while_a_better_one_appears_does_not_hide_it() -> None:
    """old's age became full; young had a trait all along and is better by now."""
    factors = priority(Age(1, 100), Trait("urgent", 1))
    waiting = [ticket("old"), urgent("young", "alice", 500, submitted=START + 60)]
    pool = book(waiting=waiting, priority=factors)
    assert grant(pool, START + 130) == ["young", "old"]


@pytest.mark.parametrize(("after", "first"), [(2, "later"), (4, "now"), (200, "later")])
def test_a_job_from_the_future_has_no_negative_age(after: int, first: str) -> None:
    """Submitted in 5 ms by another clock, with 0.03 of a trait; the other gains 0.01 each ms."""
    factors = priority(Age(1, 100), Trait("urgent", 1))
    later = urgent("later", "alice", 30, submitted=START + 5)
    pool = book(waiting=[ticket("now"), later], priority=factors)
    assert grant(pool, START + after, most=1) == [first]


def test_a_job_that_is_cancelled_and_comes_again_alike() -> None:
    """Two entries of one Job tie to the end: they must be comparable, and the first is dead."""
    one = urgent("x-1", "alice", 500)
    pool = book(waiting=[one, ticket("x-2")])
    for _ in range(3):
        pool.forget("x-1")
        pool.submit(one)
    pool.submit(one)
    pool.check()
    assert grant(pool) == ["x-1", "x-2"]
    assert grant(pool) == []


def test_a_rate_opens_at_the_end_of_its_window_and_is_not_asked_again_at_once() -> None:
    """One in 10 ms, a start at 0, a decision at 10: it starts, and 20 is next."""
    pool = book(rate(1, 10), waiting=tickets("alice", 3))
    assert grant(pool) == ["alice-1"]
    assert next_opening(pool, START) == START + 10
    assert grant(pool, START + 10) == ["alice-2"]
    assert next_opening(pool, START + 10) == START + 20


def test_a_longer_window_counts_the_starts_that_left_the_shorter_one_but_are_kept() -> None:
    pool = book(rate(1, 10), rate(9, 100), waiting=tickets("alice", 9))
    for moment in (0, 10, 20):
        assert len(grant(pool, START + moment)) == 1
    pool.declare(rules(rate(3, 100)))
    assert grant(pool, START + 99) == []
    assert grant(pool, START + 100) == ["alice-4"]


def test_a_rate_that_is_lowered_and_raised_remembers_all_starts_of_its_window() -> None:
    pool = book(rate(5, 100), waiting=tickets("alice", 20))
    for moment in range(5):
        grant(pool, START + moment, most=1)
    for starts in (1, 5):
        pool.declare(rules(rate(starts, 100)))
        assert grant(pool, START + 50) == []
    assert grant(pool, START + 101) == ["alice-6", "alice-7"]


@pytest.mark.parametrize("limit", [jobs(0, each=True), jobs(0, "gpu", each=True)], ids=str)
def test_a_tenant_first_seen_under_a_closed_limit_is_judged_at_birth(limit: Limit) -> None:
    pool = book(limit, waiting=[ticket(lane="gpu")])
    assert grant(pool) == []
    pool.submit(ticket("x-2", "late", lane="gpu"))
    assert grant(pool) == []
    pool.declare(rules())
    assert grant(pool) == ["x-1", "x-2"]


def test_a_due_job_that_only_ties_is_compared_by_its_submission() -> None:
    """FairShare 1 against Trait 1: an earlier Job that is not due wins the tie."""
    factors = priority(FairShare(1), Trait("urgent", 1))
    waiting = [ticket("due", "alice"), urgent("early", "bob", 1000, submitted=START - 1)]
    pool = book(waiting=waiting, priority=factors, state=State(1, fairness(0, {"bob": 1})))
    assert grant(pool) == ["early", "due"]


def test_ten_thousand_jobs_that_turn_old_together() -> None:
    """A retry for each that calls itself is too deep."""
    pool = book(jobs(1), waiting=tickets("alice", 10_000), priority=priority(Age(1, 1000)))
    assert grant(pool, START + 999) == ["alice-1"]
    pool.submit(urgent("late", "bob", 0, submitted=START - 1))
    finish(pool)
    assert grant(pool, START + 1000) == ["late"]
    finish(pool)
    assert grant(pool, START + 1000) == ["alice-2"]


def reordered(pool: Book) -> Book:
    """The same pool once it has taken a changed priority over."""
    while pool.reordering:
        pool.reorder(1)
    return pool


def test_changed_weights_count_when_all_jobs_are_ranked_by_them_and_not_before() -> None:
    waiting = [urgent(f"x-{n}", "alice", n * 100) for n in range(6)]
    pool = book(waiting=waiting, priority=priority())
    pool.declare(rules(priority=priority(Trait("urgent", 1))))
    assert pool.reordering
    assert grant(pool, most=1) == ["x-0"]
    pool.reorder(2)
    pool.submit(urgent("y-new", "alice", 450))
    pool.forget("x-4")
    assert grant(pool, most=1) == ["x-1"]
    assert grant(reordered(pool)) == ["x-5", "y-new", "x-3", "x-2"]


def test_weights_changed_back_before_they_were_in_force_change_nothing() -> None:
    waiting = [urgent(f"x-{n}", "alice", n * 100) for n in range(3)]
    pool = book(waiting=waiting, priority=priority())
    pool.declare(rules(priority=priority(Trait("urgent", 1))))
    pool.reorder(1)
    pool.declare(rules(priority=priority()))
    assert not pool.reordering
    assert grant(pool) == ["x-0", "x-1", "x-2"]


def test_a_changed_full_age_reorders_too() -> None:
    """At 30 of 100 ms against a trait of 0.4; at 30 of 50 ms it is the older one's turn."""
    waiting = [ticket("aged"), urgent("fresh", "alice", 400, submitted=START + 30)]
    for full, first in ((100, "fresh"), (50, "aged")):
        pool = book(waiting=waiting, priority=priority(Age(1, 9), Trait("urgent", 1)))
        pool.declare(rules(priority=priority(Age(1, full), Trait("urgent", 1))))
        assert grant(reordered(pool), START + 30, most=1) == [first]


def test_a_start_that_stands_is_below_where_a_lane_had_gone_on_without_it() -> None:
    """alice waits with a hold while carol's turns pass; let go, she is due at once, once."""
    pool = book(jobs(1), waiting=[*tickets("carol", 9), ticket("a-1", held=True)])
    assert one_by_one(pool, 3) == ["carol"] * 3
    pool.submit(ticket("a-2", submitted=START + 1))
    pool.submit(ticket("a-1", submitted=START + 1))
    assert one_by_one(pool, 4) == ["alice", "carol", "alice", "carol"]


def test_the_same_best_job_is_offered_again_after_its_tenant_s_slot_came_free() -> None:
    """It had surfaced and been dropped while the tenant was full, with nobody behind it."""
    pool = book(jobs(2, each=True), waiting=tickets("dave", 3))
    assert grant(pool) == ["dave-1", "dave-2"]
    finish(pool, "dave-1")
    assert grant(pool) == ["dave-3"]


def test_a_moment_that_steps_back_is_the_last_one() -> None:
    pool = book(rate(1, 10), waiting=tickets("alice", 3))
    for moment, started in ((0, 1), (-100, 0), (9, 0), (10, 1), (-5, 0)):
        assert len(decide(pool, START + moment).grants) == started


def test_a_job_whose_traits_change_takes_its_new_place() -> None:
    pool = book(waiting=tickets("alice", 3), priority=priority(Trait("urgent", 1)))
    for job in ("alice-2", "alice-3"):
        known = pool.ticket(job)
        assert known is not None
        pool.submit(replace(known, traits=(("urgent", int(job[-1]) * 100),)))
    assert grant(pool) == ["alice-3", "alice-2", "alice-1"]
