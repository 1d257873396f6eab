"""Pools, Lanes and Limits as the API server writes them, into the values of the core.

An object that can't be understood never loosens a rule: such a Pool is paused, and such a Limit
closes the pool or the lane that it names.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from kwicket.core.catalog import Declared
from kwicket.core.leases import OnLapse, Terms
from kwicket.core.limits import Bound, Closed, Count, Jobs, Limit, Pods, Rate
from kwicket.core.pools import GO_ON_ABOVE, Charging, Lane, Pool
from kwicket.core.priority import Age, Factor, FairShare, Priority, Trait
from kwicket.core.selectors import Expression, Operator, Selector
from kwicket.kube.durations import milliseconds
from kwicket.kube.objects import milliseconds_of, token_of


class _Factor(Struct, rename="camel"):
    factor: str
    weight: int
    full_after: str = "30m"
    trait: str = ""


class _Expression(Struct):
    key: str
    operator: Operator
    values: list[str] = []


class _Selector(Struct, rename="camel"):
    match_labels: dict[str, str] = {}
    match_expressions: list[_Expression] = []


class _Share(Struct):
    tenant: str
    share: int


class _Fairness(Struct):
    charge: Charging = Charging.STARTS
    shares: list[_Share] = []


class _Lease(Struct, rename="camel"):
    duration: str = "5m"
    start_within: str = "10m"
    on_lapse: OnLapse = OnLapse.REDELIVER
    redeliveries: int = 5


class _Pool(Struct, rename="camel"):
    default: bool = False
    namespace_selector: _Selector = msgspec.field(default_factory=_Selector)
    paused: bool = False
    priority: list[_Factor] = msgspec.field(default_factory=lambda: [_Factor("FairShare", 1)])
    fairness: _Fairness = msgspec.field(default_factory=_Fairness)
    lease: _Lease = msgspec.field(default_factory=_Lease)


class _Lane(Struct):
    pool: str


class _Concurrency(Struct):
    jobs: int | UnsetType = UNSET
    pods: int | UnsetType = UNSET


class _Rate(Struct):
    starts: int
    per: str


class _Limit(Struct):
    pool: str | None = None
    lane: str = ""
    count: Count = Count.TOGETHER
    concurrency: _Concurrency | None = None
    rate: _Rate | None = None


class NotUnderstood(Struct, frozen=True):
    """An object of which not even its place can be read, and why."""

    why: str


def pool(body: Mapping[str, Any]) -> Pool:
    """A Pool; one that grants nothing and says why if it can't be understood."""
    name, created, above = _name(body), _created(body), _above(body)
    try:
        spec = msgspec.convert(body.get("spec", {}), _Pool)
        value = Pool(
            name=name,
            created=created,
            default=spec.default,
            namespaces=_selector(spec.namespace_selector),
            paused=spec.paused,
            priority=Priority(tuple(_factor(factor) for factor in spec.priority)),
            charging=spec.fairness.charge,
            shares={share.tenant: share.share for share in spec.fairness.shares},
            lease=_terms(spec.lease),
            above=above,
        )
    except ValueError as error:
        return Pool(name=name, created=created, above=above, fault=str(error))
    return value


def lane(body: Mapping[str, Any]) -> Lane | NotUnderstood:
    """A Lane."""
    try:
        spec = msgspec.convert(body.get("spec", {}), _Lane)
    except ValueError as error:
        return NotUnderstood(str(error))
    return Lane(_name(body), spec.pool)


def limit(body: Mapping[str, Any]) -> Declared | NotUnderstood:
    """A Limit; a closed one if only its pool or lane can be read."""
    name, spec = _name(body), body.get("spec", {})
    try:
        read = msgspec.convert(spec, _Limit)
        if (read.pool is None) == (read.lane == ""):
            raise ValueError("it names neither a pool nor a lane, or both")
        value = Limit(name=name, bound=_bound(read), lane=read.lane, count=read.count)
        return Declared(value, read.pool)
    except ValueError as error:
        return _closed(name, spec, str(error))


def _closed(name: str, spec: object, fault: str) -> Declared | NotUnderstood:
    """Closes the pool that it names, or else the lane."""
    places = spec if isinstance(spec, Mapping) else {}
    match places.get("pool"), places.get("lane"):
        case str(named), _:
            return Declared(Limit(name, Closed(fault)), named)
        case _, str(lane) if lane:
            return Declared(Limit(name, Closed(fault), lane))
    return NotUnderstood(fault)


def _bound(spec: _Limit) -> Bound:
    match spec.concurrency, spec.rate:
        case _Concurrency(jobs=int(most), pods=msgspec.UNSET), None:
            return Jobs(most)
        case _Concurrency(jobs=msgspec.UNSET, pods=int(most)), None:
            return Pods(most)
        case None, _Rate(starts=starts, per=per):
            return Rate(starts, milliseconds(per))
    raise ValueError("it has none of concurrency.jobs, concurrency.pods and rate, or several")


def _factor(spec: _Factor) -> Factor:
    match spec.factor:
        case "FairShare":
            return FairShare(spec.weight)
        case "Age":
            return Age(spec.weight, milliseconds(spec.full_after))
        case "Trait" if spec.trait:
            return Trait(spec.trait, spec.weight)
        case "Trait":
            raise ValueError("priority: factor Trait needs the name of a trait")
    raise ValueError(f"priority: factor {spec.factor!r} is none of FairShare, Age, Trait")


def _terms(spec: _Lease) -> Terms:
    return Terms(
        duration=milliseconds(spec.duration),
        start_within=milliseconds(spec.start_within),
        on_lapse=spec.on_lapse,
        redeliveries=spec.redeliveries,
    )


def _selector(spec: _Selector) -> Selector:
    labels = (
        Expression(key, Operator.IN, (value,)) for key, value in sorted(spec.match_labels.items())
    )
    expressions = (Expression(e.key, e.operator, tuple(e.values)) for e in spec.match_expressions)
    return Selector((*labels, *expressions))


def _name(body: Mapping[str, Any]) -> str:
    return str(body["metadata"]["name"])


def _above(body: Mapping[str, Any]) -> int:
    return token_of((body["metadata"].get("annotations") or {}).get(GO_ON_ABOVE)) or 0


def _created(body: Mapping[str, Any]) -> int:
    return milliseconds_of(body["metadata"]["creationTimestamp"])
