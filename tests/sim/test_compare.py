"""Comparisons: geometric means of ratios over copies."""

import pytest

from kwicket.sim.compare import Measures, compared, geometric_mean, measures_of
from kwicket.sim.run import run
from support.builders import jobs
from support.simulation import flood, world


def measures(value: float) -> Measures:
    return Measures(value, value, value, value, value)


def test_twice_and_half_are_the_same_in_the_mean() -> None:
    found = compared("fifo", [(measures(20), measures(10)), (measures(10), measures(20))])
    assert found.against == "fifo"
    assert found.lighter_half == pytest.approx(1.0)
    assert compared("x", [(measures(4), measures(2))] * 3).mean == pytest.approx(2.0)


def test_what_is_shorter_than_a_second_counts_as_one() -> None:
    assert compared("x", [(measures(0), measures(4))]).p95 == pytest.approx(0.25)
    assert compared("x", [(measures(0), measures(0))]).makespan == 1.0


def test_the_geometric_mean_of_nothing_is_even() -> None:
    assert geometric_mean([]) == 1.0


def test_measures_are_those_of_the_run() -> None:
    found = measures_of(run(world(jobs(1)), [*flood("alice", 3), *flood("bob", 1)]))
    assert found == Measures(15.0, 30.0, 10.0, 10.0, 40.0)
    assert measures_of(run(world(), [])) == measures(0)
