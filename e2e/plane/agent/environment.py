"""A container's environment and command line, resolved as Kubernetes resolves them."""

import base64
import re
from collections.abc import Iterator

from e2e.plane.agent.specs import ContainerSpec, EnvFrom, EnvVar, KeyRef, Pod
from e2e.plane.api import Api, ApiError

_REFERENCE = re.compile(r"\$(\$|\(([^()]*)\))")
_KEYED = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]")


class ConfigError(Exception):
    """A ConfigMap, Secret or key that the container needs is absent; it may yet appear."""


def expand(text: str, known: dict[str, str]) -> str:
    """Replace `$(NAME)` by what is known and `$$` by `$`; unknown names stay as written."""

    def value(match: re.Match[str]) -> str:
        return "$" if match[1] == "$" else known.get(match[2], match[0])

    return _REFERENCE.sub(value, text)


async def resolve(api: Api, pod: Pod, spec: ContainerSpec, address: str) -> dict[str, str]:
    """The variables of the container in the pod at IP `address`; raises ConfigError."""
    variables: dict[str, str] = {}
    for source in spec.env_from:
        variables |= await _all_keys(api, pod, source)
    for variable in spec.env:
        value = await _value(api, pod, variable, variables, address)
        if value is not None:
            variables[variable.name] = value
    return variables


async def _value(
    api: Api, pod: Pod, variable: EnvVar, known: dict[str, str], address: str
) -> str | None:
    source = variable.value_from
    if source is None:
        return expand(variable.value, known)
    if source.field_ref:
        return field(pod, source.field_ref.field_path, address)
    if source.config_map_key_ref:
        return await _one_key(api, pod, "configmaps", source.config_map_key_ref)
    if source.secret_key_ref:
        return await _one_key(api, pod, "secrets", source.secret_key_ref)
    raise ConfigError(f"the plane does not know the source of variable {variable.name}")


def field(pod: Pod, path: str, address: str) -> str:
    """The pod's field at `path`, of those the downward API offers to variables."""
    if keyed := _KEYED.fullmatch(path):
        entries: dict[str, str] = getattr(pod.metadata, keyed[1])
        return entries.get(keyed[2], "")
    fields = {
        "metadata.name": pod.metadata.name,
        "metadata.namespace": pod.metadata.namespace,
        "metadata.uid": pod.metadata.uid,
        "spec.nodeName": pod.spec.node_name,
        "spec.serviceAccountName": pod.spec.service_account_name,
        "status.podIP": address,
        "status.podIPs": address,
        "status.hostIP": "127.0.0.1",
        "status.hostIPs": "127.0.0.1",
    }
    return fields[path]


async def _all_keys(api: Api, pod: Pod, source: EnvFrom) -> dict[str, str]:
    values: dict[str, str] = {}
    for kind, ref in (("configmaps", source.config_map_ref), ("secrets", source.secret_ref)):
        if ref:
            values |= await _data(api, pod, kind, ref)
    return {source.prefix + key: value for key, value in values.items()}


async def _one_key(api: Api, pod: Pod, kind: str, ref: KeyRef) -> str | None:
    data = await _data(api, pod, kind, ref)
    if ref.key not in data and not ref.optional:
        raise ConfigError(f"couldn't find key {ref.key} in {kind} {ref.name}")
    return data.get(ref.key)


async def _data(api: Api, pod: Pod, kind: str, ref: KeyRef) -> dict[str, str]:
    try:
        found = await api.get(f"/api/v1/namespaces/{pod.metadata.namespace}/{kind}/{ref.name}")
    except ApiError as error:
        if error.status != 404:
            raise
        if ref.optional:
            return {}
        raise ConfigError(f'{kind} "{ref.name}" not found') from error
    return dict(_decoded(found.get("data") or {}, is_secret=kind == "secrets"))


def _decoded(data: dict[str, str], *, is_secret: bool) -> Iterator[tuple[str, str]]:
    for key, value in data.items():
        yield key, base64.b64decode(value).decode() if is_secret else value
