"""The cluster port on the real API: grants, stops, late replacements, live reads, fresh lists."""

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from kwicket.core.catalog import TENANT_LABEL
from kwicket.core.jobs import JobSeen, NamespaceSeen, NodeSeen, PodSeen
from kwicket.core.pools import Shown
from kwicket.failpoints import Failpoint, reach
from kwicket.kube import wire
from kwicket.kube.client import MERGE_PATCH, Answer, Client
from kwicket.kube.objects import (
    CONTROLLER_UID,
    MANAGER,
    grant_patch,
    job_seen,
    late_patch,
    namespace_seen,
    node_seen,
    pod_seen,
    reopen_patch,
    stop_patch,
)
from kwicket.kube.reflector import Reflector, Resource
from kwicket.kube.shown import pool_now, shown_by
from kwicket.ports.cluster import Denied, Gone, Order, Replaced, Stale, Started, Stopped
from kwicket.ports.errors import UnavailableError

JOBS = Resource(
    "/apis/batch/v1/jobs",
    wire.Job,
    job_seen,
    lambda job: job.uid,
    TENANT_LABEL,
    lambda job: job.version,
)
PODS = Resource("/api/v1/pods", wire.Pod, pod_seen, lambda pod: pod.uid, TENANT_LABEL)
NAMESPACES = Resource(
    "/api/v1/namespaces", wire.Namespace, namespace_seen, lambda namespace: namespace.name
)
NODES = Resource("/api/v1/nodes", wire.Node, node_seen, lambda node: node.name)

type Jobs = Reflector[wire.Job, JobSeen]
type Pods = Reflector[wire.Pod, PodSeen]
type Namespaces = Reflector[wire.Namespace, NamespaceSeen]
type Nodes = Reflector[wire.Node, NodeSeen]


class _Pods(msgspec.Struct):
    items: list[wire.Pod] | None


class _Nodes(msgspec.Struct):
    items: list[wire.Node] | None


class KubernetesCluster:
    """Implements ports/cluster.py."""

    def __init__(self, client: Client, jobs: Jobs, pods: Pods) -> None:
        self._client = client
        self._jobs = jobs
        self._pods = pods

    async def start(self, order: Order) -> Started | Stale | Gone | Denied:
        """One merge-patch with the Job's UID and resourceVersion as its preconditions.

        One before it reopens the template of a Job that ran, where that is needed. Whoever ends
        between the two leaves a suspended Job like any other.
        """
        job = await self._reopen(order.job) if order.job.started else order.job
        if not isinstance(job, JobSeen):
            return job
        changed = await self._change(job, grant_patch(replace(order, job=job)))
        reach(Failpoint.AFTER_START)
        return Started(changed) if isinstance(changed, JobSeen) else changed

    async def _reopen(self, job: JobSeen) -> JobSeen | Stale | Gone | Denied:
        """The Job with its pod template open for a new token, at its new resourceVersion."""
        open_job = await self._change(job, reopen_patch(job), "/status")
        reach(Failpoint.AFTER_REOPEN)
        return open_job

    async def stop(self, job: JobSeen, deliveries: int) -> Stopped | Stale | Gone | Denied:
        """One merge-patch with the same preconditions."""
        changed = await self._change(job, stop_patch(job, deliveries))
        reach(Failpoint.AFTER_SUSPENSION)
        return Stopped(changed) if isinstance(changed, JobSeen) else changed

    async def replace_late(self, job: JobSeen) -> Replaced | Stale | Gone | Denied:
        """One merge-patch with the same preconditions."""
        reach(Failpoint.BEFORE_REPLACEMENT)
        changed = await self._change(job, late_patch(job))
        reach(Failpoint.AFTER_REPLACEMENT)
        return Replaced(changed) if isinstance(changed, JobSeen) else changed

    async def _change(
        self, job: JobSeen, patch: dict[str, Any], part: str = ""
    ) -> JobSeen | Stale | Gone | Denied:
        answer = await self._client.call(
            "PATCH",
            _job_path(job.namespace, job.name) + part,
            params={"fieldManager": MANAGER},
            body=msgspec.json.encode(patch),
            content_type=MERGE_PATCH,
        )
        match answer.status:
            case 404:
                return Gone()
            case 409:
                return Stale()
            case _ if not answer.ok:
                return Denied(answer.message)
            case _:
                return _read(answer, wire.Job, job_seen)

    async def look(self, namespace: str, name: str) -> JobSeen | None:
        """The Job by a consistent read; None if it is gone or carries no tenant."""
        answer = await self._client.call("GET", _job_path(namespace, name))
        if answer.status == 404:
            return None
        if not answer.ok:
            raise UnavailableError(f"Job {namespace}/{name}: {answer.message}")
        return _read(answer, wire.Job, _managed)

    async def pods(self, namespace: str, job_uid: str) -> tuple[PodSeen, ...]:
        """All pods of a Job, orphaned ones too, by a consistent list.

        Without the label of a tenant, which every Job that was granted gives its pods, only what
        the Job controls is its pod: anybody may write the UID on a pod of their own.
        """
        path = f"/api/v1/namespaces/{quote(namespace, safe='')}/pods"
        params = {"labelSelector": f"{CONTROLLER_UID}={job_uid}"}
        answer = await self._client.call("GET", path, params=params)
        if not answer.ok:
            raise UnavailableError(f"pods of {job_uid}: {answer.message}")
        listed = _read(answer, _Pods, lambda found: found.items or [])
        return tuple(pod_seen(pod) for pod in listed if _is_of(pod, job_uid))

    async def alive(self, node: str) -> bool:
        """By a consistent list of this one node: nodes may be listed, and none read by name."""
        params = {"fieldSelector": f"metadata.name={node}"}
        answer = await self._client.call("GET", NODES.path, params=params)
        if not answer.ok:
            raise UnavailableError(f"node {node}: {answer.message}")
        return any(not seen.silent for seen in _read(answer, _Nodes, _nodes))

    async def shown(self, pool: str) -> Shown:
        """By a consistent list of this one Pool."""
        body = await pool_now(self._client, pool)
        return Shown() if body is None else shown_by(body)

    async def listed(self) -> None:
        """The first complete lists of Jobs and of pods."""
        await asyncio.gather(self._jobs.synced.wait(), self._pods.synced.wait())

    async def relist(self) -> None:
        """A complete list of Jobs and of pods, both begun after the call."""
        await asyncio.gather(self._jobs.relist(), self._pods.relist())


def _read[Wire, Value](answer: Answer, kind: type[Wire], value: Callable[[Wire], Value]) -> Value:
    """Raises UnavailableError: an answer that can't be read proves nothing, neither way."""
    try:
        return value(msgspec.json.decode(answer.body, type=kind))
    except (ValueError, RecursionError) as error:
        raise UnavailableError(f"the answer is not understood: {error}") from error


def _managed(job: wire.Job) -> JobSeen | None:
    return job_seen(job) if TENANT_LABEL in (job.metadata.labels or {}) else None


def _is_of(pod: wire.Pod, job_uid: str) -> bool:
    owners = pod.metadata.owner_references or ()
    controlled = any(owner.controller and owner.uid == job_uid for owner in owners)
    return controlled or TENANT_LABEL in (pod.metadata.labels or {})


def _nodes(listed: _Nodes) -> tuple[NodeSeen, ...]:
    return tuple(node_seen(node) for node in listed.items or ())


def _job_path(namespace: str, name: str) -> str:
    return f"/apis/batch/v1/namespaces/{quote(namespace, safe='')}/jobs/{quote(name, safe='')}"
