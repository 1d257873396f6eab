"""The cluster as it was stored, moment by moment; and the grants, as ledgers and Jobs show them."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from faults.administrator import POOL
from faults.run import Record
from faults.server import is_true, token_of
from faults.shared.database import FAILOVER, LAPSED
from faults.shared.restore import RESTORED
from faults.store import JOBS, LEDGERS, NODES, PODS, UID_LABEL, Body, Change

LIVE = ("Pending", "Running")


class Intent(Struct, frozen=True):
    """A grant in the version of a ledger that has it first."""

    change: Change
    pool: str
    token: int
    uid: str
    tenant: str
    at: int
    redelivery: bool
    """It was charged nothing."""


class Grant(Struct, frozen=True):
    """A Job that was started: the write that did it."""

    change: Change
    pool: str
    uid: str
    token: int
    tenant: str
    lane: str


class Cluster:
    """Jobs and pods by UID; moved on by one change after the other."""

    def __init__(self, lease: int = 0) -> None:
        """`lease` is after how many seconds of silence one lapses, 0 if none does."""
        self._lease = lease
        self._now = 0.0
        self._silent: dict[str, float] = {}
        self._succeeded: dict[str, set[str]] = {}
        """The pods of each Job that have, also those that were removed: they were counted."""
        self.jobs: dict[str, Body] = {}
        self.pods: dict[str, dict[str, Body]] = {}
        self.ledgers: dict[str, Body] = {}
        self._let_go: set[str] = set()
        """Those that hold no slot any more: their cluster was forgotten, or was restored after they
        had ended, so that they run once more."""

    def apply(self, change: Change) -> Grant | None:
        """Takes a change in; the grant, if it is one."""
        stored = change.after or change.before
        assert stored is not None
        self._now = change.at
        body, uid = stored.body, stored.body["metadata"]["uid"]
        job = body["metadata"].get("labels", {}).get(UID_LABEL, uid)
        if change.by == RESTORED and not self.holds(job):
            self._let_go.add(job)
        if change.kind == PODS:
            _keep(self.pods.setdefault(job, {}), uid, change)
            if _phase(body) == "Succeeded":
                self._succeeded.setdefault(job, set()).add(uid)
        elif change.kind == NODES:
            self._hear(body["metadata"]["name"], change)
        elif change.kind == LEDGERS:
            _keep(self.ledgers, body["metadata"]["name"], change)
        elif change.kind == LAPSED:
            self._lapse(*change.key)
        elif change.kind == JOBS:
            _keep(self.jobs, uid, change)
            grant = _grant(change)
            self._let_go -= {uid} if grant else set()
            return grant
        return None

    def _lapse(self, pool: str, cluster: str) -> None:
        """All that a cluster holds in a pool is free, though it may run on."""
        for uid in self.jobs.keys() | self.pods.keys():
            if uid.startswith(f"{cluster}/") and self.holds(uid) and self._pool(uid) == pool:
                self._let_go.add(uid)

    def _pool(self, uid: str) -> str:
        return pool_of(self.jobs.get(uid) or next(iter(self.pods[uid].values())))

    def live(self, uid: str) -> int:
        """How many pods of a Job may run, but for those on nodes that are silent for too long."""
        return sum(1 for pod in self.pods.get(uid, {}).values() if self._lives(pod))

    def leased(self, uid: str) -> bool:
        """Whether any of them was started by a grant."""
        return any(self._lives(pod) and token_of(pod) for pod in self.pods.get(uid, {}).values())

    def _lives(self, pod: Body) -> bool:
        if _phase(pod) not in LIVE:
            return False
        silent = self._silent.get(pod["spec"].get("nodeName", ""))
        return not (self._lease and silent is not None and self._now >= silent + self._lease)

    def _hear(self, node: str, change: Change) -> None:
        """Notes since when nothing is heard of a node."""
        if change.after is None or is_unknown(change.after.body):
            self._silent.setdefault(node, change.at)
        else:
            self._silent.pop(node, None)

    def holds(self, uid: str) -> bool:
        """Whether a submission takes a slot, by what is stored."""
        if self.leased(uid):
            return True
        job = self.jobs.get(uid)
        if job is None or job["spec"]["suspend"] or not token_of(job):
            return False
        ended = is_true(job, "Complete") or is_true(job, "Failed")
        return not (ended or "deletionTimestamp" in job["metadata"] or self._enough(uid, job))

    def _enough(self, uid: str, job: Body) -> bool:
        """Whether all that a Job is for has succeeded."""
        spec = job["spec"]
        wanted = spec.get("completions")
        if wanted is None and spec["parallelism"] != 1:
            return False
        done = len(self._succeeded.get(uid, ()))
        counted = job.get("status", {}).get("succeeded", 0)
        return bool(max(done, counted) >= (1 if wanted is None else wanted))

    def holders(self) -> Iterator[tuple[str, str, str, int]]:
        """Pool, tenant, lane and pods of each submission that takes a slot."""
        for uid in self.jobs.keys() | self.pods.keys():
            if not self.holds(uid) or uid in self._let_go:
                continue
            job = self.jobs.get(uid)
            if job is not None:
                yield pool_of(job), *_place(job), width(job)
            else:
                pod = next(p for p in self.pods[uid].values() if self._lives(p))
                yield pool_of(pod), *_place(pod), self.live(uid)


def intents(record: Record) -> Iterator[Intent]:
    """The grants in the order in which ledgers accepted them."""
    for change in record.kind(LEDGERS):
        if change.by == FAILOVER:
            continue
        known = {one["token"] for one in _intents(change.before)}
        for one in _intents(change.after):
            if one["token"] not in known:
                yield Intent(
                    change,
                    change.key[1],
                    int(one["token"]),
                    one["uid"],
                    one["tenant"],
                    one["at"],
                    one["charge"] == "0",
                )


def left(change: Change) -> Iterator[tuple[int, str]]:
    """Token and submission of each grant that is not in a page any more."""
    kept = {one["token"] for one in _intents(change.after)}
    for one in _intents(change.before):
        if one["token"] not in kept:
            yield int(one["token"]), one["uid"]


def begins_anew(change: Change) -> bool:
    """Whether a page knows nothing of what was before, or not all of it."""
    return change.before is None or change.by == FAILOVER


def cluster_of(process: str) -> str:
    """The cluster of a process; empty where there is one alone."""
    return process.rpartition("/")[0]


def width(job: Body) -> int:
    """How many pods a Job runs at once."""
    spec = job["spec"]
    return int(min(spec["parallelism"], spec.get("completions") or spec["parallelism"]))


def _intents(stored: Any) -> list[dict[str, Any]]:
    return [] if stored is None else stored.body["spec"].get("intents", [])


def _keep(known: dict[str, Body], name: str, change: Change) -> None:
    if change.after is None:
        known.pop(name, None)
    else:
        known[name] = change.after.body


def _grant(change: Change) -> Grant | None:
    if change.before is None or change.after is None or change.by == RESTORED:
        return None
    before, after = change.before.body, change.after.body
    if not before["spec"]["suspend"] or after["spec"]["suspend"] or not token_of(after):
        return None
    uid = after["metadata"]["uid"]
    return Grant(change, pool_of(after), uid, token_of(after), *_place(after))


def pool_of(body: Body) -> str:
    """The pool that has granted a Job, or the Job of a pod."""
    annotations = body["metadata"].get("annotations") or {}
    return str(annotations.get("kwicket.dev/pool", POOL))


def _place(body: Body) -> tuple[str, str]:
    metadata = body["metadata"]
    tenant = metadata["labels"]["kwicket.dev/tenant"]
    return tenant, (metadata.get("annotations") or {}).get("kwicket.dev/lane", "")


def is_unknown(node: Body) -> bool:
    """Whether a node's readiness is unknown."""
    return any(c["status"] == "Unknown" for c in node["status"]["conditions"])


def _phase(pod: Body) -> str:
    return str(pod["status"]["phase"])
