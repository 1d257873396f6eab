"""Runs: the production core in virtual time, against what must happen."""

import pytest

from kwicket.core.limits import Jobs, Limit, Pods, Rate
from kwicket.core.pools import Charging, Lane, Pool
from kwicket.core.priority import Age, FairShare, Priority, Trait
from kwicket.core.reasons import Reason
from kwicket.sim.run import run
from kwicket.sim.worlds import World, first_come
from support.builders import jobs, pods, rate
from support.simulation import arrival, day, flood, most_at_once, started, world

TIMED = Pool("pool", charging=Charging.TIME)


def test_a_newcomer_starts_after_one_of_the_flood_not_after_all() -> None:
    history = [*flood("alice", 4), arrival("carol-0", "carol", at=1)]
    assert started(history, jobs(1)) == [
        (0, "alice-0"),
        (10, "carol-0"),
        (20, "alice-1"),
        (30, "alice-2"),
        (40, "alice-3"),
    ]


def test_first_come_is_first_served() -> None:
    history = [*flood("alice", 4), arrival("carol-0", "carol", at=1)]
    rules = world(jobs(1))
    assert run(rules, history).grants[1].arrival.tenant == "carol"
    plain = World("fifo", first_come(rules.catalog))
    assert [g.arrival.name for g in run(plain, history).grants][-1] == "carol-0"


def test_a_job_that_ends_makes_room_for_one_that_comes_at_that_moment() -> None:
    history = [arrival("a-0", at=0), arrival("b-0", at=10), arrival("c-0", at=10, tenant="bob")]
    assert started(history, jobs(1)) == [(0, "a-0"), (10, "c-0"), (20, "b-0")]


def test_jobs_that_take_no_time_all_start_at_once() -> None:
    history = flood("alice", 50, runs=0)
    assert {moment for moment, _ in started(history, jobs(1))} == {0}


def test_more_than_one_decision_may_be_needed_at_one_moment() -> None:
    assert len(started(flood("alice", 100))) == 100


def test_the_clock_waits_for_a_rate() -> None:
    moments = [at for at, _ in started(flood("alice", 5), rate(2, 60_000))]
    assert moments == [0, 0, 60, 60, 120]


def test_a_rate_of_each_tenant_and_one_of_a_lane_hold_together() -> None:
    history = flood("alice", 3, lane="slow") + flood("bob", 1, lane="slow")
    slow = rate(1, 10_000, "slow")
    each = rate(1, 60_000, each=True)
    assert started(history, Lane("slow", "pool"), slow, each) == [
        (0, "alice-0"),
        (10, "bob-0"),
        (60, "alice-1"),
        (120, "alice-2"),
    ]


def test_age_alone_brings_no_start_but_ranks() -> None:
    ranked = Pool("pool", priority=Priority((Trait("tier", 2), Age(1, 60_000))))
    history = [
        arrival("now-0", at=0, runs=100),
        arrival("old-0", at=1),
        arrival("new-0", "bob", at=90, traits=(("tier", "0.5"),)),
    ]
    assert [name for _, name in started(history, ranked, jobs(1))] == ["now-0", "new-0", "old-0"]
    eager = Pool("pool", priority=Priority((Trait("tier", 1), Age(1, 60_000))))
    assert [name for _, name in started(history, eager, jobs(1))] == ["now-0", "old-0", "new-0"]


def test_a_share_of_two_gets_two_turns_for_one() -> None:
    shared = Pool("pool", shares={"bob": 2})
    order = [name for _, name in started(flood("alice", 9) + flood("bob", 9), shared, jobs(1))]
    assert [name.partition("-")[0] for name in order[:9]].count("bob") == 6


def test_time_is_charged_as_it_was_used_so_short_jobs_get_more_turns() -> None:
    history = flood("alice", 8, runs=30) + flood("bob", 24, runs=10)
    order = [name for _, name in started(history, TIMED, jobs(1))][:16]
    assert 11 <= sum(name.startswith("bob") for name in order) <= 13


def test_what_ends_at_a_moment_is_settled_before_what_comes_then() -> None:
    """alice's credit is gone when her only Job ends, so dave is not behind her second new one."""
    history = [arrival("alice-0", runs=30), *flood("bob", 2, runs=20)]
    history += [arrival(name, name[:-2], at=30) for name in ("alice-1", "alice-2", "dave-0")]
    order = [name for _, name in started(history, TIMED, jobs(3))]
    assert order == ["alice-0", "bob-0", "bob-1", "alice-1", "dave-0", "alice-2"]


def test_a_wide_job_gets_its_room_while_narrow_ones_wait() -> None:
    history = [*flood("alice", 20), arrival("wide-0", "bob", at=1, width=4)]
    when = {name: moment for moment, name in started(history, pods(4))}
    assert when["wide-0"] == 10


def test_pools_decide_each_for_itself() -> None:
    history = flood("alice", 2, pool="a") + flood("bob", 2, pool="b")
    two = Pool("a"), Pool("b")
    found = run(world(*two, Limit("one", Jobs(1))), history)
    moments = {grant.arrival.name: grant.at // 1000 for grant in found.grants}
    assert moments == {"alice-0": 0, "alice-1": 10, "bob-0": 0, "bob-1": 0}
    assert {grant.pool for grant in found.grants} == {"a", "b"}


def test_tokens_of_a_pool_rise_by_one_and_grants_are_in_order() -> None:
    grants = run(world(jobs(4)), day(2)).grants
    assert [g.token for g in grants] == list(range(2, len(grants) + 2))
    assert sorted(grants, key=lambda g: g.at) == list(grants)


def test_jobs_that_nothing_can_start_are_left_waiting() -> None:
    assert started(flood("alice", 3), Pool("pool", paused=True)) == []
    left = run(world(jobs(0)), flood("alice", 3))
    assert [line.arrival.name for line in left.waiting] == ["alice-0", "alice-1", "alice-2"]


def test_a_job_that_is_too_wide_is_set_aside_and_keeps_nobody() -> None:
    found = run(world(pods(2)), [arrival("wide-0", width=3), arrival("x-0", at=1)])
    [left] = found.aside
    assert left.arrival.name == "wide-0"
    assert left.aside.reason is Reason.TOO_WIDE
    assert [g.arrival.name for g in found.grants] == ["x-0"]


@pytest.mark.parametrize("charging", list(Charging))
@pytest.mark.parametrize("seed", range(4))
def test_all_jobs_of_a_day_start_once_within_the_limits(seed: int, charging: Charging) -> None:
    history = day(seed)
    found = run(
        world(Pool("pool", charging=charging), jobs(4), jobs(3, each=True, name="each")), history
    )
    assert sorted(g.arrival.name for g in found.grants) == sorted(a.name for a in history)
    assert most_at_once(found) == 4
    assert all(grant.waited >= 0 for grant in found.grants)


@pytest.mark.parametrize("seed", range(4))
def test_the_same_history_gives_the_same_grants(seed: int) -> None:
    rules = world(Pool("pool", charging=Charging.TIME), jobs(4))
    assert run(rules, day(seed)) == run(rules, day(seed))


@pytest.mark.parametrize("charging", list(Charging))
def test_being_watched_changes_nothing(charging: Charging) -> None:
    rules = world(Pool("pool", charging=charging), jobs(4))
    seen = run(rules, day(1), watched=True)
    assert seen.grants == run(rules, day(1)).grants
    assert len(seen.virtual) == len(seen.grants)
    assert sorted(seen.virtual) == list(seen.virtual)


def test_progress_counts_every_start() -> None:
    told: list[int] = []
    run(world(jobs(4)), day(1), told.append)
    assert sum(told) == len(day(1))
    assert len(told) == 2


def test_nothing_comes_of_nothing() -> None:
    found = run(world(), [])
    assert (found.grants, found.waiting, found.aside, found.end) == ((), (), (), 0)


def test_every_kind_of_rule_at_once() -> None:
    rules = world(
        Pool("pool", priority=Priority((FairShare(4), Trait("tier", 2), Age(1)))),
        Lane("gpu", "pool"),
        Limit("pods", Pods(6)),
        Limit("gpu", Jobs(1), "gpu"),
        Limit("starts", Rate(3, 30_000)),
    )
    history = day(3, jobs=100) + flood("gpu", 20, lane="gpu", width=3)
    assert len(run(rules, history).grants) == 120
