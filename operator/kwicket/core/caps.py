"""Caps: what the limits of a pool say of each scope, in one value."""

from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct

from kwicket.core.limits import Closed, Count, Jobs, Limit, Pods, Rate

NO_CAP = 1 << 60

type Scope = tuple[str, Count]
"""A lane, or the pool if it is empty; all its tenants together, or each of them alone."""


class Caps(Struct, frozen=True):
    """The limits of a scope: the least of each kind, and every rate as (starts, milliseconds)."""

    jobs: int = NO_CAP
    pods: int = NO_CAP
    rates: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, limits: Iterable[Limit]) -> "Caps":
        """The caps of all limits of one scope."""
        bounds = [limit.bound for limit in limits]
        jobs = [
            0 if isinstance(b, Closed) else b.most for b in bounds if isinstance(b, Jobs | Closed)
        ]
        pods = [b.most for b in bounds if isinstance(b, Pods)]
        rates = tuple(sorted({(b.starts, b.per) for b in bounds if isinstance(b, Rate)}))
        return cls(min(jobs, default=NO_CAP), min(pods, default=NO_CAP), rates)


def by_scope(limits: Iterable[Limit]) -> dict[Scope, Caps]:
    """The caps of each scope that has a limit."""
    scopes: dict[Scope, list[Limit]] = defaultdict(list)
    for limit in limits:
        scopes[limit.lane, limit.count].append(limit)
    return {scope: Caps.of(its) for scope, its in scopes.items()}


def widest_by_lane(limits: Iterable[Limit]) -> dict[str, int]:
    """The widest Job that each lane's own limits could ever admit; of the pool's, without a name.

    What is missing admits any width.
    """
    widest: dict[str, int] = {}
    for limit in limits:
        if limit.widest is not None:
            widest[limit.lane] = min(limit.widest, widest.get(limit.lane, NO_CAP))
    return widest
