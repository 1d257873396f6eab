"""The catalog: all Pools, Lanes and Limits that are declared, and where a Job belongs in them."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from msgspec import Struct

from kwicket.core.jobs import JobSeen, NamespaceSeen
from kwicket.core.limits import Limit
from kwicket.core.pools import Lane, Pool, Rules
from kwicket.core.reasons import Reason, sentence
from kwicket.core.tickets import Ticket, trait_value

TENANT_LABEL = "kwicket.dev/tenant"
TRAIT_PREFIX = "trait.kwicket.dev/"


class Declared(Struct, frozen=True):
    """A Limit with the pool or the lane that its author named: exactly one of the two."""

    limit: Limit
    pool: str | None = None


class Placed(Struct, frozen=True):
    """The pool that a Job waits in, and its ticket there."""

    pool: str
    ticket: Ticket


class Aside(Struct, frozen=True):
    """A Job that is in no line, and why."""

    reason: Reason
    sentence: str


class Catalog(Struct, frozen=True):
    """What administrators have declared, by name."""

    pools: Mapping[str, Pool] = {}
    lanes: Mapping[str, Lane] = {}
    limits: Mapping[str, Declared] = {}

    @property
    def default(self) -> Pool | None:
        """The oldest Pool that says it is the default; on a tie, the smaller name."""
        claims = [pool for pool in self.pools.values() if pool.default]
        return min(claims, key=lambda pool: (pool.created, pool.name), default=None)

    def rules(self, pool: str) -> Rules:
        """All that decides inside this pool. Raises KeyError for a pool that is not declared."""
        limits = (d.limit for _, d in sorted(self.limits.items()) if self.pool_of(d) == pool)
        return Rules(self.pools[pool], tuple(limits))

    def pool_of(self, declared: Declared) -> str | None:
        """The pool that a limit counts in; None if its lane is not declared."""
        if declared.pool is not None:
            return declared.pool
        lane = self.lanes.get(declared.limit.lane)
        return lane.pool if lane else None

    def place(self, job: JobSeen, namespace: NamespaceSeen) -> Placed | Aside:
        """The line that a Job belongs in, or the first reason why it is in none."""
        for aside in self.objections(job, namespace):
            return aside
        pool = self.pool_for(job)
        assert isinstance(pool, Pool)  # else it were an objection
        return Placed(pool.name, _ticket(job, _traits(job, namespace)))

    def objections(self, job: JobSeen, namespace: NamespaceSeen) -> Iterator[Aside]:
        """Every reason why a Job belongs in no line, in the order in which to mend them."""
        owner = namespace.labels.get(TENANT_LABEL)
        if owner and owner != job.tenant:  # an empty label binds it to nobody
            yield _aside(
                Reason.TENANT_MISMATCH, namespace=job.namespace, owner=owner, tenant=job.tenant
            )
        pool = self.pool_for(job)
        if isinstance(pool, Aside):
            yield pool
        elif not pool.namespaces.matches(namespace.labels):
            yield _aside(Reason.NAMESPACE_NOT_SELECTED, pool=pool.name, namespace=job.namespace)
        yield from _bad_traits(job, namespace)
        narrow = self._too_small(pool.name, job) if isinstance(pool, Pool) else None
        if narrow is not None:
            most = getattr(narrow.bound, "most", 0)
            yield _aside(Reason.TOO_WIDE, width=job.width, limit=narrow.name, most=most)
        if isinstance(pool, Pool) and job.token and job.deliveries > pool.lease.redeliveries:
            yield _parked(job, pool)

    def _too_small(self, pool: str, job: JobSeen) -> Limit | None:
        """The limit that a Job is too wide for; one pod is never too wide."""
        return self.rules(pool).too_small(job.lane or "", job.width) if job.width > 1 else None

    def pool_for(self, job: JobSeen) -> Pool | Aside:
        """The pool that the Job's labels name, or the default."""
        if job.lane is not None:
            return self._pool_by_lane(job, job.lane)
        if job.pool is None:
            return self.default or _aside(Reason.NO_POOL)
        known = self.pools.get(job.pool)
        return known or _aside(Reason.UNKNOWN_POOL, pool=job.pool, known=_names(self.pools))

    def _pool_by_lane(self, job: JobSeen, name: str) -> Pool | Aside:
        lane = self.lanes.get(name)
        if lane is None or lane.pool not in self.pools:
            known = [lane.name for lane in self.lanes.values() if lane.pool in self.pools]
            return _aside(Reason.UNKNOWN_LANE, lane=name, known=_names(known))
        if job.pool not in (None, lane.pool):
            return _aside(Reason.LANE_OF_OTHER_POOL, lane=name, owner=lane.pool, pool=job.pool)
        return self.pools[lane.pool]


def _ticket(job: JobSeen, traits: tuple[tuple[str, int], ...]) -> Ticket:
    return Ticket(
        uid=job.uid,
        job=job.job,
        tenant=job.tenant,
        submitted=job.created,
        lane=job.lane or "",
        traits=traits,
        width=job.width,
        held=job.held,
        deliveries=0 if job.token is None else max(job.deliveries, 1),
    )


def _parked(job: JobSeen, pool: Pool) -> Aside:
    return _aside(
        Reason.PARKED,
        times=job.deliveries,
        pool=pool.name,
        most=pool.lease.redeliveries,
        why=put_back_by(job),
        name=job.name,
        namespace=job.namespace,
    )


def put_back_by(job: JobSeen) -> str:
    """Who has put a Job back in line, in words."""
    if job.suspended_by:
        return f"field manager {job.suspended_by} has suspended it"
    return "Kwicket has suspended it"


def _bad_traits(job: JobSeen, namespace: NamespaceSeen) -> Iterator[Aside]:
    for name, text in job.traits:
        if trait_value(text) is None:
            yield _aside(Reason.BAD_TRAIT, where="the Job", trait=name, value=text)
        cap = namespace.labels.get(TRAIT_PREFIX + name, "1")
        if trait_value(cap) is None:
            yield _aside(Reason.BAD_TRAIT, where="its namespace", trait=name, value=cap)


def _traits(job: JobSeen, namespace: NamespaceSeen) -> tuple[tuple[str, int], ...]:
    """The values that count; 0 for one that is no number."""
    caps = (namespace.labels.get(TRAIT_PREFIX + name, "1") for name, _ in job.traits)
    return _shared(
        tuple(
            (name, min(trait_value(text) or 0, trait_value(cap) or 0))
            for (name, text), cap in zip(job.traits, caps, strict=True)
        )
    )


@lru_cache(maxsize=4096)
def _shared(traits: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
    """One tuple for all Jobs that have the same traits."""
    return traits


def _aside(reason: Reason, **blanks: object) -> Aside:
    return Aside(reason, sentence(reason, **blanks))


def _names(names: Iterable[str]) -> str:
    known = sorted(names)
    return ", ".join(known[:20]) + (", …" if len(known) > 20 else "") or "none"
