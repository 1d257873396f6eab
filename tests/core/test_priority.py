"""Turn, traits and age, weighed; and the total order of the line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kwicket.core.order import natural_key
from kwicket.core.priority import HIGHEST_WEIGHT, Age, FairShare, Priority, Trait
from kwicket.core.state import State
from support.builders import START, book, fairness, jobs, priority, ticket, tickets
from support.rounds import grant, one_by_one

MINUTE = 60_000
HALF_HOUR = 30 * MINUTE
BOB_HAD_A_TURN = State(1, fairness(0, {"bob": 1}))


def test_a_due_tenant_is_first_where_fair_share_outweighs_the_rest_together() -> None:
    factors = priority(FairShare(3), Trait("urgent", 1), Age(1))
    waiting = [ticket("a-1", "alice"), ticket("b-1", "bob", traits=(("urgent", 1000),))]
    pool = book(waiting=waiting, priority=factors, state=BOB_HAD_A_TURN)
    assert grant(pool, START + HALF_HOUR) == ["a-1", "b-1"]


def test_a_trait_that_outweighs_fair_share_is_before_the_turn() -> None:
    factors = priority(FairShare(1), Trait("urgent", 2))
    waiting = [ticket("a-1", "alice"), ticket("b-1", "bob", traits=(("urgent", 501),))]
    pool = book(waiting=waiting, priority=factors, state=BOB_HAD_A_TURN)
    assert grant(pool) == ["b-1", "a-1"]


def test_equal_scores_do_not_prefer_the_due_tenant() -> None:
    """Due with trait 0 against trait 1.0 at equal weights: a tie, the earlier submitted wins."""
    factors = priority(FairShare(1), Trait("urgent", 1))
    early = ticket("b-1", "bob", traits=(("urgent", 1000),), submitted=START - 1)
    waiting = [ticket("a-1", "alice"), early]
    pool = book(waiting=waiting, priority=factors, state=BOB_HAD_A_TURN)
    assert grant(pool) == ["b-1", "a-1"]


def test_a_job_without_the_trait_has_0_of_it() -> None:
    factors = priority(Trait("urgent", 1))
    waiting = [
        ticket("none", submitted=START - 9),
        ticket("some", traits=(("urgent", 1),)),
        ticket("other", traits=(("size", 1000),), submitted=START - 8),
    ]
    assert grant(book(waiting=waiting, priority=factors)) == ["some", "none", "other"]


def test_traits_add_up_by_their_weights() -> None:
    factors = priority(Trait("a", 3), Trait("b", 2))
    waiting = [
        ticket("half-of-each", traits=(("a", 500), ("b", 500))),
        ticket("all-of-a", traits=(("a", 1000),)),
        ticket("all-of-b", traits=(("b", 1000),)),
        ticket("most-of-a", traits=(("a", 834),)),
    ]
    order = grant(book(waiting=waiting, priority=factors))
    assert order == ["all-of-a", "most-of-a", "half-of-each", "all-of-b"]


@pytest.mark.parametrize(
    ("waited", "expected"),
    [(0, 0), (1, 1), (500, 500), (999, 999), (1000, 1000), (24 * 60 * MINUTE, 1000)],
    ids=["new", "a millisecond", "half", "nearly full", "full", "a day"],
)
def test_age_grows_from_0_to_full_and_stays_there(waited: int, expected: int) -> None:
    """Full after a second, so a millisecond of it is a thousandth of a trait.

    A Job of this moment is behind with a trait as large, and before with one step more.
    """
    factors = priority(Age(1, 1000), Trait("urgent", 1), Trait("step", 1))
    now = START + waited
    later = ticket("later", traits=(("urgent", expected),), submitted=now)
    pool = book(waiting=[ticket("aged", submitted=START), later], priority=factors)
    assert grant(pool, now) == ["aged", "later"]
    more = replace(later, traits=(("urgent", expected), ("step", 1)))
    pool = book(waiting=[ticket("aged", submitted=START), more], priority=factors)
    assert grant(pool, now) == ["later", "aged"]


@pytest.mark.parametrize(("now", "first"), [(START, "half"), (START + 1, "aged")])
def test_age_and_trait_are_weighed_on_one_scale(now: int, first: str) -> None:
    """Half an age is worth as much as half a trait, whatever fullAfter is."""
    factors = priority(Age(7, 777), Trait("urgent", 7))
    half = ticket("half", traits=(("urgent", 500),), submitted=now)
    waiting = [ticket("aged", submitted=START - 388), half]
    assert grant(book(jobs(1), waiting=waiting, priority=factors), now) == [first]


@pytest.mark.parametrize(
    ("trait", "waited", "first"),
    [(999, 9, "due"), (1000, 9, "urgent"), (1000, 1, "due")],
    ids=["less", "as much, and earlier", "as much, and later"],
)
def test_the_turn_weighs_as_much_as_a_full_trait_of_that_weight(
    trait: int, waited: int, first: str
) -> None:
    """Of Jobs that are full of age; as much is a tie, and the earlier one starts."""
    factors = priority(FairShare(5), Trait("urgent", 5), Age(1, HALF_HOUR))
    full = START - HALF_HOUR
    urgent = ticket("urgent", "bob", traits=(("urgent", trait),), submitted=full - waited)
    waiting = [ticket("due", "alice", submitted=full - 5), urgent]
    pool = book(jobs(1), waiting=waiting, priority=factors, state=BOB_HAD_A_TURN)
    assert grant(pool) == [first]


def test_jobs_full_of_age_go_by_their_submission() -> None:
    factors = priority(Age(1, MINUTE))
    waiting = [
        ticket("late", submitted=START - 2 * MINUTE),
        ticket("early", submitted=START - 9 * MINUTE),
    ]
    assert grant(book(waiting=waiting, priority=factors)) == ["early", "late"]


def test_without_factors_the_line_is_first_come_first_served() -> None:
    waiting = [ticket(f"x-{n}", "alice" if n % 3 else "bob", submitted=START - n) for n in range(9)]
    order = grant(book(waiting=waiting, priority=priority()))
    assert order == [f"x-{n}" for n in range(8, -1, -1)]


def test_names_break_ties_with_digits_read_as_numbers() -> None:
    names = ["x-10", "x-2", "a-3", "x-1"]
    assert grant(book(waiting=[ticket(n) for n in names])) == ["a-3", "x-1", "x-2", "x-10"]


@pytest.mark.parametrize(
    "order",
    [
        ["x-2", "x-10"],
        ["x-9-b", "x-10-a"],
        ["team-2/x", "team-10/a"],
        ["2x", "x2"],
        ["x", "x-1"],
        ["x-1", "x-01", "x-01a"],
        ["x-" + "9" * 60, "x-1" + "0" * 60],
    ],
)
def test_the_natural_order_of(order: list[str]) -> None:
    backwards = order[::-1]
    assert sorted(backwards, key=natural_key) == order


@given(st.permutations(range(12)))
def test_the_order_of_starts_does_not_depend_on_the_order_of_arrival(order: list[int]) -> None:
    factors = priority(FairShare(2), Trait("urgent", 3), Age(1))
    waiting = [
        ticket(
            f"x-{n % 7}-{n}",
            f"tenant-{n % 3}",
            traits=(("urgent", n % 4 * 100),),
            lane=f"lane-{n % 2}",
            submitted=START - n % 2,
        )
        for n in range(12)
    ]
    expected = grant(book(jobs(9), waiting=waiting, priority=factors))
    assert grant(book(jobs(9), waiting=[waiting[n] for n in order], priority=factors)) == expected


def test_age_across_tenants_does_not_undo_fairness_while_fair_share_outweighs_it() -> None:
    """A flood with an old backlog gets no more turns than the others."""
    factors = priority(FairShare(2), Age(1))
    waiting = tickets("flood", 50, submitted=START - 10 * HALF_HOUR) + tickets("light", 10)
    order = one_by_one(book(waiting=waiting, priority=factors), 20)
    assert order == ["flood", "light"] * 10


@pytest.mark.parametrize(
    "factors",
    [
        (FairShare(-1),),
        (Trait("a", HIGHEST_WEIGHT + 1),),
        (FairShare(1), FairShare(2)),
        (Age(1), Age(2)),
        (Trait("a", 1), Trait("a", 2)),
        (Age(1, 0),),
        (Age(1, 366 * 24 * 3_600_000),),
    ],
)
def test_senseless_factors_are_refused(factors: tuple[FairShare | Trait | Age, ...]) -> None:
    with pytest.raises(ValueError, match="priority"):
        Priority(factors)


def test_a_job_of_a_clock_that_is_ahead_has_an_age_of_0_and_not_below() -> None:
    """A thousandth of a trait is a millisecond of age, and it is ahead by five."""
    ahead = ticket("ahead", traits=(("urgent", 1),), submitted=START + 5)
    factors = priority(Age(1, 1000), Trait("urgent", 1))
    pool = book(jobs(1), waiting=[ticket("new", submitted=START), ahead], priority=factors)
    assert grant(pool) == ["ahead"]


def test_a_job_of_a_clock_that_is_ahead_starts_after_an_equal_one_of_now() -> None:
    """Neither has gained anything yet, so the earlier one is first, whatever its name."""
    waiting = [ticket("a-1", submitted=START + 5), ticket("b-1", submitted=START)]
    pool = book(jobs(1), waiting=waiting, priority=priority(FairShare(1), Age(1)))
    assert grant(pool) == ["b-1"]
