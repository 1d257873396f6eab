"""Objects of the API into values of the core, and grants into patches.

Here are the field paths, labels and annotations of Jobs, pods, namespaces and nodes by which the
operator works; the webhook, the checks of the policies and the catalog name some of their own.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from kwicket.core.catalog import TENANT_LABEL, TRAIT_PREFIX
from kwicket.core.jobs import JobSeen, NamespaceSeen, NodeSeen, PodSeen
from kwicket.kube import wire
from kwicket.ports.cluster import Order

POOL_LABEL = "kwicket.dev/pool"
LANE_LABEL = "kwicket.dev/lane"
HOLD_LABEL = "kwicket.dev/hold"

TOKEN = "kwicket.dev/token"  # noqa: S105  # an annotation's name
GRANTED_AT = "kwicket.dev/granted-at"
DELIVERIES = "kwicket.dev/deliveries"
CHARGED = "kwicket.dev/charged"
GRANTED_POOL = "kwicket.dev/pool"
GRANTED_LANE = "kwicket.dev/lane"

CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"

MANAGER = "kwicket"
"""The field manager of all that the operator writes on Jobs."""

BESIDE, LATE = "TerminatingOrFailed", "Failed"
"""When a pod is replaced: as soon as it is told to end, or once it has ended."""

_NEVER_RAN = ("StartError", "ContainerCannotRun", "RunContainerError")
_TOKEN = re.compile(r"[1-9][0-9]{0,17}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COUNT = re.compile(r"[0-9]{1,9}")


def job_seen(job: wire.Job) -> JobSeen:
    """A managed Job. Raises ValueError if it has no tenant label or no valid stamp."""
    metadata, spec = job.metadata, job.spec or wire.JobSpec()
    status = job.status or wire.JobStatus()
    labels, annotations = metadata.labels or {}, metadata.annotations or {}
    if TENANT_LABEL not in labels:
        raise ValueError(f"Job {metadata.namespace}/{metadata.name} has no tenant")
    conditions = {c.type: c for c in status.conditions or () if c.status == "True"}
    end = conditions.get("Complete") or conditions.get("Failed")
    deliveries = annotations.get(DELIVERIES, "0")
    token = token_of(annotations.get(TOKEN))
    return JobSeen(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        version=metadata.resource_version,
        created=milliseconds_of(metadata.creation_timestamp or ""),
        tenant=labels[TENANT_LABEL],
        pool=labels.get(POOL_LABEL),
        lane=labels.get(LANE_LABEL),
        traits=_traits(labels),
        held=labels.get(HOLD_LABEL) == "true",
        suspended=bool(spec.suspend),
        settled="Suspended" in conditions and not status.active,
        started=status.start_time is not None,
        ended=end is not None,
        finished=_finished(status, end) if end else None,
        deleting=metadata.deletion_timestamp is not None,
        parallelism=1 if spec.parallelism is None else spec.parallelism,
        completions=spec.completions,
        indexed=spec.completion_mode == "Indexed",
        succeeded=status.succeeded or 0,
        token=token,
        beside=spec.pod_replacement_policy == BESIDE,
        granted_pool=annotations.get(GRANTED_POOL),
        deliveries=int(deliveries) if _COUNT.fullmatch(deliveries) else 0,
        suspended_by=_suspended_by(metadata) if token and spec.suspend else "",
    )


def pod_seen(pod: wire.Pod) -> PodSeen:
    """A pod of a managed Job. Raises ValueError if it names no Job."""
    metadata = pod.metadata
    labels, annotations = metadata.labels or {}, metadata.annotations or {}
    if CONTROLLER_UID not in labels:
        raise ValueError(f"pod {metadata.namespace}/{metadata.name} is of no Job")
    return PodSeen(
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        job_uid=labels[CONTROLLER_UID],
        tenant=labels.get(TENANT_LABEL, ""),
        phase=(pod.status and pod.status.phase) or "Pending",
        node=(pod.spec and pod.spec.node_name) or "",
        started=_has_started(pod.status) if pod.status else False,
        index=annotations.get(COMPLETION_INDEX, ""),
        token=token_of(annotations.get(TOKEN)),
        pool=annotations.get(GRANTED_POOL),
        lane=annotations.get(GRANTED_LANE, ""),
    )


def namespace_seen(namespace: wire.Namespace) -> NamespaceSeen:
    """A namespace."""
    return NamespaceSeen(namespace.metadata.name, namespace.metadata.labels or {})


def node_seen(node: wire.Node) -> NodeSeen:
    """A node. One that says that it is not ready gives a sign of life."""
    conditions = (node.status and node.status.conditions) or ()
    silent = any(c.type == "Ready" and c.status == "Unknown" for c in conditions)
    return NodeSeen(node.metadata.name, silent)


def grant_patch(order: Order) -> dict[str, Any]:
    """The merge-patch that writes a grant: it applies to this UID at this resourceVersion only.

    It also says what admission gave the Job: one that was made while nothing there mutated (below
    Kubernetes 1.36 without the webhook) has neither its pods' label nor their replacement's rule.
    A Job whose old pods never end, since their nodes are silent, would never get new ones by it.
    """
    stamps = {
        TOKEN: str(order.token),
        GRANTED_POOL: order.pool,
        GRANTED_LANE: order.lane or None,
    }
    annotations = stamps | {
        GRANTED_AT: timestamp(order.granted_at),
        DELIVERIES: str(order.job.deliveries + 1),
        CHARGED: order.charged,
    }
    return {
        "metadata": {
            "uid": order.job.uid,
            "resourceVersion": order.job.version,
            "annotations": annotations,
        },
        "spec": {
            "suspend": False,
            "podReplacementPolicy": BESIDE if order.beside else LATE,
            "template": {
                "metadata": {"annotations": stamps, "labels": {TENANT_LABEL: order.job.tenant}}
            },
        },
    }


def reopen_patch(job: JobSeen) -> dict[str, Any]:
    """The merge-patch of the status that opens the template of this UID at this resourceVersion.

    Up to Kubernetes 1.35 the template of a suspended Job may be stamped only while its status has
    no startTime, and the Job controller leaves the one that the Job ran with.
    """
    return {
        "metadata": {"uid": job.uid, "resourceVersion": job.version},
        "status": {"startTime": None},
    }


def late_patch(job: JobSeen) -> dict[str, Any]:
    """The merge-patch by which pods are replaced once they have ended, as those of any Job."""
    return {
        "metadata": {"uid": job.uid, "resourceVersion": job.version},
        "spec": {"podReplacementPolicy": LATE},
    }


def stop_patch(job: JobSeen, deliveries: int) -> dict[str, Any]:
    """The merge-patch that suspends this UID at this resourceVersion."""
    return {
        "metadata": {
            "uid": job.uid,
            "resourceVersion": job.version,
            "annotations": {DELIVERIES: str(deliveries)},
        },
        "spec": {"suspend": True},
    }


def milliseconds_of(stamp: str) -> int:
    """The milliseconds since 1970 of an RFC 3339 stamp. Raises ValueError if it is none."""
    moment = datetime.fromisoformat(stamp)
    if moment.tzinfo is None:
        raise ValueError(f"{stamp!r} has no time zone")
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def timestamp(milliseconds: int) -> str:
    """The RFC 3339 stamp of a moment, to the second, as Kubernetes writes it."""
    return datetime.fromtimestamp(milliseconds // 1000, UTC).isoformat().replace("+00:00", "Z")


def token_of(text: object) -> int | None:
    """A fencing token; None for anything else, whoever wrote it."""
    return int(text) if isinstance(text, str) and _TOKEN.fullmatch(text) else None


def _suspended_by(metadata: wire.JobMetadata) -> str:
    """The field managers, but for ours, that last wrote `spec.suspend`.

    A write that changes it takes it from all others, so a Job that Kwicket suspended has none.
    """
    names = set()
    for entry in wire.managed(metadata.managed_fields):
        if "f:suspend" in entry.fields.spec and entry.manager != MANAGER:
            names.add(entry.manager)
    return ", ".join(sorted(names))


def _has_started(status: wire.PodStatus) -> bool:
    """Whether any container has run: runs, or has ended after a start that did not fail."""
    containers = (*(status.init_container_statuses or ()), *(status.container_statuses or ()))
    return status.phase == "Succeeded" or any(
        _ran(container.state) or _ran(container.last_state) for container in containers
    )


def _ran(state: wire.ContainerState | None) -> bool:
    if state is None:
        return False
    ended = state.terminated
    if ended is None:
        return state.running is not None
    if ended.reason in _NEVER_RAN:
        return False
    return bool(ended.started_at) or "used to be Running" in ended.message


def _finished(status: wire.JobStatus, end: wire.Condition) -> int | None:
    """Only a Job that is Complete has a completionTime."""
    stamp = status.completion_time or end.last_transition_time
    return milliseconds_of(stamp) if stamp else None


def _traits(labels: dict[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (key.removeprefix(TRAIT_PREFIX), value)
        for key, value in sorted(labels.items())
        if key.startswith(TRAIT_PREFIX)
    )
