"""Room: what the limits of a pool still admit at one moment, as grants use it up."""

from bisect import bisect_right, insort
from collections.abc import Iterable

from msgspec import Struct

from kwicket.core.leases import Lease
from kwicket.core.limits import Closed, Count, Jobs, Limit, Pods, Rate
from kwicket.core.starts import Start

type _Scope = tuple[str, str]


class Full(Struct, frozen=True):
    """The limit that has no room for a Job, and how far it is used."""

    limit: Limit
    used: int
    opens: int | None = None
    """When a rate has room again, in milliseconds since 1970; None for concurrency."""


class Room:
    """Counters by limit and tenant. Not a value: a decision makes one and uses it up."""

    def __init__(
        self, limits: Iterable[Limit], leases: Iterable[Lease], starts: Iterable[Start], now: int
    ) -> None:
        self._limits = tuple(limits)
        self._now = now
        self._running: dict[_Scope, int] = {}
        self._starts: dict[_Scope, list[int]] = {}
        for lease in leases:
            self._occupy(lease.tenant, lease.lane, lease.width)
        for start in starts:
            self._stamp(start)

    def refusal(self, tenant: str, lane: str, width: int) -> Full | None:
        """The first limit that has no room for such a Job, or None if all have."""
        for limit in self._limits:
            if limit.covers(lane):
                full = self._full(limit, tenant, width)
                if full is not None:
                    return full
        return None

    def take(self, tenant: str, lane: str, width: int) -> None:
        """Counts a Job that was just granted."""
        self._occupy(tenant, lane, width)
        self._stamp(Start(self._now, tenant, lane))

    def _full(self, limit: Limit, tenant: str, width: int) -> Full | None:
        scope = _scope(limit, tenant)
        match limit.bound:
            case Jobs(most):
                used = self._running.get(scope, 0)
                return None if used < most else Full(limit, used)
            case Pods(most):
                used = self._running.get(scope, 0)
                return None if used + width <= most and most > 0 else Full(limit, used)
            case Rate(starts, per):
                stamps = self._starts.get(scope, [])
                used = len(stamps) - bisect_right(stamps, self._now - per)
                return None if used < starts else Full(limit, used, stamps[-starts] + per)
            case Closed():
                return Full(limit, 0)

    def _occupy(self, tenant: str, lane: str, width: int) -> None:
        for limit in self._limits:
            if limit.covers(lane) and isinstance(limit.bound, Jobs | Pods):
                scope = _scope(limit, tenant)
                more = width if isinstance(limit.bound, Pods) else 1
                self._running[scope] = self._running.get(scope, 0) + more

    def _stamp(self, start: Start) -> None:
        for limit in self._limits:
            if limit.covers(start.lane) and isinstance(limit.bound, Rate):
                insort(self._starts.setdefault(_scope(limit, start.tenant), []), start.at)


def _scope(limit: Limit, tenant: str) -> _Scope:
    return limit.name, tenant if limit.count is Count.EACH_TENANT else ""
