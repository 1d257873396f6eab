"""The conditions of declared objects: what is wrong with them, in words. Pure."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from kwicket.core.catalog import Catalog, Declared
from kwicket.core.limits import Closed, Rate
from kwicket.core.pools import GO_ON_ABOVE, Lane, Pool, Rules
from kwicket.engine.census import Census
from kwicket.engine.desk import Desk
from kwicket.ports.enforcement import Enforcement
from kwicket.ports.notices import Condition

OF_POOLS = ("Ready", "PolicyMissing", "NodesReachable", "LeaseLapsed", "Default", "RulesDiffer")
"""All condition types that `of_pool` may give; one that it leaves out does not hold any more."""


def of_pool(
    desk: Desk,
    catalog: Catalog,
    census: Census,
    enforcement: Enforcement,
    lapsed: Mapping[str, str],
) -> tuple[Condition, ...]:
    """Ready, and what else an administrator should know of this Pool.

    `lapsed` has the Jobs that hold slots although their leases have lapsed, and why they have.
    """
    pool = desk.book.rules.pool
    reason, message = enforcement.reason, enforcement.message
    missing = not (enforcement.in_force or enforcement.outdated)
    conditions = [
        _ready(desk, enforcement),
        Condition("PolicyMissing", missing, reason, message),
        _reachable(desk, census),
    ]
    if lapsed:
        conditions.append(_held(lapsed))
    if desk.share is not None and desk.share.differing:
        conditions.append(_differ(desk.share.differing))
    if pool.default:
        conditions.append(_default(pool, catalog.default))
    return tuple(conditions)


def of_lane(lane: Lane, catalog: Catalog) -> Condition:
    """Ready if its pool is declared."""
    if lane.pool in catalog.pools:
        return Condition("Ready", True, "PoolFound", f"it is a lane of pool {lane.pool}")
    message = f"there is no Pool {lane.pool}: create it, or make this lane anew in another pool"
    return Condition("Ready", False, "UnknownPool", message)


def of_limit(declared: Declared, catalog: Catalog, desk: Desk | None, now: int) -> Condition:
    """Ready if it is counted; says so if a rate does not know its whole window yet."""
    limit = declared.limit
    pool = catalog.pool_of(declared)
    if isinstance(limit.bound, Closed):
        return Condition("Ready", False, "NotUnderstood", limit.bound.why)
    if pool is None:
        return Condition("Ready", False, "UnknownLane", f"there is no Lane {limit.lane}")
    if pool not in catalog.pools:
        return Condition("Ready", False, "UnknownPool", f"there is no Pool {pool}")
    if isinstance(limit.bound, Rate) and desk is not None and desk.page is not None:
        since = desk.book.starts_since.get(limit.name, now)
        if since > now - limit.bound.per:
            message = "it does not know its whole window yet: earlier starts were not kept"
            return Condition("Ready", True, "WindowNotFull", message)
    return Condition("Ready", True, "Counted", f"it counts in pool {pool}")


def _ready(desk: Desk, enforcement: Enforcement) -> Condition:
    if not enforcement.in_force:
        return Condition("Ready", False, enforcement.reason, enforcement.message)
    if desk.fault is not None:
        return Condition("Ready", False, desk.fault.reason, desk.fault.why)
    if desk.page is None:
        return Condition("Ready", False, "Starting", "its ledger and its Jobs are being read")
    above, declared = desk.book.rules.pool.above, _declared(desk.book.rules)
    if above == desk.word:
        return declared
    unheeded = f"; {GO_ON_ABOVE} is not heeded, since {above} is too high to be believed"
    return replace(declared, message=declared.message + unheeded)


def _declared(rules: Rules) -> Condition:
    """Ready as far as what was declared lets it be."""
    if rules.pool.fault is not None:
        return Condition("Ready", False, "NotUnderstood", rules.pool.fault)
    closed = [limit.name for limit in rules.limits if isinstance(limit.bound, Closed)]
    if closed:
        message = f"nothing starts under limits that are not understood: {', '.join(closed)}"
        return Condition("Ready", False, "LimitNotUnderstood", message)
    if rules.pool.paused:
        return Condition("Ready", True, "Paused", "nothing new starts while spec.paused is true")
    return Condition("Ready", True, "Serving", "waiting Jobs start as limits and turns allow")


def _reachable(desk: Desk, census: Census) -> Condition:
    uids = (uid for uid in census.on_silent_nodes() if desk.book.lease(uid) is not None)
    silent = {uid: census.silent_nodes(uid) for uid in uids}
    held = sum(1 for nodes in silent.values() if nodes)
    if not held:
        return Condition("NodesReachable", True, "AllReady", "no slot is held on a silent node")
    names = ", ".join(sorted(set().union(*silent.values()))[:5])
    message = (
        f"{held} slots are held by pods on nodes that are gone or give no sign of life: {names}"
    )
    return Condition("NodesReachable", False, "NodeSilent", message)


def _held(lapsed: Mapping[str, str]) -> Condition:
    jobs = ", ".join(f"{job} ({why})" for job, why in sorted(lapsed.items())[:5])
    message = (
        f"{len(lapsed)} slots are held by Jobs whose leases have lapsed, since"
        f" spec.lease.onLapse is Hold: {jobs}"
    )
    return Condition("LeaseLapsed", True, "Held", message)


def _differ(clusters: Sequence[str]) -> Condition:
    message = (
        f"its priority, fairness or Limits are declared otherwise in {', '.join(clusters)}, and"
        " each cluster decides by its own: declare them alike"
    )
    return Condition("RulesDiffer", True, "DeclaredOtherwise", message)


def _default(pool: Pool, default: Pool | None) -> Condition:
    if default is not None and default.name != pool.name:
        message = f"pool {default.name} is older and is the default; set spec.default on one only"
        return Condition("Default", False, "OlderDefaultExists", message)
    return Condition("Default", True, "OnlyDefault", "Jobs that name no pool and no lane come here")
