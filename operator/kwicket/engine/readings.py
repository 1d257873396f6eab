"""Readings: how the pools stand at this moment, for whoever shows it as numbers.

By pool, lane and limit only, which administrators name; a tenant's name is in none of them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from kwicket.core.limits import Closed, Jobs, Limit, Pods, Rate
from kwicket.core.line import used_together
from kwicket.core.reasons import Reason
from kwicket.engine.desk import Desk
from kwicket.engine.intake import Intake
from kwicket.engine.permit import Permit
from kwicket.engine.registry import Registry
from kwicket.ports.clock import Clock
from kwicket.ports.leadership import Leadership


class LimitReading(Struct, frozen=True):
    """A limit and what is used of it."""

    name: str
    lane: str
    """Empty if it covers the whole pool."""
    unit: str
    """`jobs`, `pods`, or `starts` within its window."""
    most: int
    used: int | None
    """None if it counts each tenant for itself."""


class PoolReading(Struct, frozen=True):
    """A pool. Each lane that is declared has a number; what is in none of them counts at ""."""

    name: str
    waiting: Mapping[str, int]
    running: Mapping[str, int]
    tenants: int
    oldest: float
    """Seconds since the oldest Job in line that nobody holds was submitted; 0 if there is none."""
    ledger: bool
    """Whether its ledger can be read and written."""
    limits: tuple[LimitReading, ...]
    differing: int = 0
    """How many other clusters declare it otherwise."""


class Reading(Struct, frozen=True):
    """A moment. A follower knows nothing of pools that its leader does not know better."""

    leads: bool
    in_force: bool
    """Whether the policies are."""
    asides: Mapping[Reason, int] = {}
    pools: tuple[PoolReading, ...] = ()


class Readings:
    """Reads without a trace; the cost is one look at each Job."""

    def __init__(
        self,
        *,
        registry: Registry,
        intake: Intake,
        permit: Permit,
        leadership: Leadership,
        clock: Clock,
    ) -> None:
        self._registry = registry
        self._intake = intake
        self._permit = permit
        self._leadership = leadership
        self._clock = clock

    def read(self) -> Reading:
        """How it stands now."""
        if not self._leadership.leads():
            return Reading(leads=False, in_force=self._permit.open)
        pools = tuple(self._pool(desk) for desk in self._registry.desks())
        return Reading(True, self._permit.open, self._intake.asides(), pools)

    def _pool(self, desk: Desk) -> PoolReading:
        book, now = desk.book, self._clock.now()
        declared = self._registry.catalog.lanes.values()
        lanes = [lane.name for lane in declared if lane.pool == desk.name]
        free = (ticket.submitted for ticket in book.tickets() if not ticket.held)
        limits = (_limit(desk, limit, now) for limit in book.rules.limits)
        return PoolReading(
            name=desk.name,
            waiting=_by_lane(lanes, (ticket.lane for ticket in book.tickets())),
            running=_by_lane(lanes, (lease.lane for lease in book.leases())),
            tenants=len(book.line()),
            oldest=max(now - min(free, default=now), 0) / 1000,
            ledger=desk.page is not None and desk.fault is None,
            limits=tuple(limit for limit in limits if limit is not None),
            differing=0 if desk.share is None else len(desk.share.differing),
        )


def _by_lane(declared: Iterable[str], counted: Iterable[str]) -> Mapping[str, int]:
    """A Job that came in without the policies may name any lane: only declared ones are shown."""
    found = dict.fromkeys(("", *declared), 0)
    for lane, number in Counter(counted).items():
        found[lane if lane in found else ""] += number
    return found


def _limit(desk: Desk, limit: Limit, now: int) -> LimitReading | None:
    """None if it is not understood; its condition says so."""
    match limit.bound:
        case Jobs(most):
            unit = "jobs"
        case Pods(most):
            unit = "pods"
        case Rate(most):
            unit = "starts"
        case Closed():
            return None
    used = used_together(desk.book, limit, now)
    return LimitReading(limit.name, limit.lane, unit, most, used)
