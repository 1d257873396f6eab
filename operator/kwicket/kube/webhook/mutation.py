"""Mutation: what is changed of a Job with a tenant, as a JSON patch.

The same as the policy `kwicket-hold` (charts/kwicket/templates/policies/hold.yaml) does, rule by
rule, so that a Job is the same bytes whichever of the two it went through; a test compares them.
Pure, and without effect on what it has changed already.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kwicket.core.catalog import TENANT_LABEL
from kwicket.kube.webhook.job import (
    VARIABLE,
    Container,
    Metadata,
    MutatedJob,
    PodSpec,
    Spec,
    TemplateMetadata,
    is_small,
)
from kwicket.kube.webhook.reviews import Change, Request, Reviews

OURS = "kwicket.dev/"
"""What the keys begin with that nobody but Kwicket writes."""
TOKEN = {
    "name": VARIABLE,
    "valueFrom": {
        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.annotations['kwicket.dev/token']"}
    },
}
"""The first variable of every container, so that $(KWICKET_TOKEN) expands in those after it."""
SUSPEND = Change("add", "/spec/suspend", True)
KEPT = (
    "spec.suspend stays true: the Job waits in a pool and only Kwicket starts it, when its turn"
    " comes; to keep it from starting, label it kwicket.dev/hold=true"
)

_TEMPLATE = "/spec/template/metadata"

type JobRequest = Request[MutatedJob, MutatedJob]

JOBS = Reviews(MutatedJob, MutatedJob, ("batch", "jobs"))


def changes(request: JobRequest) -> list[Change]:
    """The patch for whoever does not write as Kwicket. Empty without a tenant, and for a Job with
    so many entries that the policy does not look at them either: the guard refuses those. Raises
    ValueError for no Job.
    """
    new, old = request.object, request.old_object
    spec = new.read()
    pods = spec.template.read()
    if not is_small(new, spec, pods):
        return []
    if old is None:
        return list(_on_create(new, spec, pods)) if _tenant(new.metadata) is not None else []
    if _tenant(new.metadata) is None and _tenant(old.metadata) is None:
        return []
    same = _annotations(new.metadata) == _annotations(old.metadata)
    if same and bytes(new.spec) == bytes(old.spec):
        return []
    return list(_on_update(new, spec, pods, old))


def says_suspend(job: MutatedJob) -> bool:
    """Whether somebody has written spec.suspend. One that nobody has is false by default, as after
    a server-side apply of a manifest that leaves it out.
    """
    entries = job.metadata.managed_fields or ()
    return any(one.owns_suspend() for one in entries)


def _on_create(job: MutatedJob, spec: Spec, pods: PodSpec) -> Iterator[Change]:
    tenant = _tenant(job.metadata)
    yield from _held(spec, waits=True)
    yield from _restored("/metadata/annotations", _annotations(job.metadata), {})
    template = spec.template.metadata
    if template is None:
        yield Change("add", _TEMPLATE, {})
    template = template or TemplateMetadata()
    yield from _restored(f"{_TEMPLATE}/annotations", _annotations(template), {})
    if template.labels is None:
        yield Change("add", f"{_TEMPLATE}/labels", {TENANT_LABEL: tenant})
    elif template.labels.get(TENANT_LABEL) != tenant:
        yield Change("add", f"{_TEMPLATE}/labels/{_escaped(TENANT_LABEL)}", tenant)
    for field, containers in pods.containers_by_field():
        for number, container in enumerate(containers):
            yield from _fenced(field, number, container, TOKEN)


def _on_update(new: MutatedJob, now: Spec, pods: PodSpec, old: MutatedJob) -> Iterator[Change]:
    was = old.read()
    yield from _held(now, waits=bool(was.suspend) and _tenant(old.metadata) is not None)
    yield from _restored(
        "/metadata/annotations", _annotations(new.metadata), _annotations(old.metadata)
    )
    before = was.template.metadata or TemplateMetadata()
    yield from _template_restored(now.template.metadata, before)
    if bytes(now.template.spec) != bytes(was.template.spec):
        yield from _fenced_again(pods, was.template.read())


def _template_restored(now: TemplateMetadata | None, was: TemplateMetadata) -> Iterator[Change]:
    if now is None:
        if was.labels or was.annotations:
            yield Change("add", _TEMPLATE, {})
        now = TemplateMetadata()
    yield from _restored(f"{_TEMPLATE}/annotations", _annotations(now), _annotations(was))
    yield from _restored(f"{_TEMPLATE}/labels", now.labels or {}, was.labels or {})


def _held(spec: Spec, *, waits: bool) -> Iterator[Change]:
    if waits and not spec.suspend:
        yield SUSPEND
    if spec.pod_replacement_policy != "Failed":
        yield Change("add", "/spec/podReplacementPolicy", "Failed")


def _restored(path: str, now: Mapping[str, str], was: Mapping[str, str]) -> Iterator[Change]:
    """Our entries as they were. A map that is gone comes back with ours alone."""
    for key in now:
        if key.startswith(OURS) and key not in was:
            yield Change("remove", f"{path}/{_escaped(key)}")
    ours = {key: value for key, value in was.items() if key.startswith(OURS)}
    if not now:
        if ours:
            yield Change("add", path, ours)
        return
    for key, value in ours.items():
        if now.get(key, "") != value:
            yield Change("add", f"{path}/{_escaped(key)}", value)


def _fenced(
    field: str, number: int, container: Container, token: Mapping[str, Any]
) -> Iterator[Change]:
    """The token first, and no other variable of its name."""
    env = container.env or []
    wanted = [token, *(one for one in env if one.get("name") != VARIABLE)]
    if env != wanted:
        yield Change("add", f"/spec/template/spec/{field}/{number}/env", wanted)


def _fenced_again(now: PodSpec, was: PodSpec) -> Iterator[Change]:
    """The same in an update, for containers whose stored environment begins with the token."""
    before = dict(was.containers_by_field())
    for field, containers in now.containers_by_field():
        for number, (container, stored) in enumerate(zip(containers, before[field], strict=False)):
            first = (stored.env or [{}])[0]
            if first.get("name") == VARIABLE:
                yield from _fenced(field, number, container, first)


def _tenant(metadata: Metadata) -> str | None:
    return (metadata.labels or {}).get(TENANT_LABEL)


def _annotations(metadata: Metadata | TemplateMetadata) -> Mapping[str, str]:
    return metadata.annotations or {}


def _escaped(key: str) -> str:
    """A key as a part of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
