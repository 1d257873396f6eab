"""The twelve ways in which Start-time Fair Queuing is known to go wrong in production.

By their numbers in the list that Trigger.dev made of theirs. Each test fails if the mistake that
its docstring names is made; the figures in it are what the mistake cost there.
"""

from collections import Counter
from collections.abc import Callable
from itertools import groupby
from typing import Any

import pytest
from msgspec.structs import replace

from kwicket.core.book import Book
from kwicket.core.state import State
from kwicket.core.tickets import Ticket
from support.builders import START, book, jobs, lease, rate, ticket, tickets
from support.rounds import finish, grant, one_by_one, turn

PER = 60_000
CROWD = [f"gated{number}" for number in range(20)]


def crowd(**fields: Any) -> list[Ticket]:
    """Two Jobs of each of 20 tenants, who all have waited longer than anybody else."""
    return [one for tenant in CROWD for one in tickets(tenant, 2, submitted=START - 9, **fields)]


def gated_by_a_closed_lane() -> Book:
    """A pool in which a crowd waits and nothing of it may start."""
    return book(jobs(0, "shut"), waiting=crowd(lane="shut"))


def gated_by_limits_of_their_own() -> Book:
    """The same, with the only slot taken that each of them may have in its lane."""
    running = [lease(f"{tenant}-0", tenant, lane="shut") for tenant in CROWD]
    return book(jobs(1, "shut", each=True), waiting=crowd(lane="shut"), running=running)


def gated_by_a_rate() -> Book:
    """The same, with the only start of this minute used up in its lane."""
    pool = book(rate(1, PER, "shut"), waiting=tickets("first", 1, lane="shut"))
    assert one_by_one(pool, 1) == ["first"]
    come(pool, crowd(lane="shut"))
    return pool


def gated_by_holds() -> Book:
    """The same, with a hold on each of its Jobs."""
    return book(waiting=crowd(held=True))


GATES = [gated_by_a_closed_lane, gated_by_limits_of_their_own, gated_by_a_rate, gated_by_holds]


def come(pool: Book, arrivals: list[Ticket]) -> None:
    """These Jobs join the line."""
    for one in arrivals:
        pool.submit(one)


def kept(pool: Book) -> State:
    """What a ledger keeps of this pool."""
    return pool.snapshot()


def restarted(pool: Book) -> Book:
    """The book of the next operator: what the ledger keeps, and what the cluster shows."""
    taken_over = Book(pool.rules, kept(pool))
    come(taken_over, list(pool.tickets()))
    for held in list(pool.leases()):
        taken_over.occupy(held)
    return taken_over


def history() -> Book:
    """alice had three turns alone, and then her line was empty; her tag is a turn ahead."""
    pool = book(waiting=tickets("alice", 3))
    assert one_by_one(pool, 3) == ["alice"] * 3
    return pool


@pytest.mark.parametrize("gated", GATES)
def test_1_a_gated_tenant_does_not_hold_virtual_time_back(gated: Callable[[], Book]) -> None:
    """Virtual time as the smallest start of all: a newcomer took 20 of 20 starts."""
    pool = gated()
    come(pool, tickets("busy", 60))
    for _ in range(20):
        turn(pool, most=1)
        finish(pool, *[f"busy-{number}" for number in range(1, 61)])
    come(pool, tickets("new", 20))
    order = [one.lease.tenant for _ in range(20) for one in turn(pool, most=1)]
    assert Counter(order) == {"new": 10, "busy": 10}


def test_2_a_tenant_that_drains_comes_back_with_its_tag() -> None:
    """A tag forgotten with the last Job: one that stays got 1 of 600 starts instead of 120."""
    pool = book(waiting=tickets("stays", 130))
    order = []
    for number in range(600):
        for tenant in ("a", "b", "c", "d"):
            if tenant not in pool.line():
                pool.submit(ticket(f"{tenant}-{number}", tenant, submitted=START - 1))
        order += one_by_one(pool, 1)
    assert Counter(order) == dict.fromkeys(["stays", "a", "b", "c", "d"], 120)


def test_3_newcomers_join_the_pack_and_do_not_lead_it() -> None:
    """Newcomers at the floor: a stream of them left those with a history 1 of 600 starts.

    Every tenth start brings a new tenant with ten Jobs. Between two turns of the old one nobody
    has two, and it is not delayed by those who drained.
    """
    pool = book(waiting=tickets("old", 150, submitted=START - 1))
    order = one_by_one(pool, 50)
    for number in range(20):
        come(pool, tickets(f"new{number}", 10))
        order += one_by_one(pool, 10)
    between = [list(few) for old, few in groupby(order, "old".__eq__) if not old]
    assert len(between) > 20
    assert all(len(few) == len(set(few)) for few in between)


def test_3_a_tag_grows_with_every_start_however_large_the_share() -> None:
    """A cost that rounds to nothing: the tenant of the largest share is due for ever."""
    waiting = tickets("small", 2) + tickets("large", 2000, submitted=START + 1)
    pool = book(waiting=waiting, shares={"large": 1000})
    order = [one.lease.tenant for one in turn(pool, most=1002)]
    assert Counter(order) == {"large": 1000, "small": 2}


def test_4_no_clamp_is_reached_however_many_starts_there_were() -> None:
    """A cap on how far a tag may lie above the floor: 92 against 293 of 1,500 starts.

    Whoever has the smallest share lies farthest above, and would gain.
    """
    shares = {"a": 500, "b": 400, "c": 300, "d": 200, "e": 100}
    waiting = [one for tenant in shares for one in tickets(tenant, 600)]
    order = [one.lease.tenant for one in turn(book(waiting=waiting, shares=shares), most=1500)]
    for begin in range(0, 1500, 15):
        assert Counter(order[begin : begin + 15]) == {"a": 5, "b": 4, "c": 3, "d": 2, "e": 1}


@pytest.mark.parametrize("gated", GATES)
def test_5_gated_jobs_use_up_no_part_of_a_decision(gated: Callable[[], Book]) -> None:
    """A scan window or a batch full of those who may not start: the fair pass starts nothing."""
    pool = gated()
    come(pool, tickets("open", 16))
    assert grant(pool) == [f"open-{number}" for number in range(1, 17)]


def started_and_ended(pool: Book) -> None:
    """Its last Job runs to its end."""
    one_by_one(pool, 1)


def cancelled_in_line(pool: Book) -> None:
    """Its last Job is deleted before it starts."""
    pool.forget("last")


def cancelled_while_it_runs(pool: Book) -> None:
    """Its last Job is deleted after it started."""
    grant(pool)
    pool.forget("last")


def put_back_and_cancelled(pool: Book) -> None:
    """Its last Job starts, is suspended, and then deleted."""
    grant(pool)
    pool.submit(ticket("last", "alice", deliveries=1))
    pool.forget("last")


def held_and_cancelled(pool: Book) -> None:
    """Its last Job is held and then deleted."""
    pool.submit(ticket("last", "alice", held=True))
    pool.forget("last")


def given_to_another(pool: Book) -> None:
    """Its last Job is labelled with another tenant, and is deleted there."""
    pool.submit(ticket("last", "carol"))
    pool.forget("last")


@pytest.mark.parametrize(
    "leave",
    [
        started_and_ended,
        cancelled_in_line,
        cancelled_while_it_runs,
        put_back_and_cancelled,
        held_and_cancelled,
        given_to_another,
    ],
)
def test_6_a_tenant_keeps_its_tag_however_its_last_job_leaves(
    leave: Callable[[Book], None],
) -> None:
    """A path out of the line that forgets the tag: who takes it leads when it comes back.

    bob is new and so a turn before alice, whichever way her last Job went.
    """
    pool = history()
    pool.submit(ticket("last", "alice"))
    leave(pool)
    assert (pool.waiting, pool.running) == (0, 0)
    come(pool, tickets("alice", 9, submitted=START - 5) + tickets("bob", 9))
    assert one_by_one(pool, 6) == ["bob", "alice"] * 3


def test_7_virtual_time_and_tags_outlive_the_operator_together() -> None:
    """Virtual time lost and tags kept: a newcomer starts at 0 and leads until it has caught up.

    An operator that dies after every start gives the same order as one that lives.
    """
    lives = book(waiting=tickets("alice", 40) + tickets("bob", 40), shares={"bob": 2})
    dies = restarted(lives)
    orders: tuple[list[str], list[str]] = ([], [])
    for number in range(60):
        for pool, order in zip((lives, dies), orders, strict=True):
            come(pool, tickets(f"new{number}", 6) if number in {20, 30} else [])
            order += one_by_one(pool, 1)
        dies = restarted(dies)
    assert orders[0] == orders[1]
    assert orders[0][20:32].count("new20") == 3


def test_8_news_of_one_tenant_rewind_nobody() -> None:
    """A correction that goes through the path for newcomers: a tag that lives falls back.

    Before each start every Job in line is told anew, as after an edit of its labels.
    """
    shares = {"alice": 3, "carol": 2}
    calm, edited = (
        book(waiting=tickets("alice", 1) + tickets("bob", 20) + tickets("carol", 20), shares=shares)
        for _ in range(2)
    )
    expected, order = [], []
    for number in range(30):
        for pool in (calm, edited):
            come(pool, tickets("alice", 1, uid=f"again-{number}", submitted=START - 1))
        come(edited, [replace(one, traits=(("edit", number),)) for one in list(edited.tickets())])
        expected += one_by_one(calm, 1)
        order += one_by_one(edited, 1)
    assert order == expected
    assert Counter(order) == {"alice": 15, "carol": 10, "bob": 5}


def test_8_a_job_that_comes_back_rewinds_nobody() -> None:
    """A redelivery that lowers its tenant's tag, or raises it: it takes its turn twice.

    alice's first Job is put back and started again; then bob has his turn, as without it.
    """
    pool = book(jobs(1), waiting=tickets("alice", 3) + tickets("bob", 3, submitted=START + 1))
    assert grant(pool) == ["alice-1"]
    pool.submit(ticket("alice-1", "alice", submitted=START - 1, deliveries=1))
    order = []
    for _ in range(6):
        order += grant(pool)
        finish(pool)
    back = order.index("alice-1")
    assert order[:back] + order[back + 1 :] == ["bob-1", "alice-2", "bob-2", "alice-3", "bob-3"]


def test_9_tags_of_tenants_that_left_are_bounded_while_virtual_time_stands() -> None:
    """Tags kept until virtual time passes them: 12,000 after 60 rounds of invented tenants.

    Each of these tenants starts at virtual time, so that it never moves.
    """
    pool = book(jobs(100))
    for number in range(42):
        come(pool, [one for n in range(100) for one in tickets(f"t{number}-{n}", 1)])
        turn(pool, most=100)
        finish(pool)
    assert len(kept(pool).fairness.tags) == 4096


@pytest.mark.parametrize("names", [("a", "b", "c"), ("c", "b", "a"), ("b", "c", "a")])
def test_10_of_equals_the_one_that_came_first_starts(names: tuple[str, str, str]) -> None:
    """Ties by name: whoever is called a leads at every tie, and names are the client's choice."""
    waiting = [
        ticket(f"{tenant}-{number}", tenant, submitted=START + place + 10 * number)
        for place, tenant in enumerate(names)
        for number in range(4)
    ]
    assert one_by_one(book(waiting=waiting), 12, now=START + 99) == [*names] * 4


def test_10_of_equals_that_came_at_one_moment_neither_is_ahead_for_long() -> None:
    """The last resort is the name; it decides the first turn and no more."""
    order = one_by_one(book(waiting=tickets("zoe", 20) + tickets("abe", 20)), 20)
    assert order == ["abe", "zoe"] * 10


def test_11_a_tenant_gated_since_before_the_operator_knew_it_is_found() -> None:
    """Only tenants that were once registered are looked at: one that was gated then is invisible.

    The operator starts with no state; gated's only slot is taken by a Job from before.
    """
    pool = book(jobs(1, "shut", each=True), running=[lease("before", "gated", lane="shut")])
    come(pool, tickets("gated", 3, lane="shut") + tickets("busy", 9, submitted=START - 1))
    assert one_round(pool) == ["busy"]
    finish(pool, "before")
    assert grant(pool) == ["gated-1"] + [f"busy-{number}" for number in range(2, 10)]


def test_11_a_tenant_that_was_held_from_the_start_is_found() -> None:
    """The same with a hold: the Job is due as soon as the label is gone."""
    pool = book(waiting=[ticket("h-1", "gated", held=True), *tickets("busy", 9)])
    assert one_round(pool) == ["busy"]
    pool.submit(ticket("h-1", "gated", submitted=START + 1))
    assert grant(pool)[0] == "h-1"


def test_11_a_tenant_whose_rate_was_used_up_from_the_start_is_found() -> None:
    """The same with a rate: time alone opens it."""
    pool = gated_by_a_rate()
    come(pool, tickets("busy", 9))
    assert one_round(pool) == ["busy"]
    assert grant(pool, START + PER, most=1) == ["gated0-1"]


@pytest.mark.parametrize("most", [2, 5, 16, 60])
def test_12_a_batch_starts_what_single_decisions_would(most: int) -> None:
    """Two copies of the rule drift: what a batch does is not what one decision at a time does."""
    assert batches(most) == batches(1)


def batches(most: int) -> list[str]:
    """Sixty Jobs, three of them at a time in lane gpu, started so many in a decision."""
    limits = jobs(3, "gpu"), jobs(16, each=True), rate(50, PER)
    waiting = tickets("alice", 20) + tickets("bob", 20, submitted=START + 1)
    waiting += tickets("carol", 10, lane="gpu") + tickets("dave", 10, submitted=START - 1)
    waiting += [ticket("again", "carol", submitted=START + 2, deliveries=2)]
    pool = book(*limits, waiting=waiting, shares={"alice": 2, "dave": 3})
    order: list[str] = []
    while started := grant(pool, START + 5, most):
        order += started
    assert len(order) > 40
    return order


def one_round(pool: Book) -> list[str]:
    """One decision of one grant, and the end of the busy tenant's Jobs."""
    order = [one.lease.tenant for one in turn(pool, most=1)]
    finish(pool, *[f"busy-{number}" for number in range(1, 10)])
    return order
