"""Worlds: where Jobs belong in them, as in a cluster, and what is not as there is said."""

from typing import Any

from msgspec.structs import replace

from kwicket.core.limits import Jobs
from kwicket.core.pools import Charging, Lane, Pool
from kwicket.core.priority import Age, FairShare, Priority
from kwicket.core.reasons import Reason
from kwicket.core.selectors import Expression, Operator, Selector
from kwicket.sim.worlds import (
    START,
    Left,
    Line,
    World,
    first_come,
    limited,
    placed,
    plain,
    settled,
)
from support.builders import catalog, jobs, pods, rate
from support.simulation import arrival, flood, world


def place(of: World, **fields: Any) -> Line | Left:
    [found] = placed(of, [arrival(**fields)])
    return found


def test_a_job_waits_as_the_operator_would_let_it_wait() -> None:
    rules = world(Pool("pool"), Lane("gpu", "pool"))
    found = place(rules, name="x-3", pool=None, lane="gpu", traits=(("tier", "0.5"),), at=2)
    assert isinstance(found, Line)
    assert found.pool == "pool"
    assert (found.ticket.uid, found.ticket.job, found.ticket.lane) == ("x-3", "x-3", "gpu")
    assert found.ticket.submitted == START + 2000
    assert dict(found.ticket.traits).get("tier", 0) == 500


def test_jobs_without_a_place_say_why() -> None:
    rules = world(Pool("pool"), Pool("other"), Lane("gpu", "pool"), pods(2))
    reasons = {
        Reason.UNKNOWN_POOL: place(rules, pool="poll"),
        Reason.UNKNOWN_LANE: place(rules, lane="cpu"),
        Reason.LANE_OF_OTHER_POOL: place(rules, pool="other", lane="gpu"),
        Reason.NO_POOL: place(rules, pool=None),
        Reason.TOO_WIDE: place(rules, width=3),
    }
    for reason, found in reasons.items():
        assert isinstance(found, Left)
        assert found.aside.reason is reason


def test_the_only_pool_takes_jobs_that_name_none_and_it_is_said() -> None:
    one = catalog(Pool("pool"))
    taken, notes = settled(one, flood("alice", 1, pool=None))
    assert taken.default is not None
    assert "in a cluster it does once it says default: true" in notes[0]
    assert settled(one, flood("alice", 1)) == (one, [])
    two = catalog(Pool("pool"), Pool("other"))
    assert settled(two, flood("alice", 1, pool=None)) == (two, [])
    marked = catalog(Pool("pool", default=True))
    assert settled(marked, flood("alice", 1, pool=None)) == (marked, [])


def test_a_namespace_selector_keeps_nobody_out_and_it_is_said() -> None:
    selector = Selector((Expression("team", Operator.EXISTS),))
    taken, notes = settled(catalog(Pool("pool", namespaces=selector)), [])
    assert isinstance(place(World("rules", taken)), Line)
    assert "namespaceSelector is not looked at" in notes[0]


def test_slots_are_a_limit_of_every_pool_beside_those_there_are() -> None:
    both = limited(catalog(Pool("a"), Pool("b"), jobs(3)), 5)
    assert [x.bound for x in both.rules("a").limits] == [Jobs(5), Jobs(3)]
    assert [x.bound for x in both.rules("b").limits] == [Jobs(5)]


def test_a_trace_without_rules_runs_in_a_default_pool_that_charges_time() -> None:
    assert plain().default is not None
    assert plain().default == replace(Pool("default", default=True), charging=Charging.TIME)


def test_first_come_keeps_all_but_the_order() -> None:
    pool = Pool("pool", priority=Priority((FairShare(9), Age(1))), paused=True)
    rules = catalog(pool, Lane("gpu", "pool"), jobs(1), rate(1, 1000, "gpu"))
    other = first_come(rules)
    assert (other.lanes, other.limits) == (rules.lanes, rules.limits)
    assert other.pools["pool"] == replace(pool, priority=Priority((FairShare(0),)))
