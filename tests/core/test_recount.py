"""A recount finds what the counters of a book say that is not so, and nothing else."""

import pytest

from kwicket.core.book import Book
from kwicket.core.decide import decide
from kwicket.core.pools import Rules
from kwicket.core.recount import Recount
from kwicket.core.state import State
from support.builders import START, jobs, pods, pool, ticket


def book() -> Book:
    """Two Jobs of alice hold slots, one in the lane; bob's and another of alice's wait."""
    limits = (
        jobs(2, name="jobs"),
        pods(9, name="pods"),
        jobs(5, "gpu", name="lane"),
        pods(7, each=True, name="each"),
    )
    made = Book(Rules(pool(), limits), State(1), START)
    made.submit(ticket("x-1", "alice", width=2))
    made.submit(ticket("x-2", "alice", lane="gpu", width=3))
    assert len(decide(made, START).grants) == 2
    made.submit(ticket("x-3"))
    made.submit(ticket("x-4", "bob"))
    return made


def differences(of: Book) -> list[str]:
    recount = Recount(of)
    recount.count(len(recount.uids))
    return [
        one.replace("jobs-pool", "jobs").replace("pods-pool", "pods")
        for one in recount.differences()
    ]


def test_a_book_that_is_right_has_no_differences() -> None:
    assert differences(book()) == []


def test_what_happens_while_it_is_counted_makes_no_difference() -> None:
    made = book()
    recount = Recount(made)
    recount.count(2)
    made.forget("x-1", START)
    made.forget("x-4", START)
    assert len(decide(made, START).grants) == 1
    recount.count(10)
    assert recount.differences() == ()
    assert differences(made) == []


@pytest.mark.parametrize(
    ("where", "counter", "said"),
    [
        ("pool", "jobs", ["limit jobs: 3, counted 2"]),
        ("pool", "pods", ["limit pods: 6, counted 5"]),
        ("lane", "jobs", ["limit lane: 2, counted 1"]),
        ("own", "pods", ["limit each of tenant alice: 6, counted 5"]),
        ("own", "reserved", ["reserved: pool of tenant alice: 1, counted 0"]),
        ("own", "held", ["held back: pool of tenant alice: 1, counted 0"]),
        ("tenant", "running", ["Jobs that hold a slot of tenant alice: 3, counted 2"]),
        ("tenant", "waiting", ["waiting Jobs of tenant alice: 2, counted 1"]),
    ],
)
def test_a_counter_that_is_wrong_is_named(where: str, counter: str, said: list[str]) -> None:
    made = book()
    scopes, alice = made.in_line.scopes, made.turns.tenant("alice")
    found = {"pool": scopes.pool, "lane": scopes.lane("gpu").gate, "own": alice.gate}
    counted = found.get(where, alice)
    setattr(counted, counter, getattr(counted, counter) + 1)
    assert differences(made) == said


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("pool", "open: pool: 1, counted 0"),
        ("lane", "open: lane gpu: 0, counted 1"),
        ("own", "open: pool of tenant alice: 0, counted 1"),
    ],
)
def test_a_gate_that_is_not_as_its_counters_say_is_named(where: str, said: str) -> None:
    made = book()
    scopes, alice = made.in_line.scopes, made.turns.tenant("alice")
    gate = {"pool": scopes.pool, "lane": scopes.lane("gpu").gate, "own": alice.gate}[where]
    assert gate is not None
    gate.open = not gate.open
    assert differences(made) == [said]


def reserved() -> Book:
    """A wide Job of bob's has taken its turn; the pool is closed for all others until alice's ends.

    Another one of bob's waits.
    """
    made = Book(Rules(pool(), (pods(4), pods(4, each=True))), State(1), START)
    made.submit(ticket("x-1", "alice", width=2))
    assert len(decide(made, START).grants) == 1
    made.submit(ticket("y-1", "bob", width=3))
    made.submit(ticket("y-2", "bob"))
    assert len(decide(made, START).reserved) == 1
    return made


def test_a_book_that_keeps_room_is_right() -> None:
    made = reserved()
    assert made.in_line.scopes.pool.closed
    assert differences(made) == []
    made.forget("x-1", START)
    assert differences(made) == []
    assert len(decide(made, START).grants) == 2
    assert differences(made) == []


def test_room_that_is_kept_for_nobody_is_named() -> None:
    made = reserved()
    bob = made.turns.tenant("bob").gate
    assert bob is not None
    bob.reserved += 1
    made.in_line.scopes.pool.closed = False
    assert differences(made) == [
        "closed: pool: 0, counted 1",
        "open: pool: 0, counted 1",
        "reserved: pool of tenant bob: 2, counted 1",
    ]
