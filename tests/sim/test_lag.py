"""Lags keep within the bound that Start-time Fair Queuing promises."""

import pytest

from kwicket.core.pools import Charging, Pool
from kwicket.core.priority import FairShare, Priority
from kwicket.sim.arrivals import Arrival
from kwicket.sim.lag import Lag, lags
from kwicket.sim.run import run
from support.builders import jobs
from support.simulation import day, flood, world

SHARES = {"user-1": 2, "user-3": 5}


def lags_of(history: list[Arrival], pool: Pool, *, oracle: bool = False) -> list[Lag]:
    found = run(world(pool, jobs(4), oracle=oracle), history, watched=True)
    return lags(found, "pool", sorted({arrival.tenant for arrival in history}))


def values(lag: Lag) -> list[float]:
    return [value for _, value in lag.points if value is not None]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("charging", list(Charging))
def test_what_is_granted_keeps_within_the_bound(seed: int, charging: Charging) -> None:
    """Exact where the charge is: for starts, and for time that is known."""
    for lag in lags_of(day(seed), Pool("pool", shares=SHARES, charging=charging), oracle=True):
        assert values(lag)
        assert max(map(abs, values(lag))) <= lag.bound * 1.000001


def test_the_bound_is_the_greatest_charge_over_the_share() -> None:
    history = [*flood("alice", 2, runs=3), *flood("bob", 3, runs=7)]
    timed = lags_of(history, Pool("pool", shares={"bob": 2}, charging=Charging.TIME))
    assert {lag.tenant: lag.bound for lag in timed} == {"alice": 3000, "bob": 3500}
    plain = lags_of(history, Pool("pool", shares={"bob": 2}))
    assert {lag.tenant: lag.bound for lag in plain} == {"alice": 1, "bob": 0.5}


def test_first_come_first_served_breaks_it() -> None:
    unfair = Pool("pool", priority=Priority((FairShare(0),)))
    late = flood("bob", 40, at=1)
    [alice, bob] = lags_of([*flood("alice", 40), *late], unfair)
    assert max(map(abs, values(alice) + values(bob))) > 10 * alice.bound


def test_a_line_ends_where_a_tenant_waits_no_longer() -> None:
    [lag] = lags_of(flood("alice", 6), Pool("pool"))
    assert lag.points[-1] == (10_000, None)
    assert [value for _, value in lag.points].count(None) == 1
