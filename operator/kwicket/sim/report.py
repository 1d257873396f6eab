"""Reports: what a run comes to, for each tenant and in all. Times are in seconds."""

from collections import Counter
from typing import Any

import msgspec
from msgspec import Struct

from kwicket.core.order import natural_key
from kwicket.sim.run import Grant, Run
from kwicket.sim.shares import Holdings, holdings
from kwicket.sim.tide import Held
from kwicket.sim.waits import Waits, lighter_half, slowdown_of, waits_of


class TenantReport(Struct, frozen=True):
    """What a run was like for one tenant."""

    tenant: str
    jobs: int
    """All that it submitted and that were not set aside."""
    started: int
    mean: float
    p50: float
    p95: float
    longest: float
    slowdown: float
    """The mean bounded slowdown of its Jobs, 1 at least."""
    got: float
    """Which part of the slots in use it held while it had Jobs waiting."""
    due: float
    """Which part it would have held by its share, had it never asked for less."""


class Report(Struct, frozen=True, rename="camel"):
    """What a run was like."""

    name: str
    tenants: tuple[TenantReport, ...]
    jobs: int
    started: int
    aside: int
    """Jobs that are too wide ever to start."""
    all: Waits
    lighter_half: Waits
    """The waits of the half of the tenants that used the fewest slot-seconds."""
    jain: float
    """Jain's index of what tenants held over what was their due while they had Jobs; 1 is even."""
    makespan: float
    """From the first submission to the last end."""
    grants_per_second: float


def report_of(run: Run) -> Report:
    """The figures of a run."""
    held = holdings(run)
    grants, waiting = _by_tenant(run)
    submitted = [g.arrival.at for g in run.grants] + [line.arrival.at for line in run.waiting]
    makespan = max(run.end - min(submitted, default=0), 0) / 1000
    names = sorted(grants | waiting, key=natural_key)
    return Report(
        name=run.world.name,
        tenants=tuple(
            _tenant(name, grants.get(name, []), waiting[name], held.get(name)) for name in names
        ),
        jobs=len(run.grants) + len(run.waiting),
        started=len(run.grants),
        aside=len(run.aside),
        all=waits_of(run.grants),
        lighter_half=waits_of(lighter_half(run.grants)),
        jain=jain([h.in_demand.got / h.in_demand.due for h in held.values() if h.in_demand.due]),
        makespan=makespan,
        grants_per_second=len(run.grants) / makespan if makespan else 0.0,
    )


def jain(values: list[float]) -> float:
    """Jain's index: from 1/n, one has all, to 1, all have the same; 1 of nothing."""
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 1.0


def grant_line(grant: Grant) -> dict[str, Any]:
    """A grant as plain data; times in seconds."""
    return {
        "at": grant.at / 1000,
        "job": grant.arrival.name,
        "tenant": grant.arrival.tenant,
        "lane": grant.arrival.lane,
        "token": grant.token,
        "waited": grant.waited / 1000,
    }


def plain(report: Report, run: Run) -> dict[str, Any]:
    """A report with its grants, as plain data."""
    figures: dict[str, Any] = msgspec.to_builtins(report)
    return figures | {
        "setAside": [
            {"job": left.arrival.name, "reason": left.aside.reason, "why": left.aside.sentence}
            for left in run.aside
        ],
        "grants": [grant_line(grant) for grant in run.grants],
    }


def _by_tenant(run: Run) -> tuple[dict[str, list[Grant]], Counter[str]]:
    """The grants of each tenant, and how many of its Jobs never started."""
    found: dict[str, list[Grant]] = {}
    for grant in run.grants:
        found.setdefault(grant.arrival.tenant, []).append(grant)
    return found, Counter(line.arrival.tenant for line in run.waiting)


def _tenant(name: str, grants: list[Grant], waiting: int, held: Holdings | None) -> TenantReport:
    waits = waits_of(grants)
    in_line = held.in_line if held else Held()
    return TenantReport(
        tenant=name,
        jobs=len(grants) + waiting,
        started=len(grants),
        mean=waits.mean,
        p50=waits.p50,
        p95=waits.p95,
        longest=waits.longest,
        slowdown=slowdown_of(grants),
        got=in_line.got / in_line.all if in_line.all else 0.0,
        due=in_line.due / in_line.all if in_line.all else 0.0,
    )
