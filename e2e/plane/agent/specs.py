"""What a node reads of a Pod object."""

from typing import Any

import msgspec


class KeyRef(msgspec.Struct, frozen=True):
    """A key of a ConfigMap or Secret."""

    name: str
    key: str = ""
    optional: bool = False


class FieldRef(msgspec.Struct, frozen=True, rename="camel"):
    """A field of the pod itself."""

    field_path: str


class ValueFrom(msgspec.Struct, frozen=True, rename="camel"):
    """Where a variable's value comes from; exactly one is set."""

    field_ref: FieldRef | None = None
    config_map_key_ref: KeyRef | None = None
    secret_key_ref: KeyRef | None = None


class EnvVar(msgspec.Struct, frozen=True, rename="camel"):
    """One variable."""

    name: str
    value: str = ""
    value_from: ValueFrom | None = None


class EnvFrom(msgspec.Struct, frozen=True, rename="camel"):
    """All keys of a ConfigMap or Secret as variables."""

    prefix: str = ""
    config_map_ref: KeyRef | None = None
    secret_ref: KeyRef | None = None


class ContainerSpec(msgspec.Struct, frozen=True, rename="camel"):
    """One container; `restart_policy` Always makes an init container a sidecar."""

    name: str
    image: str = ""
    command: list[str] = []
    args: list[str] = []
    env: list[EnvVar] = []
    env_from: list[EnvFrom] = []
    restart_policy: str | None = None


class PodSpec(msgspec.Struct, frozen=True, rename="camel"):
    """What to run, and for how long (seconds) at most."""

    containers: list[ContainerSpec]
    init_containers: list[ContainerSpec] = []
    node_name: str = ""
    restart_policy: str = "Always"
    service_account_name: str = ""
    active_deadline_seconds: int | None = None
    termination_grace_period_seconds: int = 30


class Meta(msgspec.Struct, frozen=True, rename="camel"):
    """Who the pod is; `deletion_grace_period_seconds` counts once `deletion_timestamp` is set."""

    name: str
    namespace: str
    uid: str
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None


class ReportedStatus(msgspec.Struct, frozen=True, rename="camel"):
    """What was last reported of the pod."""

    phase: str = "Pending"
    start_time: str | None = None
    pod_ip: str | None = msgspec.field(default=None, name="podIP")
    container_statuses: list[dict[str, Any]] = []
    init_container_statuses: list[dict[str, Any]] = []


class Pod(msgspec.Struct, frozen=True):
    """A Pod object, as far as a node cares."""

    metadata: Meta
    spec: PodSpec
    status: ReportedStatus = ReportedStatus()

    @property
    def path(self) -> str:
        """Its path in the API."""
        return f"/api/v1/namespaces/{self.metadata.namespace}/pods/{self.metadata.name}"

    @property
    def has_ended(self) -> bool:
        """Whether its reported phase is final."""
        return self.status.phase in {"Succeeded", "Failed"}


def pod(item: dict[str, Any]) -> Pod:
    """Read a Pod from its JSON object."""
    return msgspec.convert(item, Pod)
