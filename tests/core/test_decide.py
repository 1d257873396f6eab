"""The decision: bounded, repeatable, and honest about its moment."""

from fractions import Fraction

from kwicket.core.decide import MOST_GRANTS, decide, next_opening
from kwicket.core.starts import Start
from kwicket.core.state import State
from support.builders import START, book, fairness, intent, jobs, lease, pods, rate, ticket, tickets
from support.rounds import grant, turn


def test_one_decision_grants_16_jobs_at_most() -> None:
    pool = book(waiting=tickets("alice", 40))
    assert (MOST_GRANTS, len(grant(pool))) == (16, 16)
    assert (pool.waiting, pool.running) == (24, 16)


def test_one_decision_grants_no_more_than_it_is_asked_for() -> None:
    assert grant(book(waiting=tickets("alice", 9)), most=2) == ["alice-1", "alice-2"]


def test_tokens_follow_the_version_one_by_one() -> None:
    decision = decide(book(waiting=tickets("alice", 3), state=State(41)), START)
    assert [one.lease.token for one in decision.grants] == [42, 43, 44]
    assert decision.state.version == 44


def test_a_decision_changes_nothing_in_the_book() -> None:
    pool = book(jobs(5), rate(9, 1000), waiting=tickets("alice", 3) + tickets("bob", 3))
    state, files = pool.state, {file: dict(held) for file, held in pool.files().items()}
    decide(pool, START)
    assert pool.state is state
    assert (pool.waiting, pool.running, dict(pool.files())) == (6, 0, files)
    assert dict(pool.line()) == {"alice": 3, "bob": 3}


def test_the_same_book_gives_the_same_decision() -> None:
    pool = book(jobs(9), waiting=tickets("alice", 9) + tickets("bob", 9))
    assert decide(pool, START) == decide(pool, START)


def test_turns_and_room_are_counted_anew_after_each_grant() -> None:
    waiting = tickets("alice", 9, submitted=START - 1) + tickets("bob", 9)
    assert grant(book(jobs(3), waiting=waiting)) == ["alice-1", "bob-1", "alice-2"]


def test_a_grant_says_what_is_known_of_its_job() -> None:
    one = ticket("x-1", "bob", lane="gpu", width=3)
    [granted] = decide(book(waiting=[one], shares={"bob": 4}), START).grants
    expected = lease("x-1", "bob", lane="gpu", width=3, token=2)
    assert granted == intent("x-1", "bob", cost=Fraction(1, 4), lane="gpu", width=3, token=2)
    assert granted.lease == expected


def test_a_redelivery_costs_nothing() -> None:
    [granted] = decide(book(waiting=[ticket(deliveries=1)]), START).grants
    assert granted.cost == 0


def test_the_moment_is_never_before_the_last_grant() -> None:
    """The wall clock went back by a minute: the rate window does not open again."""
    pool = book(rate(1, 30_000), waiting=tickets("alice", 3))
    assert grant(pool, START) == ["alice-1"]
    assert grant(pool, START - 60_000) == []
    [granted] = turn(pool, START + 30_000)
    assert granted.at == START + 30_000
    pool = book(waiting=tickets("alice", 1), state=State(1, last_grant=START + 5))
    [granted] = turn(pool, START)
    assert (granted.at, pool.state.last_grant) == (START + 5, START + 5)


def test_the_last_grant_is_the_moment_of_a_decision_that_granted() -> None:
    pool = book(waiting=tickets("alice", 1))
    grant(pool, START)
    grant(pool, START + 99)
    assert pool.state.last_grant == START


def test_a_paused_pool_grants_nothing_and_keeps_what_runs() -> None:
    pool = book(waiting=tickets("alice", 3), running=[lease()], paused=True)
    assert grant(pool) == []
    assert (pool.waiting, pool.running, pool.state.version) == (3, 1, 1)


def test_a_pool_that_is_not_understood_grants_nothing() -> None:
    pool = book(rate(1, 9), waiting=tickets("alice", 3), fault="it reserves")
    assert grant(pool) == []
    assert next_opening(pool, START) is None


def test_a_held_job_is_passed_over_by_its_own_tenant_and_by_others() -> None:
    waiting = [ticket("a-1", held=True), ticket("a-2"), ticket("b-1", "bob")]
    assert grant(book(waiting=waiting)) == ["a-2", "b-1"]


def test_intents_stay_until_they_are_acknowledged() -> None:
    pool = book(waiting=tickets("alice", 2))
    first = decide(pool, START, most=1)
    pool.state = first.state
    pool.occupy(first.grants[0].lease)
    second = decide(pool, START, most=1)
    assert second.state.intents == first.grants + second.grants
    assert second.state.acknowledged([2]).intents == second.grants


def test_a_grant_that_never_reached_its_job_is_undone_but_for_its_token() -> None:
    """Its tag and its start are given back; the token is never used again."""
    pool = book(rate(1, 60_000), waiting=tickets("alice", 2))
    [granted] = decide(pool, START).grants
    after = decide(pool, START).state.returned(granted)
    assert (after.intents, after.starts, after.fairness) == ((), (), fairness(0))
    assert after.version == 2


def test_only_one_of_several_equal_starts_is_given_back() -> None:
    pool = book(rate(9, 60_000), waiting=tickets("alice", 3))
    decision = decide(pool, START)
    after = decision.state.returned(decision.grants[1])
    assert after.starts == (Start(START, "alice", ""),) * 2
    assert after.fairness == fairness(2, {})
    assert [one.lease.token for one in after.intents] == [2, 4]


def test_a_grant_is_given_back_once() -> None:
    state = State(5, fairness(0, {"alice": 2}), intents=(intent(token=5),))
    once = state.returned(intent(token=5))
    assert once.fairness == fairness(0, {"alice": 1})
    assert once.returned(intent(token=5)) == once


def test_room_that_a_wide_job_cannot_use_goes_to_the_next() -> None:
    pool = book(pods(4), waiting=[ticket("wide", width=4, submitted=START - 1), ticket("x-1")])
    pool.occupy(lease(width=2))
    assert grant(pool) == ["x-1"]
