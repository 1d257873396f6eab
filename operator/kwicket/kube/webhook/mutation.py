"""Mutation: what is changed of a Job with a tenant, as a JSON patch.

The same as the policy `kwicket-hold` (charts/kwicket/templates/policies/hold.yaml) does, rule by
rule, so that a Job is the same bytes whichever of the two it went through; a test compares them.
Pure, and without effect on what it has changed already.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from kwicket.core.catalog import TENANT_LABEL
from kwicket.kube.webhook.reviews import Change, Request, Reviews

PREFIX = "kwicket.dev/"
"""Of annotations that nobody but Kwicket writes."""
VARIABLE = "KWICKET_TOKEN"
TOKEN = {
    "name": VARIABLE,
    "valueFrom": {
        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.annotations['kwicket.dev/token']"}
    },
}
"""The first variable of every container, so that $(KWICKET_TOKEN) expands in those after it."""
KEPT = (
    "spec.suspend stays true: the Job waits in a pool and only Kwicket starts it, when its turn"
    " comes; to keep it from starting, label it kwicket.dev/hold=true"
)


class _ManagedField(Struct, frozen=True, rename={"fields": "fieldsV1"}):
    fields: msgspec.Raw = msgspec.Raw(b"{}")


class _Metadata(Struct, frozen=True, rename="camel"):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    managed_fields: list[_ManagedField] | None = None


class _Container(Struct, frozen=True):
    env: list[dict[str, Any]] | None = None


class _PodSpec(Struct, frozen=True, rename="camel"):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None


class _TemplateMetadata(Struct, frozen=True):
    labels: dict[str, str] | None = None


class _Template(Struct, frozen=True):
    metadata: _TemplateMetadata | None = None
    spec: _PodSpec = _PodSpec()


class _Spec(Struct, frozen=True, rename="camel"):
    suspend: bool | None = None
    pod_replacement_policy: str | None = None
    template: _Template = _Template()


class NewJob(Struct, frozen=True):
    """A Job as its author, and admission so far, want it."""

    spec: _Spec
    metadata: _Metadata = _Metadata()


class _OldMetadata(Struct, frozen=True):
    labels: dict[str, str] | None = None


class _OldSpec(Struct, frozen=True):
    suspend: bool | None = None


class OldJob(Struct, frozen=True):
    """A Job as it is stored."""

    spec: _OldSpec = _OldSpec()
    metadata: _OldMetadata = _OldMetadata()


class _SuspendField(Struct, frozen=True, rename={"suspend": "f:suspend"}):
    suspend: dict[str, Any] | None = None


class _Fields(Struct, frozen=True, rename={"spec": "f:spec"}):
    spec: _SuspendField = _SuspendField()


_FIELDS = msgspec.json.Decoder(_Fields)

type JobRequest = Request[NewJob, OldJob]

JOBS = Reviews(NewJob, OldJob, ("batch", "jobs"))


def unsuspends(request: JobRequest) -> bool:
    """Whether a Job that waits would start: then it counts who asks for it."""
    old = request.old_object
    return (
        old is not None
        and bool(old.spec.suspend)
        and TENANT_LABEL in (old.metadata.labels or {})
        and not request.object.spec.suspend
    )


def changes(request: JobRequest, *, granting: bool = False) -> list[Change]:
    """The patch; `granting` if whoever asks may start a Job that waits. Empty without a tenant."""
    tenant = (request.object.metadata.labels or {}).get(TENANT_LABEL)
    if request.old_object is None:
        return list(_on_create(request.object, tenant)) if tenant is not None else []
    if tenant is None and TENANT_LABEL not in (request.old_object.metadata.labels or {}):
        return []
    return list(_held(request.object.spec, waits=unsuspends(request) and not granting))


def says_suspend(job: NewJob) -> bool:
    """Whether somebody has written spec.suspend. One that nobody has is false by default, as after
    a server-side apply of a manifest that leaves it out.
    """
    entries = job.metadata.managed_fields or ()
    return any(_FIELDS.decode(one.fields).spec.suspend is not None for one in entries)


def _on_create(job: NewJob, tenant: str) -> Iterator[Change]:
    yield from _held(job.spec, waits=True)
    yield from _labelled(job.spec.template.metadata, tenant)
    pods = job.spec.template.spec
    yield from _with_token("containers", pods.containers or ())
    yield from _with_token("initContainers", pods.init_containers or ())
    for key in job.metadata.annotations or ():
        if key.startswith(PREFIX):
            yield Change("remove", f"/metadata/annotations/{_escaped(key)}")


def _held(spec: _Spec, *, waits: bool) -> Iterator[Change]:
    if waits and not spec.suspend:
        yield Change("add", "/spec/suspend", True)
    if spec.pod_replacement_policy != "Failed":
        yield Change("add", "/spec/podReplacementPolicy", "Failed")


def _labelled(metadata: _TemplateMetadata | None, tenant: str) -> Iterator[Change]:
    """Pods are found by the label, so it must be on them."""
    where = "/spec/template/metadata"
    if metadata is None:
        yield Change("add", where, {"labels": {TENANT_LABEL: tenant}})
    elif metadata.labels is None:
        yield Change("add", f"{where}/labels", {TENANT_LABEL: tenant})
    elif metadata.labels.get(TENANT_LABEL) != tenant:
        yield Change("add", f"{where}/labels/{_escaped(TENANT_LABEL)}", tenant)


def _with_token(field: str, containers: "list[_Container] | tuple[()]") -> Iterator[Change]:
    for number, container in enumerate(containers):
        env = container.env or []
        wanted = [TOKEN, *(one for one in env if one.get("name") != VARIABLE)]
        if env != wanted:
            yield Change("add", f"/spec/template/spec/{field}/{number}/env", wanted)


def _escaped(key: str) -> str:
    """A key as a part of a JSON pointer (RFC 6901)."""
    return key.replace("~", "~0").replace("/", "~1")
