"""The Job controller, as far as suspended Jobs, their pods and their ends go.

It acts some time after a change, on one Job at a time, and counts each pod once. Conditions say
what Kubernetes' say and no more: `Suspended` comes when deletions were asked for, `Complete` and
`Failed` when no pod is left.
"""

import random
from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from faults.nodes import Nodes, job_uid, phase
from faults.server import is_true
from faults.store import JOBS, PODS, UID_LABEL, Body, Change, Key, Store, Stored, changed, stamp

ME = "job-controller"


class Tally(Struct):
    """What the controller has counted of a Job."""

    key: Key
    made: int = 0
    succeeded: set[str] = set()
    failed: set[str] = set()
    forgiven: set[str] = set()
    """Pods that a suspension has ended: they are no failures."""


class JobController:
    """`after(seconds, what, *arguments)` calls in the world."""

    def __init__(
        self, store: Store, nodes: Nodes, dice: random.Random, after: Callable[..., Any]
    ) -> None:
        self.slow = 0.1
        """Seconds from a change to what is done about it, on average."""
        self.ttl = False
        """Whether Jobs are deleted as soon as they are over."""
        self._store = store
        self._nodes = nodes
        self._dice = dice
        self._after = after
        self.tallies: dict[str, Tally] = {}
        self._due: set[str] = set()
        store.listeners.append(self._hear)

    def restore(self, tallies: dict[str, Tally]) -> None:
        """Goes on from what was counted at the time of a backup; no name is given twice."""
        for uid, tally in tallies.items():
            self.tallies[uid] = replace(tally, made=self.tallies[uid].made)

    def delete(self, key: Key, how: str) -> None:
        """A tenant deletes a Job: `orphan`, `background` or `foreground`."""
        job = self._store.get(JOBS, key)
        if job is None or "deletionTimestamp" in job.body["metadata"]:
            return
        if how == "foreground":
            moment = {"deletionTimestamp": stamp(self._store.now())}
            self._store.put(JOBS, changed(job.body, metadata=moment), "tenant")
            return
        self._store.remove(JOBS, key, "tenant")
        if how == "background":
            uid = job.body["metadata"]["uid"]
            self._after(self._dice.expovariate(1), self._collect, uid)

    def _collect(self, uid: str) -> None:
        for key in list(self._store.pods_of.get(uid, {})):
            self._nodes.delete(key, "garbage-collector")

    def _hear(self, change: Change) -> None:
        if change.kind not in (JOBS, PODS) or (change.by == ME and change.after is not None):
            return
        stored = change.after or change.before
        assert stored is not None
        if change.kind == JOBS:
            uid = stored.body["metadata"]["uid"]
            if uid not in self.tallies:
                self.tallies[uid] = Tally(change.key)
        else:
            uid = job_uid(stored.body)
            self._count(uid, stored)
        self._wake(uid)

    def _wake(self, uid: str) -> None:
        if uid not in self._due:
            self._due.add(uid)
            self._after(self._dice.expovariate(1 / self.slow), self._sync, uid)

    def _count(self, uid: str, pod: Stored) -> None:
        tally, name = self.tallies[uid], pod.body["metadata"]["uid"]
        if phase(pod) == "Succeeded":
            tally.succeeded.add(name)
        elif phase(pod) == "Failed" and name not in tally.forgiven:
            tally.failed.add(name)

    def _sync(self, uid: str) -> None:
        self._due.discard(uid)
        tally = self.tallies[uid]
        job = self._store.get(JOBS, tally.key)
        if job is None or job.body["metadata"]["uid"] != uid:
            return
        if "deletionTimestamp" in job.body["metadata"]:
            self._dismiss(tally, uid)
        elif not (is_true(job.body, "Complete") or is_true(job.body, "Failed")):
            self._manage(tally, uid, job.body)

    def _dismiss(self, tally: Tally, uid: str) -> None:
        """A Job that is deleted in the foreground goes when its pods have gone."""
        pods = list(self._store.pods_of.get(uid, {}))
        for key in pods:
            self._nodes.delete(key, ME)
        if not self._store.pods_of.get(uid):
            self._store.remove(JOBS, tally.key, ME)
        else:
            self._after(1, self._wake, uid)

    def _manage(self, tally: Tally, uid: str, job: Body) -> None:
        live = [p for p in self._store.pods_of.get(uid, {}).values() if phase(p) in _LIVE]
        staying = [pod for pod in live if "deletionTimestamp" not in pod.body["metadata"]]
        spec, conditions = job["spec"], list(job.get("status", {}).get("conditions", ()))
        status: dict[str, Any] = {"startTime": job.get("status", {}).get("startTime")}
        status["startTime"] = status["startTime"] or stamp(self._store.now())
        if spec["suspend"]:
            tally.forgiven |= {pod.body["metadata"]["uid"] for pod in staying}
            self._end_all(staying)
            staying, status["startTime"] = [], None
            conditions = _with(conditions, "Suspended", "True")
        else:
            if conditions:
                conditions = _with(conditions, "Suspended", "False")
            ending = _ending(tally, spec, len(live))
            if ending:
                self._end_all(staying)
                staying = []
            if ending and not live:
                now = stamp(self._store.now())
                conditions = [*_with(conditions, ending, "True", lastTransitionTime=now)]
                status |= {"completionTime": now if ending == "Complete" else None}
            elif not ending:
                early = spec.get("podReplacementPolicy") == "TerminatingOrFailed"
                staying += self._make(tally, uid, job, len(staying if early else live))
        status |= {"active": len(staying), "succeeded": len(tally.succeeded)}
        status |= {"failed": len(tally.failed), "conditions": conditions}
        self._write(tally.key, uid, status)

    def _end_all(self, pods: list[Stored]) -> None:
        for pod in pods:
            metadata = pod.body["metadata"]
            self._nodes.delete((metadata["namespace"], metadata["name"]), ME)

    def _make(self, tally: Tally, uid: str, job: Body, live: int) -> list[Stored]:
        """As many pods as are missing; one that still ends is not replaced yet."""
        spec, metadata = job["spec"], job["metadata"]
        needed = spec["parallelism"]
        if spec.get("completions") is not None:
            needed = min(needed, spec["completions"] - len(tally.succeeded))
        elif tally.succeeded:
            needed = 0
        template = spec["template"]["metadata"]
        labels = {**template.get("labels", {}), UID_LABEL: uid}
        made = []
        for _ in range(needed - live):
            tally.made += 1
            name = f"{metadata['name']}-{uid}-{tally.made}"
            body = {
                "metadata": {
                    "name": name,
                    "namespace": metadata["namespace"],
                    "labels": labels,
                    "annotations": template.get("annotations", {}),
                },
                "spec": {},
                "status": {"phase": "Pending"},
            }
            made.append(self._store.put(PODS, body, ME))
        return made

    def _write(self, key: Key, uid: str, status: dict[str, Any]) -> None:
        job = self._store.get(JOBS, key)
        if job is None or job.body["metadata"]["uid"] != uid:
            return
        after = changed(job.body, status=status)
        if after != job.body:
            self._store.put(JOBS, after, ME)
            if self.ttl and (is_true(after, "Complete") or is_true(after, "Failed")):
                self._after(self._dice.expovariate(5), self.delete, key, "foreground")


_LIVE = ("Pending", "Running")


def _ending(tally: Tally, spec: Body, live: int) -> str:
    """Which condition a Job comes to, if its pods would go; empty if it goes on."""
    if len(tally.failed) > spec["backoffLimit"]:
        return "Failed"
    wanted = spec.get("completions")
    if wanted is None:
        return "Complete" if tally.succeeded and not live else ""
    return "Complete" if len(tally.succeeded) >= wanted else ""


def _with(
    conditions: list[dict[str, str]], kind: str, status: str, **more: str
) -> list[dict[str, str]]:
    """The conditions with this one said anew."""
    others = [condition for condition in conditions if condition["type"] != kind]
    return [*others, {"type": kind, "status": status, **more}]
