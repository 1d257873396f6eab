"""Start-time Fair Queuing, by histories whose order was worked out by hand."""

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from kwicket.core.fairness import SCALE, Fairness
from kwicket.core.priority import Trait
from kwicket.core.state import State
from support.builders import (
    START,
    book,
    fairness,
    intent,
    jobs,
    lease,
    priority,
    rules,
    ticket,
    tickets,
)
from support.rounds import finish, grant, one_by_one


def test_a_single_job_does_not_wait_behind_a_flood() -> None:
    """The README's promise: with one slot, carol's only Job is the third to start."""
    waiting = tickets("alice", 6) + tickets("bob", 2) + tickets("carol", 1)
    pool = book(jobs(1), waiting=waiting)
    assert one_by_one(pool, 9) == ["alice", "bob", "carol", "alice", "bob", *["alice"] * 4]


def test_equal_tenants_take_turns() -> None:
    waiting = tickets("a", 5) + tickets("b", 5) + tickets("c", 5)
    assert one_by_one(book(waiting=waiting), 15) == ["a", "b", "c"] * 5


def test_shares_of_5_3_and_2_give_exactly_that_in_every_ten_starts() -> None:
    shares = {"a": 5, "b": 3, "c": 2}
    waiting = [one for tenant in shares for one in tickets(tenant, 40)]
    order = one_by_one(book(waiting=waiting, shares=shares), 60)
    for begin in range(0, 60, 10):
        assert Counter(order[begin : begin + 10]) == shares


def test_a_tenant_with_share_2_gets_twice_the_turns() -> None:
    waiting = tickets("alice", 20) + tickets("bob", 20)
    order = one_by_one(book(waiting=waiting, shares={"bob": 2}), 6)
    assert order == ["alice", "bob", "bob", "alice", "bob", "bob"]


def test_a_newcomer_starts_at_virtual_time_with_no_credit_for_having_been_away() -> None:
    """carol comes after 10 grants and gets one turn at once, not ten."""
    pool = book(waiting=tickets("alice", 20) + tickets("bob", 20))
    one_by_one(pool, 10)
    for one in tickets("carol", 20):
        pool.submit(one)
    order = one_by_one(pool, 9)
    assert order[:3].count("carol") == 1
    assert Counter(order) == {"alice": 3, "bob": 3, "carol": 3}


def test_a_drained_tenant_comes_back_with_its_tag() -> None:
    """alice alone had three turns (tag 3, virtual time 2): bob, who is new, is before her."""
    pool = book(waiting=tickets("alice", 3))
    one_by_one(pool, 3)
    assert pool.snapshot().fairness == fairness(2, {"alice": 3})
    for one in tickets("alice", 9, submitted=START - 5) + tickets("bob", 9):
        pool.submit(one)
    assert one_by_one(pool, 4) == ["bob", "alice", "bob", "alice"]


def test_a_tenant_that_was_away_for_long_gets_no_turns_for_it() -> None:
    pool = book(waiting=tickets("alice", 1) + tickets("bob", 30))
    one_by_one(pool, 11)
    for number in range(10, 20):
        pool.submit(ticket(f"alice-{number}", "alice", submitted=START + 1))
    assert Counter(one_by_one(pool, 8)) == {"alice": 4, "bob": 4}


def test_coming_and_going_wins_nothing_over_staying() -> None:
    """alice submits one Job at a time, only when her last has ended; bob keeps a line."""
    pool = book(waiting=tickets("bob", 60))
    order = []
    for number in range(30):
        pool.submit(ticket(f"alice-{number}", "alice"))
        order += one_by_one(pool, 2)
    assert Counter(order) == {"alice": 30, "bob": 30}


def test_newcomers_with_lines_delay_an_old_tenant_by_one_turn_each() -> None:
    """Twenty new tenants come in at virtual time; alice is served after one turn of each."""
    pool = book(waiting=tickets("alice", 50, submitted=START - 1))
    one_by_one(pool, 10)
    for number in range(20):
        for one in tickets(f"new{number}", 9):
            pool.submit(one)
    order = one_by_one(pool, 42)
    assert order.index("alice") == 20
    assert order.count("alice") == 2


def test_a_stream_of_newcomers_leaves_an_old_tenant_every_turn_they_do_not_take() -> None:
    """One new tenant for every two starts: alice gets the other one, for ever."""
    pool = book(waiting=tickets("alice", 200))
    order = []
    for number in range(100):
        pool.submit(ticket(f"new-{number}", f"new-{number}"))
        order += one_by_one(pool, 2)
    assert order.count("alice") == 100


def test_whoever_invents_a_tenant_for_each_start_takes_each_start() -> None:
    """No rule of SFQ stops it; binding namespaces to tenants does. Known, and documented."""
    pool = book(waiting=tickets("alice", 9))
    one_by_one(pool, 1)
    for number in range(9):
        pool.submit(ticket(f"new-{number}", f"new-{number}"))
        assert one_by_one(pool, 1) == [f"new-{number}"]


def turns_after_a_grant(of: str, turns: Fairness, **fields: Any) -> Fairness:
    """The turns after one Job of this tenant, the only one in line, was granted."""
    pool = book(waiting=tickets(of, 1), state=State(1, turns), **fields)
    grant(pool)
    return pool.snapshot().fairness


def turns_after_a_refund(of: str, turns: Fairness) -> Fairness:
    """The turns after a grant of this tenant came back that never reached its Job."""
    granted = intent("r-1", of)
    pool = book(state=State(1, turns, intents=(granted,)), running=[granted.lease])
    pool.give_back(granted)
    return pool.snapshot().fairness


def test_turns_move_with_grants_that_priority_decides_too() -> None:
    """Virtual time follows the start of the granted tenant, due or not."""
    state = State(1, fairness(0, {"alice": 3, "bob": 1}))
    waiting = [ticket("a-1", "alice", traits=(("urgent", 1000),)), ticket("b-1", "bob")]
    pool = book(waiting=waiting, state=state, priority=priority(Trait("urgent", 1)))
    assert grant(pool, most=1) == ["a-1"]
    assert pool.snapshot().fairness == fairness(3, {"alice": 4})


def test_virtual_time_never_falls() -> None:
    assert turns_after_a_grant("carol", fairness(5, {}, {"carol": 2})) == fairness(5, {"carol": 6})


def test_tags_at_or_below_virtual_time_are_forgotten() -> None:
    turns = fairness(1, {"alice": 2, "bob": 3, "carol": 4})
    assert turns_after_a_grant("bob", turns) == fairness(3, {"bob": 4, "carol": 4})


def test_a_refund_lowers_the_tag_and_nothing_else() -> None:
    turns = fairness(2, {"alice": 5, "bob": 3})
    assert turns_after_a_refund("alice", turns) == fairness(2, {"alice": 4, "bob": 3})


def test_a_refund_lowers_the_tag_to_virtual_time_at_most() -> None:
    assert turns_after_a_refund("alice", fairness(2, {"alice": Fraction(5, 2)})) == fairness(2)


def test_a_refund_to_a_tenant_whose_tag_was_forgotten_gives_no_credit() -> None:
    assert turns_after_a_refund("alice", fairness(2, {"bob": 3})) == fairness(2, {"bob": 3})


def test_a_refund_lowers_no_start_that_stands() -> None:
    granted = intent("r-1", "alice")
    state = State(1, fairness(9, {}, {"alice": 5}), intents=(granted,))
    pool = book(state=state, running=[granted.lease], waiting=[ticket(held=True)])
    pool.give_back(granted)
    assert pool.snapshot().fairness == fairness(9, {}, {"alice": 5})


def test_a_redelivery_moves_neither_virtual_time_nor_a_tag() -> None:
    pool = book(waiting=tickets("alice", 3, deliveries=1))
    grant(pool)
    assert pool.running == 3
    assert pool.snapshot().fairness == fairness(0)


def test_turns_stay_exact_where_floats_would_not() -> None:
    """Three thousand thirds are a thousand."""
    pool = book(waiting=tickets("alice", 3000), shares={"alice": 3})
    one_by_one(pool, 3000)
    assert pool.snapshot().fairness == fairness(1000 - Fraction(1, 3), {"alice": 1000})


def test_shares_that_no_scale_was_made_for_stay_exact_too() -> None:
    """997 starts of a share of 997 are one turn, and are not a step of the other's."""
    pool = book(waiting=tickets("alice", 997), shares={"alice": 7})
    pool.declare(rules(shares={"alice": 997, "bob": 991}))
    one_by_one(pool, 997)
    turns = pool.snapshot().fairness
    assert Fraction(turns.tags["alice"], turns.scale) == 1


@pytest.mark.parametrize(
    "maps",
    [({"alice": 2}, {}, {}), ({}, {"alice": 2}, {}), ({}, {}, {"alice": 0}), ({}, {"a": -1}, {})],
)
def test_what_needs_no_keeping_is_refused(maps: tuple[dict[str, int], ...]) -> None:
    """A tag not above virtual time, a start not below it, no credit."""
    with pytest.raises(ValueError, match="fairness"):
        Fairness(1, 2, *maps)


def test_a_blocked_tenant_is_not_the_one_that_is_due() -> None:
    """gated has the smallest start and no room; of the others bob is due, though he came last."""
    waiting = tickets("gated", 1, lane="full") + tickets("alice", 1, submitted=START - 9)
    state = State(1, fairness(0, {"alice": 2, "bob": 1}))
    pool = book(jobs(0, "full"), waiting=[*waiting, *tickets("bob", 1)], state=state)
    assert grant(pool) == ["bob-1", "alice-1"]


def test_a_tenant_with_all_its_slots_taken_does_not_hold_virtual_time_back() -> None:
    """Pitfall 1: a gated tenant with an old tag must not pin the floor for newcomers."""
    limit = jobs(1, each=True)
    pool = book(limit, waiting=tickets("gated", 5), running=[lease("g", "gated")])
    for number in range(20):
        pool.submit(ticket(f"busy-{number}", "busy"))
    for _ in range(10):
        grant(pool)
        finish(pool, *[f"busy-{n}" for n in range(20)])
    assert pool.snapshot().fairness.virtual_time == 9 * SCALE
    for one in tickets("new", 9):
        pool.submit(one)
    assert [name.partition("-")[0] for name in grant(pool, most=2)] == ["new", "busy"]
