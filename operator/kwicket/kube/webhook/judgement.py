"""Judgement of a new Job: the operator's own rules and words, at once instead of later."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from kwicket.core.catalog import Catalog
from kwicket.core.jobs import JobSeen, NamespaceSeen
from kwicket.core.pools import Pool
from kwicket.core.reasons import Reason, sentence
from kwicket.kube import wire
from kwicket.kube.objects import job_seen
from kwicket.kube.webhook.reviews import Request, Reviews, Verdict

_BORN = "1970-01-01T00:00:00Z"

_FIELDS = {
    Reason.UNKNOWN_POOL: 'metadata.labels["kwicket.dev/pool"]: ',
    Reason.UNKNOWN_LANE: 'metadata.labels["kwicket.dev/lane"]: ',
    Reason.LANE_OF_OTHER_POOL: 'metadata.labels["kwicket.dev/lane"]: ',
    Reason.TENANT_MISMATCH: 'metadata.labels["kwicket.dev/tenant"]: ',
    Reason.TOO_WIDE: "spec.parallelism: ",
}
"""The field to change, where it is one field of the Job."""


class Figures(Struct, frozen=True):
    """What a Pool's status says of its line, as the operator wrote it about a second ago."""

    waiting: int = 0
    running: int = 0


class _Metadata(wire.JobMetadata, frozen=True, gc=False, rename="camel"):
    """Before an object is stored, it may have neither name nor UID."""

    name: str = ""
    uid: str = ""
    generate_name: str = ""


class ReviewedJob(wire.Job, frozen=True, gc=False):
    """A Job on its way in."""

    metadata: _Metadata


type JobRequest = Request[ReviewedJob, None]

JOBS: Reviews[ReviewedJob, None] = Reviews(ReviewedJob, type(None), ("batch", "jobs"))
"""Of new Jobs only: of one that is there, nothing that decides may change."""


def seen(request: JobRequest) -> JobSeen:
    """The Job as the operator would see it. Raises ValueError if it has no tenant label."""
    job, metadata = request.object, request.object.metadata
    named = msgspec.structs.replace(
        metadata,
        name=metadata.name or f"{metadata.generate_name}*",
        namespace=request.namespace,
        creation_timestamp=metadata.creation_timestamp or _BORN,
    )
    return job_seen(msgspec.structs.replace(job, metadata=named))


def of_job(
    job: JobSeen,
    namespace: NamespaceSeen | None,
    catalog: Catalog,
    figures: Mapping[str, Figures],
) -> Verdict:
    """All that keeps a Job out of line, or where it will wait.

    What a namespace that is not known (None) would decide is left open. A Job that only lacks a
    default Pool is not wrong, and waits until there is one.
    """
    known = namespace or NamespaceSeen(job.namespace)
    asides = [
        aside
        for aside in catalog.objections(job, known)
        if namespace is not None or aside.reason is not Reason.NAMESPACE_NOT_SELECTED
    ]
    words = [
        f"Job {job.job}: {_FIELDS.get(aside.reason, '')}{aside.sentence}"
        for aside in asides
        if aside.reason is not Reason.NO_POOL
    ]
    if words:
        return Verdict(errors=words)
    if asides:
        return Verdict(warnings=[f"Job {job.job}: {aside.sentence}" for aside in asides])
    return Verdict(warnings=_place(job, catalog, figures))


def _place(job: JobSeen, catalog: Catalog, figures: Mapping[str, Figures]) -> list[str]:
    """Where it will wait, and why; nothing if no figures are known."""
    pool = catalog.pool_for(job)
    if not isinstance(pool, Pool):
        return []
    line = figures.get(pool.name)
    if line is None:
        return []
    place = f" at position {line.waiting + 1} or before, while {line.running} run"
    text = sentence(Reason.QUEUED, pool=pool.name, position=place, why=_why(job, pool, line))
    return [f"Job {job.job} {text}"]


def _why(job: JobSeen, pool: Pool, line: Figures) -> str:
    if job.held:
        return sentence(Reason.HELD)
    if pool.fault is not None:
        return sentence(Reason.POOL_NOT_UNDERSTOOD, pool=pool.name, why=pool.fault)
    if pool.paused:
        return sentence(Reason.POOL_PAUSED, pool=pool.name)
    if line.waiting:
        return sentence(Reason.NOT_ITS_TURN)
    return "it starts as soon as there is room"
