"""I1: no limit is ever exceeded by granted, unfinished Jobs.

Judged at each start, by the highest that the limit was from what the operator had heard of when it
committed the grant, up to the start: nobody can obey what has not reached them. Where
clusters share a pool, whoever decides goes by the declaration of its own cluster, and counts what
runs in all.
"""

from collections.abc import Iterable
from typing import Any

from faults.checks.replay import Cluster, Grant, Intent, begins_anew, cluster_of, intents
from faults.run import Record
from faults.store import LEDGERS, LIMITS, Key


def capacity(record: Record) -> list[str]:
    """Concurrency limits at each start, and rate limits by the ledger's stamps."""
    cluster, committed = (
        Cluster(record.options.lease),
        {(one.pool, one.token): one for one in intents(record)},
    )
    found, started = [], []
    for change in record.changes:
        grant = cluster.apply(change)
        if grant is not None:
            intent = committed.get((grant.pool, grant.token))
            words = _words(intent, committed.values(), grant)
            found += _exceeded(record, cluster, grant, words)
            started += [intent] if intent is not None else []
    return found + _too_often(record, started)


def _words(intent: Intent | None, all_: Iterable[Intent], grant: Grant) -> list[tuple[str, int]]:
    """By which cluster's declarations a start is judged, and from which version on.

    Where clusters share the pool, also by those of whoever has decided a later grant, which may
    have started before it.
    """
    if intent is None:
        return [(cluster_of(grant.change.by), grant.change.version)]
    own = cluster_of(intent.change.by), intent.change.heard
    if not own[0]:
        return [own]
    span = range(intent.change.version, grant.change.version)
    later = (one.change for one in all_ if one.pool == grant.pool and one.change.version in span)
    return [own, *((cluster_of(change.by), change.heard) for change in later)]


def _exceeded(
    record: Record, cluster: Cluster, grant: Grant, words: list[tuple[str, int]]
) -> list[str]:
    holders, until = list(cluster.holders()), grant.change.version
    found = []
    for name in sorted({change.key[1] for change in record.kind(LIMITS)}):
        specs = [s for by, since in words for s in _in_force(record, (by, name), since, until)]
        if any(spec is None or "concurrency" not in spec for spec in specs):
            continue
        most, used = max(map(_most, specs)), _used(holders, grant, specs[-1])
        if used > most:
            found.append(f"{used} of {most} under {name} as {grant.uid} starts, {_at(grant)}")
    return found


def _in_force(record: Record, key: Key, since: int, until: int) -> list[Any]:
    """The specs of a limit from one version to another, with the one that was there before."""
    changes = [c for c in record.kind(LIMITS) if c.key == key and c.version <= until]
    before = [c for c in changes if c.version <= since][-1:]
    spans = before + [c for c in changes if c.version > since]
    specs = [None if c.after is None else c.after.body["spec"] for c in spans]
    return specs if before else [None, *specs]


def _most(spec: Any) -> int:
    bound = spec["concurrency"]
    return int(bound.get("jobs", bound.get("pods", 0)))


def _used(holders: list[tuple[str, str, str, int]], grant: Grant, spec: Any) -> int:
    lane, each = spec.get("lane", ""), spec.get("count") == "EachTenant"
    if lane not in ("", grant.lane) or spec.get("pool", grant.pool) != grant.pool:
        return 0
    counted = [
        pods
        for pool, tenant, inside, pods in holders
        if pool == grant.pool and lane in ("", inside) and (not each or tenant == grant.tenant)
    ]
    return sum(counted) if "pods" in spec["concurrency"] else len(counted)


def _too_often(record: Record, started: list[Intent]) -> list[str]:
    """A ledger that was lost takes the starts that it kept with it."""
    if record.options.rate is None:
        return []
    starts, seconds = record.options.rate
    begins = [c.version for c in record.kind(LEDGERS) if begins_anew(c)]
    found = []
    for begin in begins:
        end = min((other for other in begins if other > begin), default=10**18)
        stamps = sorted(one.at for one in started if begin <= one.change.version < end)
        for first, last in zip(stamps, stamps[starts:], strict=False):
            if last - first < seconds * 1000:
                found.append(f"{starts + 1} starts within {last - first} ms under rate")
    return found


def _at(grant: Grant) -> str:
    return f"at {grant.change.at:.2f} s"
