"""Worlds: the rules that one simulation runs under, and where each Job belongs in them."""

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from kwicket.core.catalog import Aside, Catalog, Declared, Placed
from kwicket.core.jobs import JobSeen, NamespaceSeen
from kwicket.core.limits import Jobs, Limit
from kwicket.core.pools import Charging, Pool
from kwicket.core.priority import FairShare, Priority
from kwicket.core.selectors import Selector
from kwicket.core.tickets import Ticket
from kwicket.sim.arrivals import Arrival

START = 1_000_000_000_000
"""When a simulation begins, in milliseconds since 1970. It decides nothing."""
SLOTS = "--slots"
"""The name of the limits that `limited` adds; no object can have it."""


class World(Struct, frozen=True):
    """Rules under a name, and whether run times are known at the start."""

    name: str
    catalog: Catalog
    oracle: bool = False


class Line(Struct, frozen=True):
    """A Job in the pool where it waits, and its ticket there."""

    arrival: Arrival
    pool: str
    ticket: Ticket


class Left(Struct, frozen=True):
    """A Job that its world sets aside, and why."""

    arrival: Arrival
    aside: Aside


def settled(catalog: Catalog, arrivals: Iterable[Arrival]) -> tuple[Catalog, list[str]]:
    """The catalog as a simulation of these Jobs takes it, and a sentence on each change.

    Its Jobs have no namespace, so a namespaceSelector can't be asked; and if there is one Pool
    only, Jobs that name none go there.
    """
    notes = []
    pools = dict(catalog.pools)
    for pool in catalog.pools.values():
        if pool.namespaces != Selector():
            notes.append(
                f"Pool {pool.name}: its namespaceSelector is not looked at,"
                " since the Jobs here have no namespace"
            )
            pools[pool.name] = replace(pool, namespaces=Selector())
    homeless = any(arrival.pool is None and arrival.lane is None for arrival in arrivals)
    if homeless and len(pools) == 1 and not catalog.default:
        [name] = pools
        pools[name] = replace(pools[name], default=True)
        notes.append(
            f"Pool {name}: takes the Jobs that name neither pool nor lane, as the only Pool here;"
            " in a cluster it does once it says default: true"
        )
    return replace(catalog, pools=pools), notes


def plain() -> Catalog:
    """One Pool, which charges by time, for Jobs that come without rules."""
    pool = Pool("default", default=True, charging=Charging.TIME)
    return Catalog(pools={pool.name: pool})


def limited(catalog: Catalog, slots: int) -> Catalog:
    """With a limit of so many Jobs at once for each Pool."""
    added = {f"{SLOTS} {name}": Declared(Limit(SLOTS, Jobs(slots)), name) for name in catalog.pools}
    return replace(catalog, limits={**catalog.limits, **added})


def first_come(catalog: Catalog) -> Catalog:
    """The same limits, and whoever came first is first."""
    order = Priority((FairShare(0),))
    pools = {p.name: replace(p, priority=order) for p in catalog.pools.values()}
    return replace(catalog, pools=pools)


def placed(world: World, arrivals: Iterable[Arrival]) -> Iterator[Line | Left]:
    """Each Job where the operator would put it, in the same order."""
    known: dict[tuple[object, ...], Placed | Aside] = {}
    for arrival in arrivals:
        kind = (arrival.tenant, arrival.pool, arrival.lane, arrival.traits, arrival.width)
        place = known.get(kind)
        if place is None:
            place = known[kind] = world.catalog.place(_seen(arrival), NamespaceSeen(""))
        match place:
            case Placed(pool, ticket):
                yield Line(arrival, pool, _renamed(ticket, arrival))
            case Aside():
                yield Left(arrival, place)


def _seen(arrival: Arrival) -> JobSeen:
    return JobSeen(
        namespace="",
        name=arrival.name,
        uid=arrival.name,
        version="",
        created=START + arrival.at,
        tenant=arrival.tenant,
        pool=arrival.pool,
        lane=arrival.lane,
        traits=arrival.traits,
        parallelism=arrival.width,
    )


def _renamed(ticket: Ticket, arrival: Arrival) -> Ticket:
    return replace(ticket, uid=arrival.name, job=arrival.name, submitted=START + arrival.at)
