"""The line as its members see it."""

import pytest

from kwicket.core.limits import Closed, Limit
from kwicket.core.line import LONGEST, positions, why
from kwicket.core.reasons import SENTENCES, Reason
from kwicket.core.starts import Start
from kwicket.core.state import State
from support.builders import START, book, jobs, lease, limit, pods, rate, ticket, tickets
from support.rounds import finish, grant


def test_positions_are_the_order_in_which_slots_would_be_given() -> None:
    waiting = tickets("alice", 3) + tickets("bob", 2) + tickets("carol", 1)
    pool = book(jobs(1), waiting=waiting, running=[lease()])
    places = positions(pool, START)
    finish(pool)
    order = []
    for _ in range(6):
        order += grant(pool)
        finish(pool)
    assert [uid for uid, _ in sorted(places.items(), key=lambda item: item[1])] == order
    assert places["carol-1"] == 3


def test_a_held_job_has_no_place() -> None:
    pool = book(waiting=[ticket("x-1", held=True), ticket("x-2")])
    assert positions(pool, START) == {"x-2": 1}


def test_a_paused_line_has_its_places() -> None:
    assert positions(book(waiting=[ticket()], paused=True), START) == {"x-1": 1}


def test_a_reserved_job_is_first() -> None:
    pool = book(pods(4), waiting=[ticket("wide", "carol", width=4)], running=[lease()])
    grant(pool)
    for one in tickets("alice", 2, submitted=START - 9):
        pool.submit(one)
    assert positions(pool, START) == {"wide": 1, "alice-1": 2, "alice-2": 3}


def test_looking_at_the_places_changes_nothing() -> None:
    pool = book(jobs(1), waiting=tickets("alice", 3) + tickets("bob", 3), running=[lease()])
    before = pool.snapshot()
    positions(pool, START + 5)
    assert (pool.snapshot(), pool.waiting, pool.running) == (before, 6, 1)


def test_in_a_very_long_line_nothing_is_counted() -> None:
    assert len(positions(book(waiting=tickets("alice", LONGEST)), START)) == LONGEST
    assert positions(book(waiting=tickets("alice", LONGEST + 1)), START) == {}


WAITING = ticket("x-1", width=2)


@pytest.mark.parametrize(
    ("limits", "reason", "text"),
    [
        ([jobs(2)], Reason.LIMIT_REACHED, "limit jobs-pool is reached: 2 of 2 Jobs run"),
        ([jobs(1)], Reason.LIMIT_REACHED, "limit jobs-pool is reached: 2 of 1 Jobs run"),
        ([pods(4)], Reason.LIMIT_REACHED, "limit pods-pool is reached: 3 of 4 pods run"),
        (
            [rate(1, 1000)],
            Reason.RATE_REACHED,
            "limit rate-pool is reached: 1 of 1 starts in its window",
        ),
        (
            [limit(Closed("it counts memory"))],
            Reason.LIMIT_NOT_UNDERSTOOD,
            "nothing starts under limit closed-pool, which this version of Kwicket does not"
            " understand: it counts memory",
        ),
        ([jobs(9)], Reason.NOT_ITS_TURN, "it is another tenant's or an earlier Job's turn"),
    ],
)
def test_why_a_job_waits(limits: list[Limit], reason: Reason, text: str) -> None:
    state = State(1, starts=(Start(START, "bob", ""),))
    running = [lease("r-1", width=2), lease("r-2")]
    pool = book(*limits, waiting=[WAITING], running=running, state=state)
    assert why(pool, WAITING) == (reason, text)


def test_a_job_whose_turn_has_come_is_told_so_and_so_are_those_that_wait_for_it() -> None:
    wide = ticket("wide", "carol", width=4)
    pool = book(pods(4), waiting=[wide, WAITING], running=[lease("r-1", width=2)])
    assert grant(pool) == []
    assert why(pool, wide)[0] is Reason.TURN_TAKEN
    reason, text = why(pool, WAITING)
    assert reason is Reason.ROOM_KEPT
    assert "team/wide" in text


def test_a_pause_and_a_hold_are_said_before_any_limit() -> None:
    held = ticket(held=True)
    pool = book(jobs(0), waiting=[held])
    assert why(pool, held)[0] is Reason.HELD
    pool = book(jobs(0), waiting=[held], paused=True)
    assert why(pool, held) == (Reason.POOL_PAUSED, "pool pool is paused")


def test_a_pool_that_is_not_understood_is_said_before_all_else() -> None:
    held = ticket(held=True)
    pool = book(jobs(0), waiting=[held], paused=True, fault="it reserves")
    reason, text = why(pool, held)
    assert reason is Reason.POOL_NOT_UNDERSTOOD
    assert text.endswith("it reserves")


def test_every_reason_has_a_sentence() -> None:
    assert set(SENTENCES) == set(Reason)
