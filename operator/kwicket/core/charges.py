"""Charges: what running Jobs cost their tenants under `charge: Time`.

Guessed at the start by the tenant's mean run time, doubled when a Job outruns it, settled once at
the end: an open charge is closed in the same version of the state that moves its tenant's tag.
"""

from collections.abc import Iterable, Mapping
from heapq import heappop, heappush

from msgspec.structs import replace

from kwicket.core.state import Charge
from kwicket.core.turns import Turns

STRANGER = 60_000
"""The run time in milliseconds that is guessed for a tenant of which none is known."""
SHORTEST = 1_000
"""The least mean run time in milliseconds."""
MOST_DOUBLED = 500
"""How many charges are doubled in one decision."""
MOST_MEANS = 4096
"""How many idle tenants' means are kept."""


class Charges:
    """The open charges by token, and the mean run time of each tenant in milliseconds."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._open: dict[int, Charge] = {}
        self._due: list[tuple[int, int]] = []
        self._means: dict[str, int] = {}

    def adopt(self, charges: Iterable[Charge], means: Mapping[str, int]) -> None:
        """Takes charges and means as they were kept."""
        self._open.clear()
        self._due.clear()
        self._means = dict(means)
        for charge in charges:
            self.open(charge)

    @property
    def means(self) -> Mapping[str, int]:
        """The means in the order in which they were last taught."""
        return self._means

    def all(self) -> tuple[Charge, ...]:
        """The open charges, by token."""
        return tuple(charge for _, charge in sorted(self._open.items()))

    def token(self, token: int) -> Charge | None:
        """The open charge of a grant."""
        return self._open.get(token)

    def guess(self, tenant: str, width: int) -> int:
        """What a Job is charged when it starts, in slot-milliseconds."""
        return width * self._means.get(tenant, STRANGER)

    def open(self, charge: Charge) -> None:
        """Opens the charge of a grant, or says anew what it is."""
        self._open[charge.token] = charge
        if charge.due is not None:
            heappush(self._due, (charge.due, charge.token))

    def close(self, token: int) -> None:
        """Lets a charge stand as it is."""
        self._open.pop(token, None)

    def cancel(self, token: int) -> None:
        """Gives a charge back, unless it was settled before."""
        charge = self._open.pop(token, None)
        if charge is not None:
            self.correct(charge.tenant, charge.amount, 0)

    def next_doubling(self) -> int | None:
        """When the next Job will have run for as long as it was charged for."""
        while self._due:
            moment, token = self._due[0]
            charge = self._open.get(token)
            if charge is not None and charge.due == moment:
                return moment
            heappop(self._due)
        return None

    def double(self, now: int) -> bool:
        """Doubles charges of Jobs that have run for as long as they were charged for.

        So many at a time, the longest due first: after a silence many are due together.
        """
        doubled = 0
        while doubled < MOST_DOUBLED:
            moment = self.next_doubling()
            if moment is None or moment > now:
                break
            charge = self._open[heappop(self._due)[1]]
            self._turns.debt(self._turns.tenant(charge.tenant), charge.amount)
            self.open(replace(charge, amount=2 * charge.amount))
            doubled += 1
        return doubled > 0

    def settle(self, token: int, at: int | None) -> None:
        """Settles a Job that ended at `at`; without a moment its charge stands, unlearned."""
        charge = self._open.pop(token, None)
        if charge is None or at is None:
            return
        run = max(at - charge.since, 0)
        self._learn(charge.tenant, run)
        self.correct(charge.tenant, charge.amount, charge.slots * run)

    def correct(self, name: str, charged: int, used: int) -> None:
        """Makes a charge what was used."""
        tenant = self._turns.tenant(name)
        if used > charged:
            self._turns.debt(tenant, used - charged)
        elif used < charged:
            self._turns.refund(tenant, charged - used, credit=True)

    def _learn(self, name: str, run: int) -> None:
        known = self._means.pop(name, None)
        mean = run if known is None else (4 * known + run) // 5
        self._means[name] = max(mean, SHORTEST)

    def forget_idle(self) -> None:
        """Keeps the means of so many idle tenants only; the one taught longest ago goes first."""
        if len(self._means) <= MOST_MEANS:
            return
        tenants = self._turns.tenants
        idle = [name for name in self._means if name not in tenants or tenants[name].idle]
        for name in idle[: max(len(idle) - MOST_MEANS, 0)]:
            del self._means[name]
