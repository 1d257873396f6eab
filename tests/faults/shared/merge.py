"""One history of all clusters: what each stored, in one order, under names that say which it was.

A Job is `cluster/namespace/name` and a submission `cluster/uid`, as in the database; each cluster
counts its UIDs for itself, so that they are the same in all.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from faults.store import JOBS, LIMITS, NODES, PODS, UID_LABEL, Body, Change, Stored, changed
from faults.world import Voice


def merged(stored: Mapping[str, list[Change]], others: Iterable[Change]) -> list[Change]:
    """The changes of all, by their versions."""
    named = [change for name, changes in stored.items() for change in _of(name, changes)]
    return sorted([*named, *others], key=lambda change: change.version)


def voice(cluster: str, one: Voice) -> Voice:
    """What was told of a Job, by its name among all."""
    job = replace(one.notice.job, uid=f"{cluster}/{one.notice.job.uid}")
    return replace(one, notice=replace(one.notice, job=job))


def _of(cluster: str, changes: Iterable[Change]) -> Iterator[Change]:
    known: dict[int, Stored] = {}

    def named(kind: str, one: Stored | None) -> Stored | None:
        if one is None:
            return None
        if id(one) not in known:
            known[id(one)] = Stored(one.version, _body(cluster, kind, one.body))
        return known[id(one)]

    for change in changes:
        kind, (namespace, name) = change.kind, change.key
        key = (cluster, name) if kind == LIMITS else (f"{cluster}/{namespace}", name)
        before, after = named(kind, change.before), named(kind, change.after)
        yield replace(change, key=key, before=before, after=after)


def _body(cluster: str, kind: str, body: Body) -> Body:
    metadata = body["metadata"]
    if kind == JOBS:
        return changed(body, metadata={"uid": f"{cluster}/{metadata['uid']}"})
    if kind == NODES:
        return changed(body, metadata={"name": f"{cluster}/{metadata['name']}"})
    if kind != PODS:
        return body
    labels = metadata["labels"] | {UID_LABEL: f"{cluster}/{metadata['labels'][UID_LABEL]}"}
    names = {field: f"{cluster}/{metadata[field]}" for field in ("uid", "name")}
    made = changed(body, metadata={**names, "labels": labels})
    if "nodeName" in body["spec"]:
        made = changed(made, spec={"nodeName": f"{cluster}/{body['spec']['nodeName']}"})
    return made
