"""Copies of a history, each a little different: what holds for all of them is no accident."""

import random
from collections.abc import Sequence

from msgspec.structs import replace

from kwicket.sim.arrivals import Arrival

DROPPED = 0.07
"""Which part of the Jobs a copy leaves out."""


def copy_of(arrivals: Sequence[Arrival], seed: int) -> tuple[Arrival, ...]:
    """The copy with this seed: 7 % of the Jobs left out, the others a little earlier or later.

    Each comes up to one mean gap between arrivals earlier or later, and none before 0.
    The same seed gives the same copy.
    """
    dice = random.Random(seed)  # noqa: S311  # nothing here is secret
    last = max((arrival.at for arrival in arrivals), default=0)
    gap = last // max(len(arrivals), 1)
    kept = [arrival for arrival in arrivals if dice.random() >= DROPPED]
    moved = (replace(a, at=max(0, a.at + dice.randint(-gap, gap))) for a in kept)
    return tuple(sorted(moved, key=lambda arrival: arrival.at))
