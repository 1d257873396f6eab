"""The fairness bound: Start-time Fair Queuing's theorem 1, on granted work.

For any two tenants, in any interval all through which both have eligible Jobs, what they were
granted (over their shares) differs by one largest Job of each at most; where FairShare outweighs
the other factors together, and redeliveries do not count.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

from msgspec.structs import replace

from kwicket.core.pools import Pool
from kwicket.core.priority import Age, FairShare, Priority, Trait
from support.histories import TENANTS, Dice, History, pick
from support.reference import Pick

HISTORIES = 40
STEPS = 60
OFTEN = "submit", "submit", "decide", "decide", "decide", "end", "end", "change", "cancel"
KINDS = (*OFTEN, "put_back", "acknowledge", "relimit", "pause", "restart")


class FairHistory(History):
    """FairShare outweighs the rest, and what is charged stays: no end is seen, time hardly goes."""

    ticks: Sequence[int] = (-3, 0, 0, 1, 4, 10)

    def pool(self, dice: Dice) -> Pool:
        trait, age = dice.randrange(0, 4), dice.randrange(0, 4)
        factors = FairShare(trait + age + 1), Trait("urgent", trait), Age(age, 10)
        return replace(super().pool(dice), priority=Priority(factors))

    def moment(self, _: Dice) -> None:
        """When a Job ended is not known, so that nothing is settled."""


def test_granted_work_of_two_tenants_differs_by_one_job_of_each_at_most() -> None:
    gaps = []
    for seed in range(HISTORIES):
        dice = random.Random(seed)  # noqa: S311
        history = FairHistory(dice)
        for _ in range(STEPS):
            history.go_on(dice, pick(dice, KINDS))
        gaps += list(_gaps(history.duel.judge.picks, history.rules.pool.shares))
    assert max(gaps) == 1, "the bound is reached, and never passed"


def _gaps(picks: list[Pick], shares: Mapping[str, int]) -> Iterator[Fraction]:
    """For each pair of tenants and joint interval: how far apart they came, over the bound."""
    largest = dict.fromkeys(TENANTS, Fraction(0))
    for one in picks:
        largest[one.ticket.tenant] = max(largest[one.ticket.tenant], _cost(one, shares))
    for first, second in combinations(TENANTS, 2):
        bound = largest[first] + largest[second]
        for lead in _leads(picks, first, second, shares):
            if bound:
                yield (max(lead) - min(lead)) / bound


def _leads(
    picks: Iterable[Pick], first: str, second: str, shares: Mapping[str, int]
) -> Iterator[list[Fraction]]:
    """How far the first was ahead of the second, in each interval in which both were eligible."""
    lead = [Fraction(0)]
    for one in picks:
        if not {first, second} <= one.eligible:
            yield lead
            lead = [Fraction(0)]
        elif one.ticket.tenant in (first, second):
            step = _cost(one, shares)
            lead.append(lead[-1] + (step if one.ticket.tenant == first else -step))
    yield lead


def _cost(one: Pick, shares: Mapping[str, int]) -> Fraction:
    """What a turn was charged, over the share; a redelivery is charged nothing."""
    return Fraction(one.charge, shares.get(one.ticket.tenant, 1))
