"""What etcd and the API server keep: bodies under one counter of versions, and every change.

A stored body is never changed, only replaced, so that changes can hold on to it.
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

JOBS = "batch/v1/jobs"
PODS = "v1/pods"
NAMESPACES = "v1/namespaces"
NODES = "v1/nodes"
POOLS = "kwicket.dev/v1alpha1/pools"
LANES = "kwicket.dev/v1alpha1/lanes"
LIMITS = "kwicket.dev/v1alpha1/limits"
LEDGERS = "kwicket.dev/v1alpha1/ledgers"
LEASES = "coordination.k8s.io/v1/leases"
EVENTS = "events.k8s.io/v1/events"
DECLARED = (POOLS, LANES, LIMITS)

UID_LABEL = "batch.kubernetes.io/controller-uid"

type Body = dict[str, Any]
type Key = tuple[str, str]
"""Namespace, empty if there is none, and name."""


class Stored(Struct):
    """An object as it is now."""

    version: int
    body: Body
    text: bytes = b""

    def json(self) -> bytes:
        """As the wire has it."""
        if not self.text:
            self.text = msgspec.json.encode(self.body)
        return self.text


class Change(Struct, frozen=True):
    """A write that was applied: what the checkers judge."""

    at: float
    """Seconds of the world."""
    version: int
    kind: str
    key: Key
    before: Stored | None
    after: Stored | None
    by: str
    """The process that asked for it."""
    heard: int = 0
    """For an operator's write: up to which version it had heard of declarations when it sent it."""


class Versions(Struct):
    """A counter; what is kept under one counter has its changes in one order."""

    last: int = 100

    def next(self) -> int:
        """One that was never used."""
        self.last += 1
        return self.last


class Store:
    """One cluster's objects."""

    def __init__(self, now: int, versions: Versions | None = None) -> None:
        """`now` in milliseconds since 1970, at the start of the loop's time.

        `versions` is the counter that several stores share.
        """
        self._versions = versions or Versions()
        self.compacted = 0
        """Watches from below this version, and older continue tokens, are gone."""
        self.objects: dict[str, dict[Key, Stored]] = {}
        self.changes: list[Change] = []
        self.by_kind: dict[str, list[Change]] = {}
        self.pods_of: dict[str, dict[Key, Stored]] = {}
        """The pods of each Job, by its UID."""
        self.read: dict[bytes, Any] = {}
        """What operators have made of texts: nobody need read the same text twice."""
        self.listeners: list[Callable[[Change], None]] = []
        self._start = now
        self._made = 0

    @property
    def version(self) -> int:
        """The newest one."""
        return self._versions.last

    def now(self) -> int:
        """Milliseconds since 1970, by the API server's clock."""
        return self._start + int(asyncio.get_running_loop().time() * 1000)

    def get(self, kind: str, key: Key) -> Stored | None:
        """The object, None if there is none."""
        return self.objects.get(kind, {}).get(key)

    def all(self, kind: str) -> list[Stored]:
        """All objects of a kind."""
        return list(self.objects.get(kind, {}).values())

    def put(self, kind: str, body: Body, by: str = "", heard: int = 0) -> Stored:
        """Makes an object or replaces it, whatever its version."""
        metadata = body["metadata"]
        key = metadata.get("namespace", ""), metadata["name"]
        before = self.get(kind, key)
        stamps: Body = {"resourceVersion": str(self._versions.next())}
        if before is None:
            self._made += 1
            stamps["uid"] = f"u{self._made}"
            stamps["creationTimestamp"] = stamp(self.now())
        else:
            kept = before.body["metadata"]
            stamps |= {field: kept[field] for field in ("uid", "creationTimestamp")}
        after = Stored(self.version, body | {"metadata": metadata | stamps})
        self.objects.setdefault(kind, {})[key] = after
        if kind == PODS:
            self.pods_of.setdefault(metadata["labels"][UID_LABEL], {})[key] = after
        self._changed(kind, key, before, after, by, heard)
        return after

    def remove(self, kind: str, key: Key, by: str = "") -> None:
        """Removes an object, if it is there."""
        before = self.objects.get(kind, {}).pop(key, None)
        if before is None:
            return
        self._versions.next()
        if kind == PODS:
            uid = before.body["metadata"]["labels"][UID_LABEL]
            self.pods_of[uid].pop(key, None)
        self._changed(kind, key, before, None, by, 0)

    def put_back(self, kind: str, key: Key, stored: Stored | None, by: str) -> None:
        """Has an object be as it was, under the version that it had then; None: there was none."""
        before = self.get(kind, key)
        self._versions.next()
        places = [self.objects.setdefault(kind, {})]
        if kind == PODS and (one := stored or before) is not None:
            places.append(self.pods_of.setdefault(one.body["metadata"]["labels"][UID_LABEL], {}))
        for place in places:
            place.pop(key, None)
            if stored is not None:
                place[key] = stored
        self._changed(kind, key, before, stored, by, 0)

    def compact(self) -> None:
        """Forgets the history up to now."""
        self.compacted = self.version

    def since(self, kind: str, version: int) -> list[Change]:
        """The changes of a kind after a version."""
        changes = self.by_kind.get(kind, [])
        index = len(changes)
        while index and changes[index - 1].version > version:
            index -= 1
        return changes[index:]

    def forget(self) -> None:
        """Lets go of everything, so that nothing is left for the garbage collector."""
        for kept in (self.objects, self.by_kind, self.pods_of, self.listeners, self.read):
            kept.clear()

    def _changed(
        self, kind: str, key: Key, before: Stored | None, after: Stored | None, by: str, heard: int
    ) -> None:
        at = asyncio.get_running_loop().time()
        change = Change(at, self.version, kind, key, before, after, by, heard)
        self.changes.append(change)
        self.by_kind.setdefault(kind, []).append(change)
        for listener in self.listeners:
            listener(change)


def changed(body: Body, **parts: Body) -> Body:
    """The body with fields of `metadata`, `spec` or `status` replaced; None takes one away."""
    made = dict(body)
    for part, fields in parts.items():
        merged = body.get(part, {}) | fields
        made[part] = {field: value for field, value in merged.items() if value is not None}
    return made


def stamp(milliseconds: int) -> str:
    """RFC 3339 to the second."""
    return _stamp(milliseconds // 1000)


@lru_cache(maxsize=4096)
def _stamp(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
