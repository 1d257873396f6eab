"""Start-time Fair Queuing: whose turn it is.

Virtual time and tags as in Goyal, Vin, Cheng (SIGCOMM 1996), section 2, with one addition: the
start of a tenant whose waiting Jobs are all blocked stands still while virtual time moves on.
Exact fractions throughout; a tag is never compared as a float.
"""

from collections.abc import Set as AbstractSet
from fractions import Fraction

from msgspec import Struct


class Fairness(Struct, frozen=True):
    """Virtual time, the finish tags above it, and the starts that stand below it.

    Everything else is forgotten: a tenant that is in neither map starts at virtual time.
    """

    virtual_time: Fraction = Fraction(0)
    tags: dict[str, Fraction] = {}
    standing: dict[str, Fraction] = {}

    def __post_init__(self) -> None:
        if any(tag <= self.virtual_time for tag in self.tags.values()):
            raise ValueError("fairness: only tags above virtual time are kept")
        if any(start >= self.virtual_time for start in self.standing.values()):
            raise ValueError("fairness: only starts below virtual time stand")

    def start(self, tenant: str) -> Fraction:
        """The start of a tenant that waits, or that would wait from now on."""
        standing = self.standing.get(tenant)
        if standing is not None:
            return standing
        return max(self.virtual_time, self.tags.get(tenant, self.virtual_time))

    def granted(self, tenant: str, cost: Fraction, blocked: AbstractSet[str]) -> "Fairness":
        """After a grant that costs `tenant` this much (charge over share).

        `blocked` are the tenants that wait and had no eligible Job when it was decided.
        """
        moved = max(self.virtual_time, self.start(tenant))
        tags = {name: tag for name, tag in self.tags.items() if tag > moved}
        tags[tenant] = moved + cost
        standing = {} if moved > self.virtual_time else dict(self.standing)
        standing |= {name: self.start(name) for name in blocked if self.start(name) < moved}
        standing.pop(tenant, None)
        return Fairness(moved, tags, standing)

    def refunded(self, tenant: str, cost: Fraction) -> "Fairness":
        """After a grant that never reached its Job: the tag falls, to virtual time at most."""
        if tenant not in self.tags:
            return self
        tags = dict(self.tags)
        tags[tenant] -= cost
        if tags[tenant] <= self.virtual_time:
            del tags[tenant]
        return Fairness(self.virtual_time, tags, self.standing)

    def without(self, tenant: str) -> "Fairness":
        """After the last waiting Job of `tenant` has left without a grant: its start goes too."""
        if tenant not in self.standing:
            return self
        standing = {name: start for name, start in self.standing.items() if name != tenant}
        return Fairness(self.virtual_time, self.tags, standing)
