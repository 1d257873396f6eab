"""Judgement of Pools, Lanes and Limits: what no rule on the object alone can say.

What the schemas in crds/ refuse never comes here. An object that this version does not understand
is refused, since it would stop its pool; one that names what is not there may be early, and is not.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from kwicket.core.catalog import Catalog, Declared
from kwicket.core.limits import Closed
from kwicket.core.reasons import Reason, sentence
from kwicket.kube import declared
from kwicket.kube.declared import NotUnderstood
from kwicket.kube.webhook.reviews import Request, Reviews, Verdict

type Body = Mapping[str, Any]
type DeclarationRequest = Request[dict[str, Any], dict[str, Any]]

_GROUP = "kwicket.dev"
DECLARATIONS: Reviews[dict[str, Any], dict[str, Any]] = Reviews(
    dict[str, Any], dict[str, Any], (_GROUP, "pools"), (_GROUP, "lanes"), (_GROUP, "limits")
)
_NEW = {"creationTimestamp": "9999-12-31T23:59:59Z"}
"""Later than all that are stored."""


def of_declaration(request: DeclarationRequest, catalog: Catalog) -> Verdict:
    """Judges a Pool, Lane or Limit among those that are declared."""
    try:
        metadata = {k: v for k, v in request.object["metadata"].items() if v is not None}
        body: Body = {"spec": {}} | request.object | {"metadata": {"name": ""} | _NEW | metadata}
        return _JUDGES[request.resource.resource](body, catalog)
    except (ValueError, KeyError, AttributeError) as error:  # no object of an API server's
        return Verdict(errors=[f"the object is not understood: {error!r}"[:500]])


def _pool(body: Body, catalog: Catalog) -> Verdict:
    pool = declared.pool(body)
    if pool.fault is not None:
        why = sentence(Reason.POOL_NOT_UNDERSTOOD, pool=pool.name, why=pool.fault)
        return Verdict(errors=[why])
    others = {name: other for name, other in catalog.pools.items() if name != pool.name}
    rival = Catalog(others).default
    if not pool.default or rival is None:
        return Verdict()
    first, second = sorted((pool, rival), key=lambda one: (one.created, one.name))
    words = f"Pools {first.name} and {second.name} both have spec.default: true; the older,"
    return Verdict(warnings=[f"{words} {first.name}, is the default"])


def _lane(body: Body, catalog: Catalog) -> Verdict:
    lane = declared.lane(body)
    if isinstance(lane, NotUnderstood):
        return Verdict(errors=[f"the Lane is not understood: {lane.why}"])
    return Verdict(warnings=_unknown("Pool", lane.pool, catalog.pools))


def _limit(body: Body, catalog: Catalog) -> Verdict:
    read = declared.limit(body)
    if isinstance(read, NotUnderstood):
        return Verdict(errors=[f"the Limit is not understood: {read.why}"])
    limit = read.limit
    if isinstance(limit.bound, Closed):
        why = sentence(Reason.LIMIT_NOT_UNDERSTOOD, limit=limit.name, why=limit.bound.why)
        return Verdict(errors=[why])
    return Verdict(warnings=_unknown_place(read, catalog))


def _unknown_place(limit: Declared, catalog: Catalog) -> list[str]:
    if limit.pool is not None:
        return _unknown("Pool", limit.pool, catalog.pools)
    return _unknown("Lane", limit.limit.lane, catalog.lanes)


def _unknown(kind: str, name: str, known: Collection[str]) -> list[str]:
    if name in known:
        return []
    return [f"there is no {kind} {name} yet: until there is, this has no effect"]


_JUDGES: Mapping[str, Callable[[Body, Catalog], Verdict]] = {
    "pools": _pool,
    "lanes": _lane,
    "limits": _limit,
}
