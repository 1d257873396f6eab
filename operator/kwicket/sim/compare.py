"""Comparisons: how one set of rules does beside another, over many copies of one history."""

import math
from collections.abc import Iterable

from msgspec import Struct

from kwicket.sim.run import Run
from kwicket.sim.waits import lighter_half, waits_of

LEAST = 1.0
"""Seconds; a shorter time counts as this long, so that every ratio is finite."""


class Measures(Struct, frozen=True):
    """What is compared of a run, in seconds."""

    mean: float
    p95: float
    lighter_half: float
    lighter_half_p95: float
    makespan: float


class Comparison(Struct, frozen=True, rename="camel"):
    """The first set of rules over another: geometric means of ratios, below 1 is shorter."""

    against: str
    mean: float
    p95: float
    lighter_half: float
    lighter_half_p95: float
    makespan: float


def measures_of(run: Run) -> Measures:
    """What is compared of a run."""
    waits, light = waits_of(run.grants), waits_of(lighter_half(run.grants))
    first = min((grant.arrival.at for grant in run.grants), default=0)
    return Measures(waits.mean, waits.p95, light.mean, light.p95, (run.end - first) / 1000)


def compared(against: str, pairs: Iterable[tuple[Measures, Measures]]) -> Comparison:
    """Over pairs of the same copy under both sets of rules."""
    known = list(pairs)
    ratios = {
        field: geometric_mean(_ratio(getattr(a, field), getattr(b, field)) for a, b in known)
        for field in Measures.__struct_fields__
    }
    return Comparison(against, **ratios)


def geometric_mean(values: Iterable[float]) -> float:
    """Of positive numbers; 1 of none."""
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else 1.0


def _ratio(first: float, second: float) -> float:
    return max(first, LEAST) / max(second, LEAST)
