"""Wide Jobs: reserved when their turn comes, and started before all else once they have room.

The load of H1 to H6 is our own, and what is asserted is exact for it. Docstrings say what a simpler
rule did on a like load, where a prototype with reservations had 14, 295, 72, 292 s, 94 % and 227 s.
"""

from typing import Any

import pytest
from msgspec.structs import replace

from kwicket.core.book import Book
from kwicket.core.decide import decide
from kwicket.core.limits import Limit
from support.builders import START, book, jobs, lease, pods, rate, rules, ticket, tickets
from support.rounds import finish, grant
from support.shift import Work, makespan, serve, utilisation, works


def reserved(pool: Book, now: int = START, most: int = 16) -> list[str]:
    """The Jobs that one decision reserves."""
    return [one.uid for one in decide(pool, now, most).reserved]


def with_a_reservation(*limits: Limit, lane: str = "") -> Book:
    """bob runs one pod, and `wide` of carol's, who came next, is reserved for want of room."""
    running = [lease("bob-0", "bob", lane=lane)]
    wide = ticket("wide", "carol", width=4, lane=lane)
    pool = book(*(limits or [pods(4)]), waiting=[wide], running=running)
    assert reserved(pool) == ["wide"]
    return pool


# Histories H1 to H6: each is one that a simpler rule gets wrong.


def test_a_wide_job_does_not_wait_for_a_flood_of_narrow_ones() -> None:
    """H1. Without reservations bob, one of four pods, starts after all of alice's 200, at 603 s."""
    load = [*works("alice", 200, 10, spread=5), Work("bob", "bob", 10, at=1, width=4)]
    assert serve(book(pods(4)), load)["bob"] == 14


def test_turns_of_narrow_and_wide_jobs_do_not_empty_the_pool_for_each_other() -> None:
    """H2. Where the best Job waits for room and nothing passes it, this takes 1,846 s."""
    load = works("alice", 160, 10) + works("bob", 10, 10, width=16)
    assert makespan(serve(book(pods(16)), load), load) == 300


def test_room_is_kept_until_the_wide_job_starts_whoever_is_due_meanwhile() -> None:
    """H3. Room kept only while the wide Job is the best: it starts at 903 s."""
    load = works("bob", 300, 10, spread=5, lane="m") + works("alice", 3000, 1, lane="x")
    load.append(Work("wide", "carol", 10, at=60, lane="m", width=4))
    assert serve(book(pods(4, "m"), pods(4, "x")), load)["wide"] == 73


def test_a_tenant_at_its_own_limit_keeps_no_room_from_others() -> None:
    """H4. Room kept in all limits: alice's last Job ends after 36,197 s."""
    tens_of_hours = [Work(f"t-{n}", "t", 36_000, width=4) for n in (1, 2)]
    short = works("alice", 100, 10, spread=5, at=1)
    started = serve(book(pods(8), pods(6, each=True)), tens_of_hours + short)
    assert makespan(started, short) == 304
    assert started["t-2"] == 36_000


def test_nothing_is_kept_in_a_limit_that_has_room() -> None:
    """H5. Room kept in the pool for a Job that lacks it in its lane: 7 % of the pool is wasted."""
    load = works("bob", 40, 10, spread=5, lane="a") + works("alice", 400, 10, spread=5, lane="b")
    load += works("carol", 5, 10, lane="a", width=4)
    started = serve(book(pods(16), pods(4, "a")), load)
    assert utilisation(started, load, 16) > 0.95


def test_lanes_keep_room_beside_each_other() -> None:
    """H6. One reservation a pool: the lanes' wide Jobs wait for each other, the last 593 s."""
    load = []
    for lane in "abcd":
        load += works(f"narrow-{lane}", 60, 10, spread=5, lane=lane)
        load += works(f"wide-{lane}", 5, 10, lane=lane, width=4)
    started = serve(book(*[pods(4, lane) for lane in "abcd"]), load)
    assert {started[f"wide-{lane}-5"] for lane in "abcd"} == {100}


# The rules, one by one.


def test_a_reserved_job_takes_its_turn_at_once_and_moves_nothing_when_it_starts() -> None:
    pool = with_a_reservation()
    turns = pool.snapshot().fairness
    assert turns.tags == {"carol": turns.scale}
    finish(pool)
    assert grant(pool) == ["wide"]
    assert pool.snapshot().fairness == turns


def test_a_reserved_job_still_waits() -> None:
    pool = with_a_reservation()
    assert (pool.waiting, dict(pool.line())) == (1, {"carol": 1})
    assert pool.reservation("wide") is not None
    finish(pool)
    grant(pool)
    assert (pool.waiting, pool.running, pool.reservation("wide")) == (0, 1, None)


def test_nobody_passes_a_reserved_job_that_waits_for_room() -> None:
    pool = with_a_reservation()
    for one in tickets("alice", 3, submitted=START - 9):
        pool.submit(one)
    assert grant(pool) == []
    finish(pool)
    assert grant(pool) == ["wide"]


def test_a_job_is_reserved_only_when_it_is_the_best() -> None:
    """alice's narrow Job came first: it has the turn, and then the wide one."""
    waiting = [ticket("wide", "carol", width=4), ticket("a-1", "alice", submitted=START - 9)]
    pool = book(pods(4), waiting=waiting, running=[lease()])
    decision = decide(pool, START)
    assert [one.lease.uid for one in decision.grants] == ["a-1"]
    assert [one.uid for one in decision.reserved] == ["wide"]


def test_a_job_that_lacks_more_than_width_is_not_reserved() -> None:
    """No pod free, no start left, a closed lane: another's turn comes first."""
    wide = ticket("wide", "carol", width=4, lane="gpu")
    for limits in ([pods(1)], [pods(9), jobs(1)], [pods(4), jobs(0, "gpu")]):
        pool = book(*limits, waiting=[wide], running=[lease()])
        assert reserved(pool) == []


def test_reservations_and_starts_count_in_what_a_decision_may_do() -> None:
    waiting = [ticket("wide", "carol", width=4), *tickets("dave", 3, submitted=START + 1)]
    pool = book(pods(4), pods(9, "x"), waiting=waiting, running=[lease(lane="x", width=1)])
    assert reserved(pool, most=1) == ["wide"]
    finish(pool)
    assert grant(pool, most=1) == ["wide"]


def test_the_oldest_reservation_is_served_first() -> None:
    """dave's would have room before carol's has."""
    running = [lease("r-1", width=2), lease("r-2", width=1)]
    waiting = [ticket("c", "carol", width=4), ticket("d", "dave", width=2, submitted=START + 1)]
    pool = book(pods(4), waiting=waiting[:1], running=running)
    assert reserved(pool) == ["c"]
    pool.submit(waiting[1])
    finish(pool, "r-1")
    assert (grant(pool), reserved(pool)) == ([], [])
    finish(pool, "r-2")
    assert grant(pool) == ["c"]


def test_a_younger_reservation_starts_where_the_older_one_keeps_no_room() -> None:
    """c waits for its lane, d for another one; the pool has room for both."""
    running = [lease("r-1", lane="m"), lease("r-2", lane="x")]
    waiting = [
        ticket("c", "carol", width=4, lane="m"),
        ticket("d", "dave", width=4, lane="x", submitted=START + 1),
    ]
    pool = book(pods(16), pods(4, "m"), pods(4, "x"), waiting=waiting, running=running)
    assert reserved(pool) == ["c", "d"]
    finish(pool, "r-2")
    assert grant(pool) == ["d"]


def test_a_tenant_has_one_reservation_at_most() -> None:
    """Its second wide Job waits without one, and its narrow Job starts if it has room."""
    waiting = [
        ticket("w-1", "carol", width=4, lane="m"),
        ticket("w-2", "carol", width=4, lane="x"),
        ticket("n-1", "carol", lane="x"),
    ]
    running = [lease("r-1", lane="m"), lease("r-2", lane="x")]
    pool = book(pods(4, "m"), pods(4, "x"), waiting=waiting, running=running)
    decision = decide(pool, START)
    assert [one.uid for one in decision.reserved] == ["w-1"]
    assert [one.lease.uid for one in decision.grants] == ["n-1"]


def test_a_tenant_s_other_jobs_leave_a_reserved_job_its_room_in_their_own_limits() -> None:
    """Six pods a tenant, three run, and w of four waits for one of them: the rest is for w."""
    waiting = [ticket("w", "carol", width=4), *tickets("carol", 3, submitted=START + 1)]
    waiting.append(ticket("d", "dave", submitted=START + 2))
    pool = book(pods(6, each=True), waiting=waiting, running=[lease("r", "carol", width=3)])
    decision = decide(pool, START)
    assert [one.uid for one in decision.reserved] == ["w"]
    assert [one.lease.uid for one in decision.grants] == ["d"]
    finish(pool, "r")
    assert grant(pool) == ["w", "carol-1", "carol-2"]


def test_a_start_of_its_own_tenant_is_left_to_a_reserved_job() -> None:
    """One start a minute for each tenant, and it is the reserved Job's."""
    running = [lease("r-1", "bob", lane="m")]
    waiting = [ticket("w", "carol", width=4, lane="m")]
    waiting += [ticket(f"{t}-1", t, lane="x", submitted=START + 1) for t in ("carol", "dave")]
    pool = book(pods(4, "m"), rate(1, 60_000, each=True), waiting=waiting, running=running)
    decision = decide(pool, START)
    assert [one.uid for one in decision.reserved] == ["w"]
    assert [one.lease.uid for one in decision.grants] == ["dave-1"]
    finish(pool, "r-1")
    assert grant(pool) == ["w"]


def test_a_reservation_is_no_start_in_a_rate_that_all_share_until_it_starts() -> None:
    pool = with_a_reservation(pods(4, "m"), rate(1, 60_000), lane="m")
    pool.submit(ticket("a-1", lane="x"))
    assert grant(pool) == ["a-1"]
    finish(pool)
    assert grant(pool, START + 59_999) == []
    pool.submit(ticket("a-2", lane="x"))
    assert grant(pool, START + 60_000) == ["wide"]
    assert grant(pool, START + 60_001) == []


def test_a_reserved_job_gets_its_token_when_it_starts() -> None:
    pool = with_a_reservation()
    pool.declare(rules(pods(6)))
    pool.submit(ticket("a-1"))
    [first, second] = decide(pool, START).grants
    assert (first.lease.uid, first.lease.token) == ("wide", 2)
    assert (second.lease.uid, second.lease.token) == ("a-1", 3)


@pytest.mark.parametrize(
    "fields", [{"held": True}, {"width": 3}, {"lane": "x"}, {"tenant": "dave"}], ids=str
)
def test_a_reservation_is_lost_when_its_job_is_held_or_comes_back_as_another(
    fields: dict[str, Any],
) -> None:
    pool = with_a_reservation()
    wide = pool.ticket("wide")
    assert wide is not None
    pool.submit(replace(wide, **fields))
    assert pool.reservation("wide") is None


def test_a_reservation_is_lost_with_its_job_and_keeps_no_room_any_more() -> None:
    pool = with_a_reservation()
    pool.submit(ticket("a-1"))
    pool.forget("wide")
    assert grant(pool) == ["a-1"]


def test_a_reserved_job_that_is_said_anew_keeps_its_reservation() -> None:
    """Another trait, or the same as before: an event came twice."""
    pool = with_a_reservation()
    wide = pool.ticket("wide")
    assert wide is not None
    pool.submit(wide)
    pool.submit(replace(wide, traits=(("urgent", 1000),)))
    assert pool.reservation("wide") is not None


def test_the_turn_of_a_lost_reservation_is_not_given_back() -> None:
    pool = with_a_reservation()
    pool.forget("wide")
    turns = pool.snapshot().fairness
    assert turns.tags == {"carol": turns.scale}


def test_a_pause_keeps_a_reservation() -> None:
    pool = with_a_reservation()
    pool.declare(rules(pods(4), paused=True))
    finish(pool)
    pool.submit(ticket("a-1"))
    assert grant(pool) == []
    pool.declare(rules(pods(4)))
    assert grant(pool) == ["wide"]


def test_a_reserved_job_that_became_too_wide_keeps_nothing_from_others() -> None:
    pool = with_a_reservation()
    pool.submit(ticket("a-1"))
    pool.declare(rules(pods(3)))
    assert grant(pool) == ["a-1"]
    pool.declare(rules(pods(6)))
    assert grant(pool) == ["wide"]


def test_a_reservation_outlives_the_operator() -> None:
    """It is in the state that a ledger keeps, and holds again when its Job is listed."""
    old = with_a_reservation()
    new = book(pods(4), state=old.snapshot(), running=old.leases(), waiting=old.tickets())
    new.submit(ticket("a-1", submitted=START - 9))
    assert grant(new) == []
    finish(new)
    assert grant(new) == ["wide"]


def test_a_redelivery_is_reserved_without_a_turn() -> None:
    pool = book(pods(4), waiting=[ticket("wide", "carol", width=4, deliveries=1)])
    pool.occupy(lease())
    before = pool.snapshot().fairness
    [kept] = decide(pool, START).reserved
    assert (kept.charge, pool.snapshot().fairness) == (0, before)


def test_a_job_of_no_pods_needs_room_for_one_and_is_never_reserved() -> None:
    pool = book(pods(1), waiting=[ticket("none", width=0)], running=[lease()])
    assert (grant(pool), reserved(pool)) == ([], [])
    finish(pool)
    assert grant(pool) == ["none"]
    assert book(pods(1), running=[lease(width=0)], waiting=[ticket()]).waiting == 1


def test_room_is_kept_since_the_decision_that_first_closed_a_limit() -> None:
    pool = with_a_reservation()
    kept = pool.reservation("wide")
    assert kept is not None
    assert (kept.at, kept.kept) == (START, START)


def test_no_room_is_kept_while_the_tenant_s_own_limit_is_in_the_way() -> None:
    waiting = [ticket("w", "carol", width=4)]
    running = [lease("c-0", "carol", width=2), lease("b-0", "bob", width=1)]
    pool = book(pods(6), pods(5, each=True), waiting=waiting, running=running)
    assert reserved(pool) == ["w"]
    waits = pool.reservation("w")
    assert waits is not None
    assert waits.kept is None
    pool.forget("c-0")
    pool.occupy(lease("b-0", "bob", width=3))
    assert reserved(pool, START + 9) == []
    kept = pool.reservation("w")
    assert kept is not None
    assert kept.kept == START + 9


def test_a_younger_reservation_leaves_the_room_that_is_kept_for_an_older_one() -> None:
    """When both were reserved the pool had room; what comes free in it now is the older one's."""
    running = [lease("r-1", "x", lane="m", width=2), lease("r-2", "y", lane="n", width=3)]
    old = ticket("old", "alice", lane="m", width=4, submitted=START - 2)
    young = ticket("young", "bob", lane="n", width=2, submitted=START - 1)
    pool = book(pods(9), pods(4, "m"), pods(4, "n"), running=running, waiting=[old, young])
    assert [one.uid for one in decide(pool, START).reserved] == ["old", "young"]
    pool.submit(ticket("narrow", "carol", width=4))
    assert grant(pool) == ["narrow"]
    finish(pool, "r-2")
    assert grant(pool) == []
    finish(pool, "r-1")
    assert grant(pool) == ["old"]
