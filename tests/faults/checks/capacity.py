"""I1: no limit is ever exceeded by granted, unfinished Jobs.

Judged at each start, by the highest that the limit was from what the operator had heard of when it
committed the grant, up to the start: nobody can obey what has not reached them.
"""

from typing import Any

from faults.checks.replay import Cluster, Grant, Intent, intents
from faults.run import Record
from faults.store import LEDGERS, LIMITS


def capacity(record: Record) -> list[str]:
    """Concurrency limits at each start, and rate limits by the ledger's stamps."""
    cluster, committed = Cluster(), {one.token: one for one in intents(record)}
    found, started = [], []
    for change in record.changes:
        grant = cluster.apply(change)
        if grant is not None:
            intent = committed.get(grant.token)
            found += _exceeded(record, cluster, grant, intent)
            started += [intent] if intent is not None else []
    return found + _too_often(record, started)


def _exceeded(record: Record, cluster: Cluster, grant: Grant, intent: Intent | None) -> list[str]:
    heard = grant.change.version if intent is None else intent.change.heard
    holders = list(cluster.holders())
    found = []
    for name in sorted({change.key[1] for change in record.kind(LIMITS)}):
        specs = _in_force(record, name, heard, grant.change.version)
        if any(spec is None or "concurrency" not in spec for spec in specs):
            continue
        most, used = max(map(_most, specs)), _used(holders, grant, specs[-1])
        if used > most:
            found.append(f"{used} of {most} under {name} as {grant.uid} starts, {_at(grant)}")
    return found


def _in_force(record: Record, name: str, since: int, until: int) -> list[Any]:
    """The specs of a limit from one version to another, with the one that was there before."""
    changes = [c for c in record.kind(LIMITS) if c.key[1] == name and c.version <= until]
    before = [c for c in changes if c.version <= since][-1:]
    spans = before + [c for c in changes if c.version > since]
    specs = [None if c.after is None else c.after.body["spec"] for c in spans]
    return specs if before else [None, *specs]


def _most(spec: Any) -> int:
    bound = spec["concurrency"]
    return int(bound.get("jobs", bound.get("pods", 0)))


def _used(holders: list[tuple[str, str, str, int]], grant: Grant, spec: Any) -> int:
    lane, each = spec.get("lane", ""), spec.get("count") == "EachTenant"
    if lane not in ("", grant.lane):
        return 0
    counted = [
        pods
        for _, tenant, inside, pods in holders
        if lane in ("", inside) and (not each or tenant == grant.tenant)
    ]
    return sum(counted) if "pods" in spec["concurrency"] else len(counted)


def _too_often(record: Record, started: list[Intent]) -> list[str]:
    """A ledger that was lost takes the starts that it kept with it."""
    if record.options.rate is None:
        return []
    starts, seconds = record.options.rate
    begins = [c.version for c in record.kind(LEDGERS) if c.before is None]
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
