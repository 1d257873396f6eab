"""The decision: bounded, repeatable, and honest about its moment."""

from kwicket.core.decide import MOST_GRANTS, decide, next_opening
from kwicket.core.starts import Start
from kwicket.core.state import State
from support.builders import START, book, fairness, intent, jobs, lease, rate, ticket, tickets
from support.rounds import grant, turn


def test_one_decision_grants_16_jobs_at_most() -> None:
    pool = book(waiting=tickets("alice", 40))
    assert (MOST_GRANTS, len(grant(pool))) == (16, 16)
    assert (pool.waiting, pool.running) == (24, 16)


def test_one_decision_grants_no_more_than_it_is_asked_for() -> None:
    assert grant(book(waiting=tickets("alice", 9)), most=2) == ["alice-1", "alice-2"]


def test_tokens_follow_the_version_one_by_one() -> None:
    pool = book(waiting=tickets("alice", 3), state=State(41))
    decision = decide(pool, START)
    assert [one.lease.token for one in decision.grants] == [42, 43, 44]
    assert pool.snapshot().version == pool.version == 44


def test_a_decision_moves_the_book_on() -> None:
    """What is granted holds its slot, so that the next decision knows it."""
    pool = book(jobs(3), waiting=tickets("alice", 5))
    assert len(decide(pool, START, most=2).grants) == 2
    assert (pool.waiting, pool.running) == (3, 2)
    assert len(decide(pool, START).grants) == 1


def test_the_same_book_gives_the_same_decision() -> None:
    """Whatever the order in which its Jobs came to be known."""
    waiting = tickets("alice", 9) + tickets("bob", 9)
    one, other = book(jobs(9), waiting=waiting), book(jobs(9), waiting=waiting[::-1])
    assert decide(one, START) == decide(other, START)
    assert one.snapshot() == other.snapshot()


def test_turns_and_room_are_counted_anew_after_each_grant() -> None:
    waiting = tickets("alice", 9, submitted=START - 1) + tickets("bob", 9)
    assert grant(book(jobs(3), waiting=waiting)) == ["alice-1", "bob-1", "alice-2"]


def test_a_grant_says_what_is_known_of_its_job() -> None:
    one = ticket("x-1", "bob", lane="gpu", width=3)
    [granted] = decide(book(waiting=[one], shares={"bob": 4}), START).grants
    expected = lease("x-1", "bob", lane="gpu", width=3, token=2)
    assert granted == intent("x-1", "bob", charge=1, lane="gpu", width=3, token=2)
    assert granted.lease == expected


def test_a_redelivery_costs_nothing() -> None:
    [granted] = decide(book(waiting=[ticket(deliveries=1)]), START).grants
    assert granted.charge == 0


def test_the_moment_is_never_before_the_last_grant() -> None:
    """The wall clock went back by a minute: the rate window does not open again."""
    pool = book(rate(1, 30_000), waiting=tickets("alice", 3))
    assert grant(pool, START) == ["alice-1"]
    assert grant(pool, START - 60_000) == []
    [granted] = turn(pool, START + 30_000)
    assert granted.at == START + 30_000
    pool = book(waiting=tickets("alice", 1), state=State(1, last_grant=START + 5))
    [granted] = turn(pool, START)
    assert (granted.at, pool.snapshot().last_grant) == (START + 5, START + 5)


def test_the_last_grant_is_the_moment_of_a_decision_that_granted() -> None:
    pool = book(waiting=tickets("alice", 1))
    grant(pool, START)
    grant(pool, START + 99)
    assert pool.snapshot().last_grant == START


def test_a_paused_pool_grants_nothing_and_keeps_what_runs() -> None:
    pool = book(waiting=tickets("alice", 3), running=[lease()], paused=True)
    assert grant(pool) == []
    assert (pool.waiting, pool.running, pool.version) == (3, 1, 1)


def test_a_pool_that_is_not_understood_grants_nothing() -> None:
    pool = book(rate(1, 9), waiting=tickets("alice", 3), fault="it reserves")
    assert grant(pool) == []
    assert next_opening(pool, START) is None


def test_a_held_job_is_passed_over_by_its_own_tenant_and_by_others() -> None:
    waiting = [ticket("a-1", held=True), ticket("a-2"), ticket("b-1", "bob")]
    assert grant(book(waiting=waiting)) == ["a-2", "b-1"]


def test_intents_stay_until_they_are_acknowledged() -> None:
    pool = book(waiting=tickets("alice", 2))
    first, second = decide(pool, START, most=1), decide(pool, START, most=1)
    assert pool.snapshot().intents == first.grants + second.grants
    pool.acknowledge(2)
    assert pool.snapshot().intents == second.grants
    pool.acknowledge(99)
    assert pool.snapshot().intents == second.grants


def test_a_grant_that_never_reached_its_job_is_undone_but_for_its_token() -> None:
    """Its slot, its tag and its start are given back; the token is never used again."""
    pool = book(rate(1, 60_000), waiting=tickets("alice", 2))
    [granted] = decide(pool, START).grants
    pool.give_back(granted)
    after = pool.snapshot()
    assert (after.intents, after.starts, after.fairness) == ((), (), fairness(0))
    assert (after.version, pool.running) == (2, 0)
    assert decide(pool, START).grants[0].lease.token == 3


def test_only_one_of_several_equal_starts_is_given_back() -> None:
    pool = book(rate(9, 60_000), waiting=tickets("alice", 3))
    decision = decide(pool, START)
    pool.give_back(decision.grants[1])
    after = pool.snapshot()
    assert after.starts == (Start(START, "alice", ""),) * 2
    assert after.fairness == fairness(2, {})
    assert [one.lease.token for one in after.intents] == [2, 4]


def test_a_grant_is_given_back_once() -> None:
    pool = book(state=State(5, fairness(0, {"alice": 2}), intents=(intent(token=5),)))
    for _ in range(2):
        pool.give_back(intent(token=5))
        assert pool.snapshot().fairness == fairness(0, {"alice": 1})
