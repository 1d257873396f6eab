"""Builders of values with every default filled in: a test names only what it is about."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from kwicket.core.book import Book
from kwicket.core.catalog import Catalog, Declared
from kwicket.core.fairness import SCALE, Fairness
from kwicket.core.jobs import JobSeen, NamespaceSeen, PodSeen
from kwicket.core.leases import Lease
from kwicket.core.limits import Bound, Count, Jobs, Limit, Pods, Rate
from kwicket.core.pools import Lane, Pool, Rules
from kwicket.core.priority import Factor, Priority
from kwicket.core.state import Intent, State
from kwicket.core.tickets import Ticket

START = 1_000_000
"""When histories begin, in milliseconds since 1970."""


def ticket(job: str = "x-1", tenant: str = "alice", **fields: Any) -> Ticket:
    """A waiting Job of namespace `team`; its UID is its name."""
    defaults: dict[str, Any] = {"uid": job, "submitted": START}
    return Ticket(job=f"team/{job}", tenant=tenant, **(defaults | fields))


def tickets(tenant: str, count: int, **fields: Any) -> list[Ticket]:
    """Jobs `tenant-1`, `tenant-2`, … submitted at one moment."""
    return [ticket(f"{tenant}-{n}", tenant, **fields) for n in range(1, count + 1)]


def lease(job: str = "r-1", tenant: str = "alice", **fields: Any) -> Lease:
    """A Job that holds a slot; its UID is its name."""
    defaults: dict[str, Any] = {"uid": job, "lane": "", "width": 1, "token": 1}
    return Lease(job=f"team/{job}", tenant=tenant, **(defaults | fields))


def intent(
    job: str = "r-1",
    tenant: str = "alice",
    at: int = START,
    charge: int = 1,
    **fields: Any,
) -> Intent:
    """A grant that was not seen on its Job yet."""
    return Intent(lease(job, tenant, **fields), at, charge)


def priority(*factors: Factor) -> Priority:
    """A pool's factors."""
    return Priority(factors)


def pool(name: str = "pool", **fields: Any) -> Pool:
    """A pool that shares turns evenly."""
    return Pool(name, **fields)


def limit(bound: Bound, lane: str = "", *, each: bool = False, name: str = "") -> Limit:
    """A limit of the pool, or of a lane; its name says what it counts."""
    count = Count.EACH_TENANT if each else Count.TOGETHER
    return Limit(name or f"{type(bound).__name__.lower()}-{lane or 'pool'}", bound, lane, count)


def jobs(most: int, lane: str = "", *, each: bool = False, name: str = "") -> Limit:
    """At most so many Jobs at once."""
    return limit(Jobs(most), lane, each=each, name=name)


def pods(most: int, lane: str = "", *, each: bool = False, name: str = "") -> Limit:
    """At most so many pods at once."""
    return limit(Pods(most), lane, each=each, name=name)


def rate(starts: int, per: int, lane: str = "", *, each: bool = False, name: str = "") -> Limit:
    """At most so many starts in `per` milliseconds."""
    return limit(Rate(starts, per), lane, each=each, name=name)


def rules(*limits: Limit, **fields: Any) -> Rules:
    """The rules of a pool with these limits."""
    return Rules(pool(**fields), limits)


def book(
    *limits: Limit,
    waiting: Iterable[Ticket] = (),
    running: Iterable[Lease] = (),
    state: State | None = None,
    **fields: Any,
) -> Book:
    """A pool's book with these limits, its Jobs in line and those that run."""
    made = Book(rules(*limits, **fields), state or State(1))
    for one in waiting:
        made.submit(one)
    for held in running:
        made.occupy(held)
    return made


def fairness(
    virtual_time: int | Fraction = 0,
    tags: Mapping[str, int | Fraction] | None = None,
    standing: Mapping[str, int | Fraction] | None = None,
) -> Fairness:
    """Turns as they stand, in whole turns."""
    return Fairness(
        SCALE,
        int(virtual_time * SCALE),
        {tenant: int(tag * SCALE) for tenant, tag in (tags or {}).items()},
        {tenant: int(start * SCALE) for tenant, start in (standing or {}).items()},
    )


def job_seen(name: str = "x-1", tenant: str = "alice", **fields: Any) -> JobSeen:
    """A suspended Job of namespace `team` that waits in `pool`; its UID is its name."""
    defaults: dict[str, Any] = {"namespace": "team", "uid": name, "version": "1"}
    defaults |= {"created": START, "pool": "pool"}
    return JobSeen(name=name, tenant=tenant, **(defaults | fields))


def pod_seen(job: str = "x-1", name: str = "", **fields: Any) -> PodSeen:
    """A running pod of the Job of this UID."""
    name = name or f"{job}-a"
    defaults: dict[str, Any] = {"namespace": "team", "uid": name, "tenant": "alice"}
    defaults |= {"phase": "Running"}
    return PodSeen(name=name, job_uid=job, **(defaults | fields))


def namespace_seen(name: str = "team", **labels: str) -> NamespaceSeen:
    """A namespace; `tenant="x"` is the label `kwicket.dev/tenant`, and so is each other name."""
    return NamespaceSeen(name, {f"kwicket.dev/{key}": value for key, value in labels.items()})


def catalog(*declared: Pool | Lane | Limit) -> Catalog:
    """Pools, Lanes, and Limits; a limit that covers no lane counts in the first pool."""
    pools = {one.name: one for one in declared if isinstance(one, Pool)}
    first = next(iter(pools), None)
    limits = [one for one in declared if isinstance(one, Limit)]
    return Catalog(
        pools=pools,
        lanes={one.name: one for one in declared if isinstance(one, Lane)},
        limits={one.name: Declared(one, None if one.lane else first) for one in limits},
    )
