"""Whose turn it is and what it costs, straightforward: fractions in dictionaries.

The part of the reference that knows tenants and charges, and neither Jobs in line nor limits.
"""

from collections.abc import Iterable
from fractions import Fraction

from msgspec import Struct

from kwicket.core.pools import Pool

STRANGER = 60_000
SHORTEST = 1_000


class OpenCharge(Struct):
    """What a Job that runs was charged and that is not settled, in slot-milliseconds."""

    token: int
    tenant: str
    slots: int
    since: int
    amount: int

    def due(self, now: int) -> bool:
        """Whether the Job has run as long as it was charged for."""
        return 0 < self.amount <= self.slots * (now - self.since)


class Turns:
    """Virtual time, the tags of all tenants and the starts of those in line; charges and means."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.virtual_time = Fraction(0)
        self.tags: dict[str, Fraction] = {}
        self.starts: dict[str, Fraction] = {}
        self.credits: dict[str, Fraction] = {}
        self.charges: list[OpenCharge] = []
        self.means: dict[str, int] = {}

    @property
    def timed(self) -> bool:
        """Whether this pool charges time."""
        return self.pool.charging.value == "Time"

    def declare(self, pool: Pool) -> None:
        """A pool that charges another way starts its turns anew; virtual time stays."""
        anew = pool.charging is not self.pool.charging
        self.pool = pool
        if anew:
            self.tags, self.credits, self.charges = {}, {}, []
            self.starts = dict.fromkeys(self.starts, self.virtual_time)

    def price(self, tenant: str, width: int) -> int:
        """What a first grant is charged: 1, or slots times the tenant's mean run time."""
        return width * self.means.get(tenant, STRANGER) if self.timed else 1

    def begin_to_wait(self, tenant: str) -> None:
        """The first Job of a tenant came in line; nothing changes if others wait already."""
        self.starts.setdefault(tenant, self._tag(tenant))

    def leave(self, tenant: str) -> None:
        """No Job of the tenant is in line any more."""
        self.starts.pop(tenant, None)

    def take(self, tenant: str, charge: int, eligible: Iterable[str]) -> None:
        """The turn of a tenant: virtual time, the starts that follow it, and its tag."""
        moved = self.starts[tenant] > self.virtual_time
        if moved:
            self.virtual_time = self.starts[tenant]
            for other in eligible:
                self.starts[other] = max(self.starts[other], self.virtual_time)
        rest = self._from_credit(tenant, self._cost(tenant, charge))
        self.tags[tenant] = self.starts[tenant] = self.virtual_time + rest

    def owe(self, tenant: str, charge: int) -> None:
        """It used more than it was charged: its credit pays first, then its tag rises."""
        rest = self._from_credit(tenant, self._cost(tenant, charge))
        if rest:
            self.tags[tenant] = self.starts.get(tenant, self._tag(tenant)) + rest
            if tenant in self.starts:
                self.starts[tenant] = self.tags[tenant]

    def refund(self, tenant: str, charge: int) -> None:
        """It used less: its tag falls, to virtual time at most; under Time the rest is credit."""
        cost = self._cost(tenant, charge)
        lowered = min(cost, self._tag(tenant) - self.virtual_time)
        if lowered:
            self.tags[tenant] -= lowered
            if tenant in self.starts:
                self.starts[tenant] = self.tags[tenant]
        if self.timed:
            self.credits[tenant] = self.credits.get(tenant, Fraction(0)) + cost - lowered

    def correct(self, tenant: str, charged: int, used: int) -> None:
        """Makes of a charge what was used."""
        (self.owe if used > charged else self.refund)(tenant, abs(used - charged))

    def open(self, token: int, tenant: str, slots: int, now: int, amount: int) -> None:
        """A Job starts."""
        if self.timed:
            self.charges.append(OpenCharge(token, tenant, slots, now, amount))

    def double(self, now: int) -> None:
        """Who has run as long as it was charged for is charged the same again."""
        for charge in self.charges:
            while charge.due(now):
                self.owe(charge.tenant, charge.amount)
                charge.amount *= 2

    def settle(self, token: int, at: int | None) -> None:
        """A Job ended: it has cost what it ran, and teaches its tenant's mean; None: unknown."""
        charge = self.close(token)
        if charge is None or at is None:
            return
        run = max(at - charge.since, 0)
        self.correct(charge.tenant, charge.amount, charge.slots * run)
        mean = self.means.pop(charge.tenant, run)
        self.means[charge.tenant] = max((4 * mean + run) // 5, SHORTEST)

    def give_back(self, token: int, tenant: str, charge: int) -> None:
        """A grant never reached its Job: what it was charged until now is given back."""
        if self.timed:
            opened = self.close(token)
            charge = opened.amount if opened else 0
        self.refund(tenant, charge)

    def close(self, token: int) -> OpenCharge | None:
        """The open charge of this token, which is open no more."""
        found = next((charge for charge in self.charges if charge.token == token), None)
        self.charges = [charge for charge in self.charges if charge.token != token]
        return found

    def forget(self, present: set[str], active: set[str], most_means: int, most_tags: int) -> None:
        """Drops the credit of who is not active, and what is known of too many absent tenants."""
        self.credits = {t: c for t, c in self.credits.items() if c and t in active}
        absent = [tenant for tenant in self.means if tenant not in present]
        for tenant in absent[: max(len(absent) - most_means, 0)]:
            del self.means[tenant]
        v = self.virtual_time
        idle = sorted((tag, t) for t, tag in self.tags.items() if tag > v and t not in present)
        for _, tenant in idle[: max(len(idle) - most_tags, 0)]:
            del self.tags[tenant]

    def _tag(self, tenant: str) -> Fraction:
        return max(self.virtual_time, self.tags.get(tenant, Fraction(0)))

    def _cost(self, tenant: str, charge: int) -> Fraction:
        return Fraction(charge, self.pool.shares.get(tenant, 1))

    def _from_credit(self, tenant: str, cost: Fraction) -> Fraction:
        """Pays with credit what it can, and says what is left to pay."""
        paid = min(self.credits.get(tenant, Fraction(0)), cost)
        if paid:
            self.credits[tenant] -= paid
        return cost - paid
