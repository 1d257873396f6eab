"""Limits: how many may run, and how often one may start."""

import pytest
from msgspec.structs import replace

from kwicket.core.decide import decide, next_opening
from kwicket.core.limits import LONGEST_WINDOW, Closed, Jobs, Limit, Pods, Rate
from kwicket.core.starts import Start
from kwicket.core.state import State
from support.builders import START, book, jobs, lease, limit, pods, rate, rules, ticket, tickets
from support.rounds import finish, grant, turn

PER = 60_000


def starts(*at: int, tenant: str = "alice", lane: str = "") -> State:
    """A pool whose Jobs started then, before or after START."""
    return State(1, starts=tuple(Start(START + moment, tenant, lane) for moment in at))


def test_no_more_jobs_start_than_may_run() -> None:
    pool = book(jobs(3), waiting=tickets("alice", 9), running=[lease()])
    assert len(grant(pool)) == 2
    assert grant(pool) == []


def test_a_job_that_ends_makes_room_for_one() -> None:
    pool = book(jobs(2), waiting=tickets("alice", 9))
    grant(pool)
    finish(pool, "alice-1")
    assert grant(pool) == ["alice-3"]


def test_pods_are_counted_by_the_width_of_each_job() -> None:
    waiting = [ticket("x-1", width=3), ticket("x-2", width=2), ticket("x-3", width=1)]
    assert grant(book(pods(5), waiting=waiting)) == ["x-1", "x-2"]


def test_a_job_as_wide_as_the_room_that_is_left_starts() -> None:
    pool = book(pods(8), waiting=[ticket(width=3)], running=[lease(width=5)])
    assert grant(pool) == ["x-1"]


def test_a_job_of_no_pods_takes_no_room_but_needs_that_of_one_pod() -> None:
    waiting = [ticket("x-1", width=0), ticket("x-2", width=0), ticket("x-3"), ticket("x-4")]
    pool = book(pods(1), waiting=waiting)
    assert grant(pool) == ["x-1", "x-2", "x-3"]
    pool.submit(ticket("x-5", width=0))
    assert grant(pool) == []
    assert grant(book(pods(0), waiting=[ticket(width=0)])) == []


def test_lowering_a_limit_below_its_use_starts_nothing_until_there_is_room() -> None:
    pool = book(jobs(4), waiting=tickets("alice", 9))
    grant(pool)
    pool.declare(rules(jobs(2)))
    assert (grant(pool), pool.running) == ([], 4)
    finish(pool, "alice-1", "alice-2")
    assert grant(pool) == []
    finish(pool, "alice-3")
    assert grant(pool) == ["alice-5"]


@pytest.mark.parametrize("closed", [Jobs(0), Pods(0), Closed("a field from the future")])
def test_nothing_starts_under_a_closed_limit(closed: Jobs | Pods | Closed) -> None:
    assert grant(book(limit(closed), waiting=tickets("alice", 2))) == []


def test_a_limit_for_each_tenant_counts_each_for_itself() -> None:
    pool = book(jobs(1, each=True), waiting=tickets("alice", 3) + tickets("bob", 3))
    assert grant(pool) == ["alice-1", "bob-1"]


def test_a_rate_for_each_tenant_counts_each_for_itself() -> None:
    pool = book(rate(1, PER, each=True), waiting=tickets("alice", 3) + tickets("bob", 3))
    assert grant(pool) == ["alice-1", "bob-1"]
    assert grant(pool, START + PER - 1) == []
    assert grant(pool, START + PER) == ["alice-2", "bob-2"]


def test_all_limits_that_cover_a_job_hold_together() -> None:
    limits = [jobs(5), jobs(2, each=True), pods(3, "gpu"), rate(4, PER)]
    waiting = tickets("alice", 4, lane="gpu") + tickets("bob", 4, lane="gpu", width=2)
    pool = book(*limits, waiting=waiting + tickets("carol", 4))
    assert grant(pool) == ["alice-1", "bob-1", "carol-1", "carol-2"]


def test_limits_of_one_kind_in_one_scope_hold_together() -> None:
    pool = book(jobs(5, name="old"), jobs(2, name="new"), waiting=tickets("alice", 9))
    assert len(grant(pool)) == 2


def test_a_lane_s_limit_says_nothing_of_other_lanes_and_of_the_pool_itself() -> None:
    waiting = tickets("a", 3, lane="gpu") + tickets("b", 3, lane="cpu") + tickets("c", 3)
    pool = book(jobs(1, "gpu"), waiting=waiting)
    assert sorted(grant(pool)) == ["a-1", "b-1", "b-2", "b-3", "c-1", "c-2", "c-3"]


def test_a_pool_s_limit_counts_the_jobs_of_its_lanes() -> None:
    pool = book(jobs(2), jobs(9, "gpu"), waiting=tickets("a", 5, lane="gpu") + tickets("b", 5))
    assert len(grant(pool)) == 2


def test_a_lane_s_rate_counts_its_own_starts_only() -> None:
    state = starts(-1, -2, -3, lane="cpu")
    pool = book(rate(2, PER, "gpu"), waiting=tickets("a", 5, lane="gpu"), state=state)
    assert len(grant(pool)) == 2


def test_a_blocked_job_does_not_stop_a_narrower_one_behind_it() -> None:
    """Work conservation, also across tenants: a blocked tenant uses up nothing."""
    waiting = tickets("alice", 30, width=9, submitted=START - 9) + tickets("bob", 1)
    assert grant(book(pods(8), waiting=waiting), most=1) == ["bob-1"]


def test_a_start_exactly_the_window_ago_counts_no_more() -> None:
    pool = book(rate(1, PER), waiting=[ticket()], state=starts(0))
    assert grant(pool, START + PER - 1) == []
    assert grant(pool, START + PER) == ["x-1"]


def test_a_start_stamped_in_the_future_counts() -> None:
    """Another leader's clock was ahead of ours."""
    pool = book(rate(1, PER), waiting=[ticket()], state=starts(PER // 2))
    assert grant(pool, START) == []
    assert next_opening(pool, START) == START + PER // 2 + PER


def test_starts_of_one_decision_count_in_it() -> None:
    assert len(grant(book(rate(3, PER), waiting=tickets("alice", 9)))) == 3


def test_a_redelivery_counts_in_a_rate() -> None:
    pool = book(rate(2, PER), waiting=tickets("alice", 9, deliveries=1))
    assert len(grant(pool)) == 2
    assert pool.snapshot().starts == (Start(START, "alice", ""),) * 2


def test_raising_a_window_counts_the_starts_that_were_kept() -> None:
    """A window of 10 s kept one of two starts; a window of 60 s then counts that one."""
    pool = book(rate(9, 10_000), waiting=tickets("alice", 30), state=starts(-30_000, -5_000))
    assert len(grant(pool)) == 8
    assert pool.snapshot().starts_since == {"rate-pool": START}
    pool.declare(rules(rate(12, PER)))
    assert len(grant(pool, START + 20_000)) == 3
    assert pool.snapshot().starts_since == {"rate-pool": START}


def test_what_a_rate_has_counted_for_as_long_as_its_window_it_knows_whole() -> None:
    pool = book(rate(9, PER), waiting=tickets("alice", 30))
    grant(pool, most=1)
    assert pool.snapshot().starts_since == {"rate-pool": START}
    grant(pool, START + 3 * PER, most=1)
    assert pool.snapshot().starts_since == {"rate-pool": START + 2 * PER}


def test_lowering_and_raising_a_rate_forgets_nothing_in_its_window() -> None:
    pool = book(rate(5, PER), waiting=tickets("alice", 30))
    assert len(grant(pool)) == 5
    pool.declare(rules(rate(1, PER)))
    assert grant(pool, START + 1) == []
    pool.declare(rules(rate(6, PER)))
    assert len(grant(pool, START + 2)) == 1


def test_starts_are_kept_for_the_longest_window_that_covers_them_only() -> None:
    state = starts(-PER, -PER + 1, -10, -9)
    both = (rate(9, 10), rate(9, PER, "gpu"))
    narrow = book(*both, waiting=[ticket()], state=state)
    turn(narrow)
    assert [start.at - START for start in narrow.snapshot().starts] == [-9, 0]
    covered = tuple(replace(start, lane="gpu") for start in state.starts)
    wide = book(*both, waiting=[ticket()], state=replace(state, starts=covered))
    turn(wide)
    assert [start.at - START for start in wide.snapshot().starts] == [-PER + 1, -10, -9, 0]


def test_without_a_rate_no_starts_are_kept() -> None:
    pool = book(jobs(9), waiting=[ticket()], state=starts(-1))
    grant(pool)
    assert pool.snapshot().starts == ()
    assert pool.snapshot().starts_since == {}


def test_the_next_opening_is_when_the_oldest_start_in_the_way_leaves_the_window() -> None:
    pool = book(rate(2, PER), waiting=[ticket()], state=starts(-50, -40, -30))
    assert next_opening(pool, START) == START - 40 + PER
    assert grant(pool, START - 41 + PER) == []
    assert grant(pool, START - 40 + PER) == ["x-1"]


def test_the_next_opening_is_the_first_of_all_lanes() -> None:
    state = State(1, starts=(Start(START - 9, "a", "gpu"), Start(START - 7, "a", "cpu")))
    limits = rate(1, PER, "gpu"), rate(1, PER, "cpu")
    waiting = [ticket("x-1", lane="cpu"), ticket("x-2", lane="gpu")]
    assert next_opening(book(*limits, waiting=waiting, state=state), START) == START - 9 + PER


def test_nothing_opens_by_itself_where_no_rate_is_in_the_way() -> None:
    assert next_opening(book(rate(1, PER), waiting=[ticket()]), START) is None
    assert next_opening(book(rate(1, PER), state=starts(0)), START) is None
    full = book(jobs(1), waiting=[ticket()], running=[lease()])
    assert next_opening(full, START) is None
    held = book(rate(1, PER), waiting=[ticket(held=True)], state=starts(0))
    assert next_opening(held, START) is None
    paused = book(rate(1, PER), waiting=[ticket()], state=starts(0), paused=True)
    assert next_opening(paused, START) is None


@pytest.mark.parametrize(
    "bound",
    [Jobs(-1), Pods(-1), Rate(0, PER), Rate(10_001, PER), Rate(1, 0), Rate(1, LONGEST_WINDOW + 1)],
)
def test_a_senseless_limit_is_refused(bound: Jobs | Pods | Rate) -> None:
    with pytest.raises(ValueError, match="limit bad"):
        Limit("bad", bound)


def test_a_rate_that_shuts_twice_at_one_moment_opens_in_time() -> None:
    pool = book(rate(1, PER), waiting=tickets("alice", 3))
    [first] = decide(pool, START, most=1).grants
    pool.give_back(first)
    assert next_opening(pool, START) is None
    assert grant(pool, START) == ["alice-2"]
    assert next_opening(pool, START) == START + PER
    assert grant(pool, START + PER) == ["alice-3"]
