"""Nodes and what runs on them: kubelets, the scheduler, what is done about nodes that are silent.

A pod object says what its kubelet has reported, not what the container does: a silent node's
containers go on, and a pod that is deleted by force is gone while its container may still run.
"""

import random
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from faults.store import NODES, PODS, UID_LABEL, Body, Change, Key, Store, Stored, changed, stamp

ENDED = ("Succeeded", "Failed")


class Run(Struct, frozen=True):
    """How a pod will go."""

    seconds: float
    phase: str = "Succeeded"
    grace: float = 0.2
    """Seconds that it takes to end when it is told to."""


class Nodes:
    """`after(seconds, what, *arguments)` calls in the world; `runs` says how each pod goes."""

    def __init__(
        self, store: Store, dice: random.Random, after: Callable[..., Any], runs: Callable[..., Run]
    ) -> None:
        self.silent: set[str] = set()
        self._store = store
        self._dice = dice
        self._after = after
        self._runs = runs
        self._due: dict[str, list[Callable[[], None]]] = {}
        """What kubelets of silent nodes will do when they are back."""
        store.listeners.append(self._hear)

    def add(self, name: str) -> None:
        """A node that is ready."""
        self._ready(name, "True")

    def fall_silent(self, name: str, noticed: float, evicted: float) -> None:
        """Nothing is heard of a node; what was on it is told to go after `evicted` seconds."""
        self.silent.add(name)
        self._after(noticed, self._notice, name)
        self._after(evicted, self._evict, name)

    def come_back(self, name: str) -> None:
        """The node reports again; one that was deleted registers anew."""
        if name in self.silent:
            self.silent.discard(name)
            self._ready(name, "True")
            for act in self._due.pop(name, []):
                act()

    def lose(self, name: str) -> None:
        """The node is dead and its object deleted: after a while its pods count as failed."""
        self.silent.add(name)
        self._due.pop(name, None)
        self._store.remove(NODES, ("", name), "cloud")
        self._after(5, self._collect, name)

    def delete(self, key: Key, by: str) -> None:
        """Tells a pod to go, as everybody does who does not force it."""
        pod = self._store.get(PODS, key)
        if pod is None or "deletionTimestamp" in pod.body["metadata"]:
            return
        if phase(pod) in ENDED or not node(pod):
            self._store.remove(PODS, key, by)
            return
        moment = stamp(self._store.now())
        gone = changed(pod.body, metadata={"deletionTimestamp": moment})
        self._store.put(PODS, gone, by)
        grace = self._runs(pod.body).grace
        self._after(grace, self._on, node(pod), lambda: self._ends(pod, "Failed", goes=True))

    def resume(self, key: Key, pod: Stored) -> None:
        """A pod is again what it was at the time of a backup: it ends soon, if it had begun."""
        soon, run = self._dice.uniform(1, 5), self._runs(pod.body)
        if phase(pod) == "Pending":
            self._after(soon, self._place, key, pod)
        elif phase(pod) not in ENDED:
            told = "deletionTimestamp" in pod.body["metadata"]
            ending = "Failed" if told else run.phase
            self._after(soon, self._on, node(pod), lambda: self._ends(pod, ending, goes=told))

    def force(self, key: Key) -> None:
        """Removes the object, whatever runs."""
        self._store.remove(PODS, key, "tenant")

    def _hear(self, change: Change) -> None:
        if change.kind == PODS and change.before is None and change.after is not None:
            self._after(self._dice.uniform(0.05, 1.5), self._place, change.key, change.after)

    def _place(self, key: Key, made: Stored) -> None:
        pod = self._now(key, made)
        names = [n.body["metadata"]["name"] for n in self._store.all(NODES)]
        able = sorted(set(names) - self.silent)
        if pod is None or phase(pod) != "Pending":
            return
        if not able:
            self._after(1, self._place, key, made)
            return
        chosen = self._dice.choice(able)
        runs = {"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]}
        placed = changed(pod.body, spec={"nodeName": chosen}, status=runs)
        self._store.put(PODS, placed, "kubelet")
        run = self._runs(pod.body)
        self._after(run.seconds, self._on, chosen, lambda: self._ends(made, run.phase))

    def _on(self, name: str, act: Callable[[], None]) -> None:
        """Lets a kubelet do something, when it can."""
        if name in self.silent:
            self._due.setdefault(name, []).append(act)
        else:
            act()

    def _ends(self, made: Stored, ending: str, *, goes: bool = False) -> None:
        """A container has ended; one that was told to go takes its pod with it."""
        metadata = made.body["metadata"]
        key = metadata["namespace"], metadata["name"]
        pod = self._now(key, made)
        if pod is not None and phase(pod) not in ENDED:
            pod = self._store.put(PODS, changed(pod.body, status={"phase": ending}), "kubelet")
        if pod is not None and (goes or "deletionTimestamp" in pod.body["metadata"]):
            self._after(self._dice.uniform(0, 1), self._remove, key, made)

    def _remove(self, key: Key, made: Stored) -> None:
        if self._now(key, made) is not None:
            self._store.remove(PODS, key, "kubelet")

    def _now(self, key: Key, made: Stored) -> Stored | None:
        """The pod as it is now, if it is still the same one."""
        pod = self._store.get(PODS, key)
        same = pod is not None and pod.body["metadata"]["uid"] == made.body["metadata"]["uid"]
        return pod if same else None

    def _notice(self, name: str) -> None:
        if name in self.silent and self._store.get(NODES, ("", name)) is not None:
            self._ready(name, "Unknown")

    def _evict(self, name: str) -> None:
        if name in self.silent:
            for pod in self._pods_on(name):
                self.delete(_key(pod), "taint-eviction")

    def _collect(self, name: str) -> None:
        """What runs on a node that does not exist has failed, by Kubernetes' word."""
        for pod in self._pods_on(name):
            if phase(pod) not in ENDED:
                failed = changed(pod.body, status={"phase": "Failed"})
                self._store.put(PODS, failed, "pod-gc")
            self._store.remove(PODS, _key(pod), "pod-gc")

    def _pods_on(self, name: str) -> list[Stored]:
        return [pod for pod in self._store.all(PODS) if node(pod) == name]

    def _ready(self, name: str, status: str) -> None:
        conditions = [{"type": "Ready", "status": status}]
        self._store.put(NODES, {"metadata": {"name": name}, "status": {"conditions": conditions}})


def phase(pod: Stored) -> str:
    """What was reported last."""
    return str(pod.body["status"]["phase"])


def node(pod: Stored) -> str:
    """Where it runs; empty until it is placed."""
    return str(pod.body["spec"].get("nodeName", ""))


def job_uid(body: Body) -> str:
    """The Job that a pod is of."""
    return str(body["metadata"]["labels"][UID_LABEL])


def _key(pod: Stored) -> Key:
    return pod.body["metadata"]["namespace"], pod.body["metadata"]["name"]
