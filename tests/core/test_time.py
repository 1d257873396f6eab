"""`charge: Time`: guessed at the grant, doubled when the guess was too low, settled at the end."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwicket.core.book import Book
from kwicket.core.charges import MOST_DOUBLED, STRANGER
from kwicket.core.decide import decide, next_opening
from kwicket.core.limits import Limit
from kwicket.core.pools import Charging
from kwicket.core.state import Charge
from kwicket.core.tickets import Ticket
from support.builders import START, book, jobs, lease, pods, rules, ticket, tickets
from support.rounds import grant, turn
from support.shift import serve, works

MINUTE = 60_000


def timed(*limits: Limit, **fields: Any) -> Book:
    """A pool that charges time."""
    return book(*limits, charging=Charging.TIME, **fields)


def tags(pool: Book) -> dict[str, int]:
    """How far above virtual time each tenant's tag is, in slot-milliseconds of share 1."""
    turns = pool.snapshot().fairness
    return {name: (tag - turns.virtual_time) // turns.scale for name, tag in turns.tags.items()}


def credit(pool: Book) -> dict[str, int]:
    """What each tenant has too much paid, in slot-milliseconds of share 1."""
    turns = pool.snapshot().fairness
    return {name: value // turns.scale for name, value in turns.credits.items()}


def means(pool: Book) -> dict[str, int]:
    """The mean run time of each tenant, in milliseconds."""
    return dict(pool.snapshot().means)


def with_credit(milliseconds: int, *, waiting: list[Ticket], **fields: Any) -> Book:
    """A pool in which alice has paid for so much and not used it."""
    state = timed().snapshot()
    turns = replace(state.fairness, credits={"alice": milliseconds * state.fairness.scale})
    pool = timed(state=replace(state, fairness=turns, **fields), waiting=waiting)
    decide(pool, START, most=0)
    return pool


def ran(pool: Book, *milliseconds: int, tenant: str = "alice") -> Book:
    """So many Jobs of a tenant, one after the other, which ran for so long."""
    for number, run in enumerate(milliseconds):
        pool.submit(ticket(f"ran-{number}", tenant, submitted=START - 1))
        turn(pool, most=1)
        pool.forget(f"ran-{number}", START + run)
    return pool


@pytest.mark.parametrize(("width", "charge"), [(1, MINUTE), (3, 3 * MINUTE), (0, 0)])
def test_the_first_job_of_a_stranger_is_charged_a_minute_a_pod(width: int, charge: int) -> None:
    pool = timed(waiting=[ticket(width=width)])
    [granted] = decide(pool, START).grants
    assert granted.charge == charge
    assert pool.snapshot().charges == (Charge(2, "alice", width, START, charge),)


@pytest.mark.parametrize(
    ("runs", "mean"),
    [
        ((7_000,), 7_000),
        ((10_000, 20_000), 12_000),
        ((10_000, 20_000, 0), 9_600),
        ((10_001, 20_002), 12_001),
        ((0,), 1_000),
        ((1_500, 0, 0, 0), 1_000),
        ((-5_000,), 1_000),
    ],
    ids=str,
)
def test_a_mean_follows_the_run_times_by_a_fifth(runs: tuple[int, ...], mean: int) -> None:
    """A second at least, and whole milliseconds; clocks that step back make no run negative."""
    assert means(ran(timed(), *runs)) == {"alice": mean}


def test_the_next_job_is_charged_the_mean_for_each_pod() -> None:
    pool = ran(timed(), 7_000)
    pool.submit(ticket("x-1", width=2))
    assert turn(pool)[0].charge == 14_000


def test_a_charge_becomes_what_was_used_once() -> None:
    """alice ran 100 s for the minute she was charged."""
    pool = ran(timed(waiting=tickets("bob", 1, held=True)), 100_000)
    assert tags(pool) == {"alice": 100_000}
    pool.forget("ran-0", START + 200_000)
    assert tags(pool) == {"alice": 100_000}
    assert pool.snapshot().charges == ()


def test_what_was_charged_too_much_lowers_the_tag() -> None:
    assert tags(ran(timed(), 10_000)) == {"alice": 10_000}


def test_a_refund_lowers_the_tag_to_virtual_time_and_the_rest_is_credit() -> None:
    """Charged 120 s and used 20; bob's second turn has moved virtual time to 60 s."""
    waiting = [ticket("a-1", width=2), *tickets("bob", 2, submitted=START + 1)]
    pool = timed(waiting=waiting)
    turn(pool)
    pool.submit(ticket("a-2"))
    assert tags(pool) == {"alice": MINUTE, "bob": MINUTE}
    pool.forget("a-1", START + 10_000)
    assert (tags(pool), credit(pool)) == ({"bob": MINUTE}, {"alice": 40_000})


def test_a_debt_takes_credit_before_it_raises_the_tag() -> None:
    charge = Charge(1, "alice", 1, START, MINUTE)
    pool = with_credit(30_000, waiting=[ticket()], charges=(charge,))
    pool.occupy(lease())
    pool.forget("r-1", START + MINUTE + 20_000)
    assert (tags(pool), credit(pool)) == ({}, {"alice": 10_000})


def test_credit_pays_a_grant_first() -> None:
    pool = with_credit(70_000, waiting=tickets("alice", 2))
    assert turn(pool, most=1)[0].charge == MINUTE
    assert (tags(pool), credit(pool)) == ({}, {"alice": 10_000})
    turn(pool, most=1)
    assert (tags(pool), credit(pool)) == ({"alice": 50_000}, {})


@pytest.mark.parametrize("gone", [True, False], ids=["cancelled", "held"])
def test_credit_is_dropped_when_nothing_runs_and_nothing_may_start(gone: bool) -> None:
    pool = with_credit(70_000, waiting=[ticket()])
    assert credit(pool) == {"alice": 70_000}
    if gone:
        pool.forget("x-1")
    else:
        pool.submit(ticket(held=True))
    assert credit(pool) == {}


def test_a_job_that_runs_longer_than_it_was_charged_for_is_charged_again() -> None:
    """A minute, then two, then four; and a pool that decides late makes up for it."""
    pool = timed(waiting=tickets("alice", 1))
    turn(pool)
    assert tags(pool) == {"alice": MINUTE}
    for elapsed, charged in ((59_999, 1), (60_000, 2), (119_999, 2), (120_000, 4), (999_999, 32)):
        assert grant(pool, START + elapsed) == []
        assert tags(pool) == {"alice": charged * MINUTE}


def test_a_wide_job_is_charged_again_when_it_has_run_a_minute() -> None:
    pool = timed(waiting=[ticket(width=3)])
    turn(pool)
    assert next_opening(pool, START) == START + MINUTE
    grant(pool, START + MINUTE - 1)
    assert tags(pool) == {"alice": 3 * MINUTE}
    grant(pool, START + MINUTE)
    assert tags(pool) == {"alice": 6 * MINUTE}
    assert next_opening(pool, START + MINUTE) == START + 2 * MINUTE


def test_doubling_is_settled_like_any_charge() -> None:
    pool = timed(waiting=tickets("alice", 1))
    turn(pool)
    grant(pool, START + 70_000)
    pool.forget("alice-1", START + 70_000)
    assert tags(pool) == {"alice": 70_000}


def test_a_job_that_runs_for_ever_does_not_make_its_tenant_wait_for_ever_less() -> None:
    """Its tenant's other Jobs wait while others catch up with what it uses."""
    pool = timed(jobs(2), waiting=[*tickets("alice", 9), *tickets("bob", 9)])
    assert grant(pool) == ["alice-1", "bob-1"]
    order = []
    for minute in range(1, 8):
        pool.forget(
            next(x.uid for x in pool.leases() if x.uid != "alice-1"), START + minute * MINUTE
        )
        order += grant(pool, START + minute * MINUTE)
    assert order == [f"bob-{number}" for number in range(2, 9)]


def test_an_end_that_nobody_saw_leaves_the_charge_and_teaches_nothing() -> None:
    pool = timed(waiting=tickets("alice", 1))
    turn(pool)
    pool.forget("alice-1")
    assert (tags(pool), means(pool)) == ({"alice": MINUTE}, {})
    assert pool.snapshot().charges == ()


def test_a_job_that_is_put_back_has_cost_what_it_ran() -> None:
    pool = timed(waiting=tickets("alice", 1))
    turn(pool)
    pool.submit(ticket("alice-1", "alice", deliveries=1), START + 20_000)
    assert tags(pool) == {"alice": 20_000}
    assert means(pool) == {"alice": 20_000}


def test_a_redelivery_is_charged_nothing_until_it_ends() -> None:
    pool = timed(waiting=[ticket(deliveries=1)])
    assert turn(pool)[0].charge == 0
    assert grant(pool, START + 10 * MINUTE) == []
    assert tags(pool) == {}
    pool.forget("x-1", START + 11 * MINUTE)
    assert tags(pool) == {"alice": 11 * MINUTE}


def test_a_job_of_no_pods_costs_nothing_and_teaches_the_mean() -> None:
    pool = timed(waiting=[ticket(width=0)])
    turn(pool)
    pool.forget("x-1", START + 9_000)
    assert (tags(pool), means(pool)) == ({}, {"alice": 9_000})


def test_a_grant_that_never_reached_its_job_gives_its_charge_back_and_teaches_nothing() -> None:
    pool = timed(waiting=tickets("alice", 1))
    [granted] = decide(pool, START).grants
    pool.give_back(granted)
    state = pool.snapshot()
    assert (tags(pool), means(pool), state.charges, state.intents) == ({}, {}, (), ())
    assert pool.running == 0


def test_what_is_given_back_of_a_grant_that_doubled_is_all_of_it() -> None:
    pool = timed(waiting=tickets("alice", 1))
    [granted] = decide(pool, START).grants
    decide(pool, START + MINUTE)
    assert tags(pool) == {"alice": 2 * MINUTE}
    pool.give_back(granted)
    assert tags(pool) == {}


def test_a_newer_lease_of_a_job_leaves_the_older_one_as_it_was_charged() -> None:
    """Another leader put it back and granted it again; nobody here saw when."""
    pool = timed(waiting=tickets("alice", 1))
    turn(pool)
    pool.occupy(lease("alice-1", token=9))
    assert (tags(pool), means(pool)) == ({"alice": MINUTE}, {})
    assert pool.snapshot().charges == ()


def test_a_lease_that_is_seen_again_keeps_its_charge_open() -> None:
    pool = timed(waiting=tickets("alice", 1))
    [granted] = turn(pool)
    pool.occupy(granted.lease)
    assert len(pool.snapshot().charges) == 1


def test_a_settlement_after_a_restart_is_the_same_and_is_made_once() -> None:
    old = timed(waiting=tickets("alice", 1))
    turn(old)
    new = timed(state=old.snapshot(), running=old.leases())
    new.forget("alice-1", START + 10_000)
    assert tags(new) == {"alice": 10_000}
    third = timed(state=new.snapshot(), running=old.leases())
    third.forget("alice-1", START + 99_000)
    assert tags(third) == {"alice": 10_000}


def test_shares_divide_what_is_charged_and_what_is_settled() -> None:
    pool = timed(waiting=tickets("alice", 1), shares={"alice": 3, "bob": 2})
    assert turn(pool)[0].charge == MINUTE
    assert tags(pool) == {"alice": 20_000}
    pool.forget("alice-1", START + 30_000)
    assert tags(pool) == {"alice": 10_000}


WIDE = ticket("wide", "carol", width=4)


@pytest.mark.parametrize(("at", "cost"), [(START + 5_000, 20_000), (None, 4 * MINUTE)])
def test_a_reservation_that_is_lost_has_cost_the_room_that_was_kept(
    at: int | None, cost: int
) -> None:
    pool = timed(pods(4), waiting=[WIDE], running=[lease(tenant="bob")])
    [kept] = decide(pool, START).reserved
    assert (kept.charge, tags(pool)) == (4 * MINUTE, {"carol": 4 * MINUTE})
    pool.forget("wide", at)
    assert tags(pool) == ({"carol": cost})
    assert means(pool) == {}


def test_a_reservation_that_kept_no_room_has_cost_nothing() -> None:
    pool = timed(pods(4, each=True), waiting=[WIDE], running=[lease(tenant="carol")])
    decide(pool, START)
    pool.forget("wide", START + 5_000)
    assert tags(pool) == {}


def test_a_reserved_job_is_charged_once_and_runs_from_its_start() -> None:
    pool = timed(pods(4), waiting=[WIDE], running=[lease(tenant="bob")])
    decide(pool, START)
    pool.forget("r-1")
    [granted] = decide(pool, START + 50_000).grants
    assert (granted.charge, tags(pool)) == (4 * MINUTE, {"carol": 4 * MINUTE})
    assert pool.snapshot().charges == (Charge(2, "carol", 4, START + 50_000, 4 * MINUTE),)


def test_virtual_time_never_falls() -> None:
    pool = timed(jobs(1), waiting=[*tickets("alice", 3), *tickets("bob", 3)])
    seen = []
    for number in range(6):
        [granted] = turn(pool, START + number)
        pool.forget(granted.lease.uid, START + number)
        seen.append(pool.snapshot().fairness.virtual_time)
    assert seen == sorted(seen)


def test_a_pool_that_charges_another_way_starts_its_turns_anew() -> None:
    """Turns and milliseconds are no common measure; only virtual time and the means stay."""
    pool = ran(timed(jobs(9), waiting=tickets("bob", 5)), 7_000)
    before = pool.snapshot().fairness.virtual_time
    pool.declare(rules(jobs(9)))
    state = pool.snapshot()
    assert (state.fairness.tags, state.fairness.standing, state.fairness.credits) == ({}, {}, {})
    assert (state.charges, state.fairness.virtual_time) == ((), before)
    assert means(pool) == {"alice": 7_000}
    pool.submit(ticket("alice-1", "alice"))
    assert turn(pool)[0].charge == 1


def test_under_starts_nothing_is_settled() -> None:
    pool = book(waiting=[*tickets("alice", 1)])
    assert decide(pool, START).grants[0].charge == 1
    before = pool.snapshot()
    pool.forget("alice-1", START + 10 * MINUTE)
    assert pool.snapshot().fairness == before.fairness
    assert (before.charges, means(pool)) == ((), {})


def test_who_runs_ten_times_as_long_starts_a_tenth_as_often() -> None:
    """Two slots: alice's Jobs run 100 s and bob's 10 s; in the end both have had the same time."""
    load = [*works("alice", 60, 100), *works("bob", 600, 10)]
    started = serve(timed(jobs(2)), load)
    half = [job for job in load if started[job.name] < 3000]
    time = {t: sum(job.runs for job in half if job.tenant == t) for t in ("alice", "bob")}
    assert abs(time["alice"] - time["bob"]) <= 2 * (2 * 100)


def test_of_very_many_charges_that_are_due_together_some_are_doubled_in_the_next_decision() -> None:
    pool = book(waiting=tickets("alice", MOST_DOUBLED + 1), charging=Charging.TIME)
    turn(pool, START, most=MOST_DOUBLED + 1)
    due = START + STRANGER
    for doubled in (MOST_DOUBLED, MOST_DOUBLED + 1):
        assert next_opening(pool, due) == due
        decide(pool, due)
        amounts = [charge.amount for charge in pool.charges()]
        assert amounts.count(2 * STRANGER) == doubled
