"""Figures of waiting times, against ones made by hand."""

import pytest

from kwicket.sim.run import Grant
from kwicket.sim.waits import Waits, lighter_half, slowdown_of, waits_of
from support.simulation import arrival


def waited(seconds: float, tenant: str = "alice", runs: float = 10, width: int = 1) -> Grant:
    """A Job that came at 5 s and started so much later."""
    job = arrival(tenant=tenant, at=5, runs=runs, width=width)
    return Grant(job, "pool", 2, int((5 + seconds) * 1000))


def test_percentiles_are_waits_that_occurred() -> None:
    grants = [waited(seconds) for seconds in (3, 1, 2, 20)]
    assert waits_of(grants) == Waits(mean=6.5, p50=2.0, p95=20.0, longest=20.0)
    hundred = [waited(seconds) for seconds in range(1, 101)]
    assert waits_of(hundred) == Waits(mean=50.5, p50=50.0, p95=95.0, longest=100.0)


def test_one_wait_is_every_figure() -> None:
    assert waits_of([waited(4)]) == Waits(4.0, 4.0, 4.0, 4.0)


def test_no_waits_are_none() -> None:
    assert waits_of([]) == Waits()
    assert slowdown_of([]) == 1.0


@pytest.mark.parametrize(
    ("seconds", "runs", "slowdown"),
    [(0, 100, 1.0), (100, 100, 2.0), (9, 1, 1.0), (19, 1, 2.0), (10, 0, 1.0), (30, 10, 4.0)],
)
def test_a_job_shorter_than_ten_seconds_counts_as_that_long(
    seconds: float, runs: float, slowdown: float
) -> None:
    assert slowdown_of([waited(seconds, runs=runs)]) == slowdown


def test_the_slowdown_is_the_mean_over_jobs() -> None:
    assert slowdown_of([waited(0), waited(10), waited(30)]) == pytest.approx(7 / 3)


def test_the_lighter_half_is_by_slot_seconds_and_the_bigger_one_of_an_odd_number() -> None:
    grants = [waited(1, "wide", 1, width=9), waited(2, "long", 5), waited(3, "many", 1)]
    grants += [waited(4, "many", 1), waited(5, "idle", 1, width=0)]
    assert {g.arrival.tenant for g in lighter_half(grants)} == {"idle", "many"}
    assert {g.arrival.tenant for g in lighter_half(grants[:3])} == {"many", "long"}
    assert lighter_half([]) == []
