"""Who held the slots of each pool, and who should have, from what became of the Jobs."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from kwicket.sim.run import Run
from kwicket.sim.tide import Held, Tide


class Change(Struct, frozen=True, gc=False):
    """At a moment, so many more Jobs of a tenant wait; so many more pods wait, and run."""

    at: int
    tenant: str
    jobs: int
    waiting: int
    running: int


class Holdings(Struct, frozen=True):
    """What a tenant held over the whole run, in all pools."""

    in_line: Held
    """While it had Jobs waiting."""
    in_demand: Held
    """While it had Jobs waiting or running."""


def changes(run: Run, pool: str) -> list[Change]:
    """All that happened in a pool, in order."""
    seen: list[Change] = []
    for grant in run.grants:
        if grant.pool == pool:
            tenant, width = grant.arrival.tenant, grant.arrival.width
            seen.append(Change(grant.arrival.at, tenant, 1, width, 0))
            seen.append(Change(grant.at, tenant, -1, -width, width))
            seen.append(Change(grant.end, tenant, 0, 0, -width))
    for line in run.waiting:
        if line.pool == pool:
            seen.append(Change(line.arrival.at, line.arrival.tenant, 1, line.arrival.width, 0))
    return sorted(seen, key=lambda change: change.at)


def holdings(run: Run) -> dict[str, Holdings]:
    """What each tenant held, by name."""
    found: dict[str, Holdings] = {}
    end = run.end
    for pool, declared in run.world.catalog.pools.items():
        tide, tenants = Tide(declared.shares), set()
        for change in changes(run, pool):
            if change.at <= end:
                _apply(tide, change)
                tenants.add(change.tenant)
        tide.advance(end)
        for tenant in tenants:
            one = found.setdefault(tenant, Holdings(Held(), Held()))
            _add(one.in_line, tide.in_line(tenant))
            _add(one.in_demand, tide.in_demand(tenant))
    return found


def shares_over_time(
    run: Run, pool: str, tenants: Sequence[str], bins: int
) -> Iterator[tuple[int, dict[str, Held]]]:
    """The end of each of so many equal spans of a run, and what these tenants held in it."""
    tide, seen = Tide(run.world.catalog.pools[pool].shares), changes(run, pool)
    before, place = dict.fromkeys(tenants, (0.0, 0.0)), 0
    everything, end = 0.0, run.end
    for number in range(1, bins + 1):
        stop = end * number // bins
        while place < len(seen) and seen[place].at <= stop:
            _apply(tide, seen[place])
            place += 1
        tide.advance(stop)
        after = {t: (tide.in_demand(t).got, tide.in_demand(t).due) for t in tenants}
        passed = tide.all - everything
        yield (
            stop,
            {
                t: Held(after[t][0] - before[t][0], after[t][1] - before[t][1], passed)
                for t in tenants
            },
        )
        before, everything = after, tide.all


def _apply(tide: Tide, change: Change) -> None:
    tide.change(change.at, change.tenant, change.jobs, change.waiting, change.running)


def _add(total: Held, more: Held) -> None:
    total.got += more.got
    total.due += more.due
    total.all += more.all
