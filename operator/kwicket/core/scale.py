"""The scale: scores as whole numbers that time does not reorder.

All ages grow alike. So Jobs that still gain by age keep their order among themselves (*ageing*),
and so do those whose score stands still, because they gain nothing yet or all there is to gain
(*steady*). Each class sorts by a key without a clock; only the best of the two are compared at a
moment, by `shift`.
"""

from math import gcd

from kwicket.core.priority import Age, FairShare, Priority, Trait
from kwicket.core.tickets import Ticket


class Scale:
    """The factors of a pool, reduced to the smallest whole weights that rank alike."""

    def __init__(self, priority: Priority, epoch: int) -> None:
        ages = [factor for factor in priority.factors if isinstance(factor, Age)]
        self.full = ages[0].full_after if ages else 1
        slope = sum(age.weight for age in ages) * 1000
        turn = sum(f.weight for f in priority.factors if isinstance(f, FairShare))
        traits = {f.name: f.weight for f in priority.factors if isinstance(f, Trait) and f.weight}
        unit = gcd(slope, turn * 1000 * self.full, *(w * self.full for w in traits.values())) or 1
        self.slope = slope // unit
        """What a Job gains each millisecond until its age is full."""
        self.turn = turn * 1000 * self.full // unit
        """What a Job gains by its tenant being due."""
        self._traits = {name: weight * self.full // unit for name, weight in traits.items()}
        self._epoch = epoch

    @property
    def turn_rules(self) -> bool:
        """Whether a Job whose tenant is due always stands before one whose tenant is not."""
        return self.turn > self.slope * self.full + 1000 * sum(self._traits.values())

    def ages_at(self, submitted: int, now: int) -> bool:
        """Whether a Job gains by age at `now`."""
        return bool(self.slope) and submitted <= now < submitted + self.full

    def key(self, ticket: Ticket, now: int) -> tuple[int, bool]:
        """The Job's key in the class that it belongs to at `now`, and whether that is ageing.

        The smaller key is the better one.
        """
        fixed = 0
        if self._traits:
            for name, value in ticket.traits:
                fixed += self._traits.get(name, 0) * value
        if not self.slope or ticket.submitted > now:
            return -fixed, False
        if now < ticket.submitted + self.full:
            return self.slope * (ticket.submitted - self._epoch) - fixed, True
        return -fixed - self.slope * self.full, False

    def shift(self, now: int) -> int:
        """What is taken from an ageing key to compare it with a steady one at `now`."""
        return self.slope * (now - self._epoch)
