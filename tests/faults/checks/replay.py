"""The cluster as it was stored, moment by moment; and the grants, as ledgers and Jobs show them."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from faults.run import Record
from faults.server import is_true, token_of
from faults.store import JOBS, LEDGERS, PODS, UID_LABEL, Body, Change

LIVE = ("Pending", "Running")


class Intent(Struct, frozen=True):
    """A grant in the version of a ledger that has it first."""

    change: Change
    token: int
    uid: str
    tenant: str
    at: int
    redelivery: bool
    """It was charged nothing."""


class Grant(Struct, frozen=True):
    """A Job that was started: the write that did it."""

    change: Change
    uid: str
    token: int
    tenant: str
    lane: str


class Cluster:
    """Jobs and pods by UID; moved on by one change after the other."""

    def __init__(self) -> None:
        self.jobs: dict[str, Body] = {}
        self.pods: dict[str, dict[str, Body]] = {}
        self.ledgers: dict[str, Body] = {}

    def apply(self, change: Change) -> Grant | None:
        """Takes a change in; the grant, if it is one."""
        stored = change.after or change.before
        assert stored is not None
        body, uid = stored.body, stored.body["metadata"]["uid"]
        if change.kind == PODS:
            _keep(self.pods.setdefault(body["metadata"]["labels"][UID_LABEL], {}), uid, change)
        elif change.kind == LEDGERS:
            _keep(self.ledgers, body["metadata"]["name"], change)
        elif change.kind == JOBS:
            _keep(self.jobs, uid, change)
            return _grant(change)
        return None

    def live(self, uid: str) -> int:
        """How many pods of a Job may run."""
        return sum(1 for pod in self.pods.get(uid, {}).values() if _phase(pod) in LIVE)

    def holds(self, uid: str) -> bool:
        """Whether a submission takes a slot, by what is stored."""
        if self.live(uid):
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
        pods = self.pods.get(uid, {}).values()
        done = sum(1 for pod in pods if _phase(pod) == "Succeeded")
        counted = job.get("status", {}).get("succeeded", 0)
        return bool(max(done, counted) >= (1 if wanted is None else wanted))

    def holders(self) -> Iterator[tuple[str, str, str, int]]:
        """UID, tenant, lane and pods of each submission that takes a slot."""
        for uid in self.jobs.keys() | self.pods.keys():
            if not self.holds(uid):
                continue
            job = self.jobs.get(uid)
            if job is not None:
                yield uid, *_place(job), width(job)
            else:
                pod = next(p for p in self.pods[uid].values() if _phase(p) in LIVE)
                yield uid, *_place(pod), self.live(uid)


def intents(record: Record) -> Iterator[Intent]:
    """The grants in the order in which ledgers accepted them."""
    for change in record.kind(LEDGERS):
        known = {one["token"] for one in _intents(change.before)}
        for one in _intents(change.after):
            if one["token"] not in known:
                yield Intent(
                    change,
                    int(one["token"]),
                    one["uid"],
                    one["tenant"],
                    one["at"],
                    one["charge"] == "0",
                )


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
    if change.before is None or change.after is None:
        return None
    before, after = change.before.body, change.after.body
    if not before["spec"]["suspend"] or after["spec"]["suspend"] or not token_of(after):
        return None
    return Grant(change, after["metadata"]["uid"], token_of(after), *_place(after))


def _place(body: Body) -> tuple[str, str]:
    metadata = body["metadata"]
    tenant = metadata["labels"]["kwicket.dev/tenant"]
    return tenant, (metadata.get("annotations") or {}).get("kwicket.dev/lane", "")


def _phase(pod: Body) -> str:
    return str(pod["status"]["phase"])
