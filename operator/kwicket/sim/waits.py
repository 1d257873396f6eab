"""How long Jobs waited, in seconds, and how much that slowed them down."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from kwicket.sim.run import Grant

SHORTEST = 10_000
"""Jobs that run for less than these milliseconds are not slowed down more than ones that do."""


class Waits(Struct, frozen=True):
    """Figures of a set of waiting times, in seconds; all 0 if it is empty."""

    mean: float = 0.0
    p50: float = 0.0
    p95: float = 0.0
    longest: float = 0.0


def waits_of(grants: Iterable[Grant]) -> Waits:
    """Of started Jobs. A percentile is a wait that occurred: the nearest rank."""
    ordered = sorted(grant.waited for grant in grants)
    if not ordered:
        return Waits()
    return Waits(
        mean=sum(ordered) / len(ordered) / 1000,
        p50=_ranked(ordered, 50),
        p95=_ranked(ordered, 95),
        longest=ordered[-1] / 1000,
    )


def _ranked(ordered: Sequence[int], percent: int) -> float:
    return ordered[-(-len(ordered) * percent // 100) - 1] / 1000


def slowdown_of(grants: Sequence[Grant]) -> float:
    """The mean bounded slowdown: (waited + runs) / max(runs, 10 s), and 1 at least."""
    if not grants:
        return 1.0
    return sum(map(_slowdown, grants)) / len(grants)


def _slowdown(grant: Grant) -> float:
    runs = grant.arrival.runs
    return max(1.0, (grant.waited + runs) / max(runs, SHORTEST))


def lighter_half(grants: Iterable[Grant]) -> list[Grant]:
    """The grants of the half of the tenants whose Jobs used the fewest slot-seconds.

    Of an odd number of tenants it is the bigger half; ties end in the smaller name.
    """
    work: dict[str, int] = {}
    grants = list(grants)
    for grant in grants:
        tenant = grant.arrival.tenant
        work[tenant] = work.get(tenant, 0) + grant.arrival.work
    order = sorted(work, key=lambda tenant: (work[tenant], tenant))
    light = set(order[: (len(order) + 1) // 2])
    return [grant for grant in grants if grant.arrival.tenant in light]
