"""A Job as mutation looks at it: the fields that it may change, and the rest as bytes.

Parts that are only compared are not decoded: the API server writes equal parts as equal bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

MOST_ENTRIES = 256
"""Labels, annotations or containers of a Job that is looked at, as in the policy."""
MOST_OWNERS = 64
MOST_VARIABLES = 1000
"""In the environment of one container, besides the token in the first place."""
VARIABLE = "KWICKET_TOKEN"


class _SuspendField(Struct, frozen=True, rename={"suspend": "f:suspend"}):
    suspend: dict[str, Any] | None = None


class _Fields(Struct, frozen=True, rename={"spec": "f:spec"}):
    spec: _SuspendField = _SuspendField()


class ManagedField(Struct, frozen=True, rename={"fields": "fieldsV1"}):
    """Which fields one manager owns."""

    fields: Raw = Raw(b"{}")

    def owns_suspend(self) -> bool:
        """Whether it has written spec.suspend."""
        return _FIELDS.decode(self.fields).spec.suspend is not None


class Metadata(Struct, frozen=True, rename="camel"):
    """Of a Job."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[Raw] | None = None
    managed_fields: list[ManagedField] | None = None


class Container(Struct, frozen=True):
    """As far as its variables."""

    env: list[dict[str, Any]] | None = None


class PodSpec(Struct, frozen=True, rename="camel"):
    """Of the pods to come."""

    containers: list[Container] | None = None
    init_containers: list[Container] | None = None

    def containers_by_field(self) -> Iterator[tuple[str, list[Container]]]:
        """All containers, sidecars too, under the names of their fields."""
        yield "containers", self.containers or []
        yield "initContainers", self.init_containers or []


class TemplateMetadata(Struct, frozen=True):
    """Of the pods to come."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class Template(Struct, frozen=True):
    """Of the pods to come."""

    metadata: TemplateMetadata | None = None
    spec: Raw = Raw(b"{}")

    def read(self) -> PodSpec:
        """Its spec. Raises ValueError if it is none."""
        return _POD_SPEC.decode(self.spec)


class Spec(Struct, frozen=True, rename="camel"):
    """Of a Job."""

    suspend: bool | None = None
    pod_replacement_policy: str | None = None
    template: Template = Template()


class MutatedJob(Struct, frozen=True):
    """A Job as its author and admission so far want it, or as it is stored."""

    spec: Raw
    metadata: Metadata = Metadata()

    def read(self) -> Spec:
        """Its spec. Raises ValueError if it is none."""
        return _SPEC.decode(self.spec)


_FIELDS = msgspec.json.Decoder(_Fields)
_SPEC = msgspec.json.Decoder(Spec)
_POD_SPEC = msgspec.json.Decoder(PodSpec)


def is_small(job: MutatedJob, spec: Spec, pods: PodSpec) -> bool:
    """Whether it, of this spec and with pods of that one, has no more entries than the policy looks
    at.
    """
    template = spec.template.metadata or TemplateMetadata()
    containers = [*pods.containers_by_field()]
    sizes = (
        *map(len, (job.metadata.labels or (), job.metadata.annotations or ())),
        *map(len, (template.labels or (), template.annotations or ())),
        *(len(one) for _, one in containers),
    )
    return (
        max(sizes) <= MOST_ENTRIES
        and len(job.metadata.owner_references or ()) <= MOST_OWNERS
        and all(_has_few_variables(c.env or ()) for _, some in containers for c in some)
    )


def _has_few_variables(env: Sequence[Mapping[str, Any]]) -> bool:
    size = len(env)
    fenced = size == MOST_VARIABLES + 1 and env[0].get("name") == VARIABLE
    return size <= MOST_VARIABLES or fenced
