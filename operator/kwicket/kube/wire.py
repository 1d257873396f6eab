"""Jobs, pods and namespaces as the API server writes them: only the fields that are used."""

import msgspec
from msgspec import Raw, Struct


class Owner(Struct, frozen=True, gc=False):
    """An entry of ownerReferences."""

    uid: str
    controller: bool | None = None


class Metadata(Struct, frozen=True, gc=False, rename="camel"):
    """Of any object."""

    name: str
    uid: str
    namespace: str = ""
    resource_version: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[Owner] | None = None


class HeadMetadata(Struct, frozen=True, gc=False, rename="camel"):
    """Of any object, what says whether it is known already."""

    uid: str
    resource_version: str


class Head(Struct, frozen=True, gc=False):
    """Any object, as far as that."""

    metadata: HeadMetadata


class JobMetadata(Metadata, frozen=True, gc=False, rename="camel"):
    """Of a Job, with who has written it."""

    managed_fields: Raw = Raw(b"null")
    """Not read before somebody asks for it (`managed`): it is as long as all the rest."""


class Condition(Struct, frozen=True, gc=False, rename="camel"):
    """Of a Job or a node."""

    type: str
    status: str
    last_transition_time: str | None = None


class JobSpec(Struct, frozen=True, gc=False, rename="camel"):
    """The part of a Job's spec that decides."""

    suspend: bool | None = None
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = None
    pod_replacement_policy: str | None = None


class JobStatus(Struct, frozen=True, gc=False, rename="camel"):
    """The part of a Job's status that decides."""

    conditions: list[Condition] | None = None
    succeeded: int | None = None
    active: int | None = None
    start_time: str | None = None
    completion_time: str | None = None


class Job(Struct, frozen=True, gc=False):
    """batch/v1 Job."""

    metadata: JobMetadata
    spec: JobSpec | None = None
    status: JobStatus | None = None


class Ended(Struct, frozen=True, gc=False, rename="camel"):
    """A container that runs no more."""

    reason: str = ""
    message: str = ""
    started_at: str | None = None


class Running(Struct, frozen=True, gc=False):
    """A container that runs."""


class ContainerState(Struct, frozen=True, gc=False):
    """What a container does, or did last."""

    running: Running | None = None
    terminated: Ended | None = None


class ContainerStatus(Struct, frozen=True, gc=False, rename="camel"):
    """The part of a container's status that says whether it has run."""

    state: ContainerState | None = None
    last_state: ContainerState | None = None


class PodStatus(Struct, frozen=True, gc=False, rename="camel"):
    """The part of a pod's status that decides."""

    phase: str | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    container_statuses: list[ContainerStatus] | None = None


class PodSpec(Struct, frozen=True, gc=False, rename="camel"):
    """The part of a pod's spec that decides."""

    node_name: str | None = None


class Pod(Struct, frozen=True, gc=False):
    """v1 Pod."""

    metadata: Metadata
    spec: PodSpec | None = None
    status: PodStatus | None = None


class NodeStatus(Struct, frozen=True, gc=False):
    """The part of a node's status that decides."""

    conditions: list[Condition] | None = None


class Node(Struct, frozen=True, gc=False):
    """v1 Node."""

    metadata: Metadata
    status: NodeStatus | None = None


class Namespace(Struct, frozen=True, gc=False):
    """v1 Namespace."""

    metadata: Metadata


_NAMES = {"resource_version": "resourceVersion", "continue_": "continue"}


class ListMetadata(Struct, frozen=True, rename=_NAMES):
    """Of a page of a list."""

    resource_version: str
    continue_: str | None = None


class Status(Struct, frozen=True):
    """What an ERROR event of a watch carries."""

    code: int = 0
    message: str = ""


class ManagedFields(Struct, frozen=True, rename={"spec": "f:spec"}):
    """Of one manager's fields, those of the spec."""

    spec: dict[str, Raw] = {}


class Managed(Struct, frozen=True, rename={"fields": "fieldsV1"}):
    """One manager's share of an object's fields."""

    manager: str = ""
    fields: ManagedFields = ManagedFields()


def managed(fields: Raw) -> list[Managed]:
    """The entries of an object's managedFields."""
    return msgspec.json.decode(fields, type=list[Managed] | None) or []
