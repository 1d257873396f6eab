"""Objects of the API into values of the core, and grants into patches.

The only file that knows field paths, labels and annotations of Jobs, pods and namespaces.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from kwicket.core.catalog import TENANT_LABEL, TRAIT_PREFIX
from kwicket.core.jobs import JobSeen, NamespaceSeen, NodeSeen, PodSeen
from kwicket.core.pools import GO_ON_ABOVE
from kwicket.kube import wire
from kwicket.ports.cluster import Order

WORD = GO_ON_ABOVE

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
        ended=end is not None,
        finished=_finished(status, end) if end else None,
        deleting=metadata.deletion_timestamp is not None,
        parallelism=1 if spec.parallelism is None else spec.parallelism,
        completions=spec.completions,
        indexed=spec.completion_mode == "Indexed",
        succeeded=status.succeeded or 0,
        token=token_of(annotations.get(TOKEN)),
        granted_pool=annotations.get(GRANTED_POOL),
        deliveries=int(deliveries) if _COUNT.fullmatch(deliveries) else 0,
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
        index=annotations.get(COMPLETION_INDEX, ""),
        token=token_of(annotations.get(TOKEN)),
        pool=annotations.get(GRANTED_POOL),
        lane=annotations.get(GRANTED_LANE, ""),
    )


def namespace_seen(namespace: wire.Namespace) -> NamespaceSeen:
    """A namespace."""
    return NamespaceSeen(namespace.metadata.name, namespace.metadata.labels or {})


def node_seen(node: wire.Node) -> NodeSeen:
    """A node; one whose readiness is unknown is not ready."""
    conditions = (node.status and node.status.conditions) or ()
    ready = any(c.type == "Ready" and c.status == "True" for c in conditions)
    return NodeSeen(node.metadata.name, ready)


def grant_patch(order: Order) -> dict[str, Any]:
    """The merge-patch that writes a grant: it applies to this UID at this resourceVersion only.

    It also says what admission gave the Job: one that was made while nothing there mutated (below
    Kubernetes 1.36 without the webhook) has neither its pods' label nor their replacement's rule.
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
            "podReplacementPolicy": "Failed",
            "template": {
                "metadata": {"annotations": stamps, "labels": {TENANT_LABEL: order.job.tenant}}
            },
        },
    }


def stop_patch(job: JobSeen) -> dict[str, Any]:
    """The merge-patch that suspends this UID at this resourceVersion."""
    return {
        "metadata": {
            "uid": job.uid,
            "resourceVersion": job.version,
            "annotations": {DELIVERIES: str(job.deliveries + 1)},
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
    return datetime.fromtimestamp(milliseconds // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def token_of(text: object) -> int | None:
    """A fencing token; None for anything else, whoever wrote it."""
    return int(text) if isinstance(text, str) and _TOKEN.fullmatch(text) else None


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
