"""Loads: a pool's rules and the Jobs of its line, the same each time that they are made."""

from collections.abc import Iterator
from functools import cache
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from kwicket.core.leases import Lease
from kwicket.core.limits import Count, Jobs, Limit
from kwicket.core.pools import Pool, Rules
from kwicket.core.priority import Age, FairShare, Priority, Trait
from kwicket.core.tickets import Ticket

SLOTS = 128
"""How many Jobs run at once."""
FULL_AFTER = 30 * 60_000
BEGIN = 1_800_000_000_000


class Size(Struct, frozen=True):
    """So many Jobs in line, of so many tenants, in so many lanes."""

    waiting: int
    tenants: int
    lanes: int = 1

    def __str__(self) -> str:
        lanes = f"{self.lanes} lane" + ("s" if self.lanes > 1 else "")
        return f"{self.waiting:,} waiting of {self.tenants:,} tenants, {lanes}"


class Load:
    """The Jobs of one history, drawn from a fixed seed.

    Half of those that wait are past fullAfter. A Job that comes later has the tenant and the lane
    of one that started, so that the line stays as it was.
    """

    def __init__(self, size: Size) -> None:
        self.size = size
        self.step = max(1, 2 * FULL_AFTER // size.waiting)
        """Milliseconds from one start to the next: so the line keeps its ages."""
        self._random = Random(7)  # noqa: S311 - a load, not a secret
        self._tenants = [f"tenant-{number}" for number in range(size.tenants)]
        self._lanes = [f"lane-{n}" for n in range(size.lanes)] if size.lanes > 1 else [""]
        self._number = 1_000_000

    def line(self) -> Iterator[Ticket]:
        """The Jobs that wait at first, and those that will run once all slots are taken."""
        for number in range(self.size.waiting + SLOTS):
            tenant = self._tenants[number % self.size.tenants]
            submitted = BEGIN - self._random.randrange(2 * FULL_AFTER)
            yield self._ticket(tenant, self._random.choice(self._lanes), submitted)

    def successor(self, started: Lease, now: int) -> Ticket:
        """The Job that comes when this one has started."""
        return self._ticket(started.tenant, started.lane, now)

    def ending(self, running: int) -> int:
        """The index of the Job that ends next, among so many."""
        return self._random.randrange(running)

    def _ticket(self, tenant: str, lane: str, submitted: int) -> Ticket:
        self._number += 1
        uid = f"{self._number:08x}-8a4f-4c3e-9b1d-{self._number:012x}"
        tier = self._random.randrange(0, 1001, 100)
        job = f"{tenant}/train-{self._number}"
        return Ticket(uid, job, tenant, submitted, lane, _traits(tier))


@cache
def _traits(tier: int) -> tuple[tuple[str, int], ...]:
    """One tuple for all Jobs that have the same traits, as the catalog gives them."""
    return (("tier", tier),)


def rules(size: Size) -> Rules:
    """Turns outweigh traits and ages; a limit of the pool.

    With several lanes each has a limit of its own, a quarter more than its part of the slots, and
    a tenant may run one Job in each lane and three in the pool.
    """
    pool = Pool("bench", priority=weights(1000, 10, 10))
    limits = [Limit("slots", Jobs(SLOTS))]
    if size.lanes > 1:
        limits.append(Limit("each", Jobs(3), count=Count.EACH_TENANT))
    for number in range(size.lanes if size.lanes > 1 else 0):
        lane, most = f"lane-{number}", max(1, -(-SLOTS * 5 // (size.lanes * 4)))
        limits.append(Limit(lane, Jobs(most), lane))
        limits.append(Limit(f"{lane}-each", Jobs(1), lane, Count.EACH_TENANT))
    return Rules(pool, tuple(limits))


def reweighted(declared: Rules) -> Rules:
    """The same rules, with weights that rank almost every Job anew."""
    return replace(declared, pool=replace(declared.pool, priority=weights(1000, 30, 7)))


def weights(turn: int, tier: int, age: int) -> Priority:
    """FairShare, one Trait, and Age."""
    return Priority((FairShare(turn), Trait("tier", tier), Age(age, FULL_AFTER)))
