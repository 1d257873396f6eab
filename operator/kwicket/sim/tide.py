"""The tide of a pool: what each tenant's Jobs hold, and what is its due, integrated over time.

Due at a moment is what the tenant would hold if the slots in use were shared out anew, in
proportion to shares, nobody getting more than it runs and waits for (weighted max-min). Tenants of
the same share and the same demand have the same due, so it is kept once for each such class:
a step costs as much as there are classes, however many tenants there are.
"""

from bisect import bisect_left, insort
from collections.abc import Mapping

from msgspec import Struct, field

type Class = tuple[float, int, int]
"""Demand over share, demand, share: in this order the water level passes them."""


class Held(Struct):
    """Slot-milliseconds over a while: held by a tenant, due to it, held by all."""

    got: float = 0.0
    due: float = 0.0
    all: float = 0.0


class _Tenant(Struct):
    share: int
    jobs: int = 0
    """How many wait."""
    waiting: int = 0
    """Their pods."""
    running: int = 0
    since: int = 0
    due: float = 0.0
    """Its class's integral at `since`."""
    all: float = 0.0
    """The integral of all running pods at `since`."""
    in_line: Held = field(default_factory=Held)
    in_demand: Held = field(default_factory=Held)

    @property
    def demand(self) -> int:
        return self.waiting + self.running


class Tide:
    """A plain class, since it changes in place. Moments are milliseconds and never step back."""

    def __init__(self, shares: Mapping[str, int]) -> None:
        self._shares = shares
        self._tenants: dict[str, _Tenant] = {}
        self._now = 0
        self._running = 0
        self._all = 0.0
        self._shared = 0
        self._order: list[Class] = []
        self._members: dict[Class, int] = {}
        self._due: dict[Class, float] = {}

    def change(self, now: int, tenant: str, jobs: int, waiting: int, running: int) -> None:
        """So many more Jobs of a tenant wait, and so many more of its pods wait and run."""
        self.advance(now)
        one = self._tenants.setdefault(tenant, _Tenant(self._shares.get(tenant, 1)))
        self._settle(one)
        self._leave(one)
        one.jobs += jobs
        one.waiting += waiting
        one.running += running
        self._running += running
        self._enter(one)

    def advance(self, now: int) -> None:
        """Lets time pass with everything as it is."""
        passed, self._now = now - self._now, max(now, self._now)
        if passed <= 0 or not self._order:
            return
        self._all += self._running * passed
        level = self._level()
        for key in self._order:
            _, demand, share = key
            self._due[key] += min(demand, level * share) * passed

    def in_line(self, tenant: str) -> Held:
        """What it held and should have held while it had Jobs waiting."""
        return self._settled(tenant).in_line

    def in_demand(self, tenant: str) -> Held:
        """The same while it had Jobs waiting or running."""
        return self._settled(tenant).in_demand

    @property
    def all(self) -> float:
        """Slot-milliseconds held by all so far."""
        return self._all

    def _level(self) -> float:
        """What a share of 1 is due at most."""
        left, shares = self._running, self._shared
        for key in self._order:
            ratio, demand, share = key
            if ratio * shares > left:
                return left / shares
            left -= demand * self._members[key]
            shares -= share * self._members[key]
        return self._order[-1][0]

    def _settled(self, tenant: str) -> _Tenant:
        one = self._tenants.get(tenant) or _Tenant(1)
        self._settle(one)
        return one

    def _settle(self, one: _Tenant) -> None:
        if one.demand:
            due = self._due[_class(one)] - one.due
            got, everyone = one.running * (self._now - one.since), self._all - one.all
            for held in (one.in_demand, one.in_line) if one.jobs else (one.in_demand,):
                held.got += got
                held.due += due
                held.all += everyone
        self._mark(one)

    def _mark(self, one: _Tenant) -> None:
        one.since, one.all = self._now, self._all
        one.due = self._due[_class(one)] if one.demand else 0.0

    def _leave(self, one: _Tenant) -> None:
        if not one.demand:
            return
        key = _class(one)
        self._shared -= one.share
        self._members[key] -= 1
        if not self._members[key]:
            del self._members[key], self._due[key]
            del self._order[bisect_left(self._order, key)]

    def _enter(self, one: _Tenant) -> None:
        if one.demand:
            key = _class(one)
            if key not in self._members:
                self._members[key], self._due[key] = 0, 0.0
                insort(self._order, key)
            self._members[key] += 1
            self._shared += one.share
        self._mark(one)


def _class(one: _Tenant) -> Class:
    return one.demand / one.share, one.demand, one.share
