"""When a plane is up: not when it answers, but when everything a test relies on works."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp

from e2e.plane.api import Api, ApiError, Object

STEP_SECONDS = 0.05
POLICIES = "/apis/admissionregistration.k8s.io/v1"
PROBE = "plane-probe"


async def accepts(port: int) -> None:
    """Return once something listens on the loopback port."""
    await _until(lambda: _accepts(port))


async def server_answers(kubeconfig: Path) -> None:
    """Return once the API server calls itself ready."""
    async with Api.open(kubeconfig) as api:
        await _until(lambda: _answers(api, "/readyz"))


async def settled(admin: Path) -> None:
    """Return once pods can be made and run, and policies work."""
    async with Api.open(admin) as api, asyncio.TaskGroup() as group:
        group.create_task(_until(lambda: _exists(api, "serviceaccounts/default")))
        group.create_task(_until(lambda: _exists(api, "configmaps/kube-root-ca.crt")))
        group.create_task(_until(lambda: _has_ready_nodes(api)))
        group.create_task(_policies_work(api))


async def _until(is_so: Callable[[], Awaitable[bool]]) -> None:
    while not await is_so():  # noqa: ASYNC110 - the server offers no event to wait for
        await asyncio.sleep(STEP_SECONDS)


async def _accepts(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


async def _answers(api: Api, path: str) -> bool:
    try:
        await api.get(path)
    except (ApiError, aiohttp.ClientError):
        return False
    return True


async def _exists(api: Api, what: str) -> bool:
    return await _answers(api, f"/api/v1/namespaces/default/{what}")


async def _has_ready_nodes(api: Api) -> bool:
    nodes, _ = await api.list("/api/v1/nodes")
    return bool(nodes) and all(_is_ready(node) for node in nodes)


def _is_ready(node: Object) -> bool:
    conditions = {c["type"]: c["status"] for c in node["status"].get("conditions", [])}
    return conditions.get("Ready") == "True" and not node["spec"].get("taints")


async def _policies_work(api: Api) -> None:
    """Wait until a mutating policy, where served, really mutates.

    Just after its start the server answers 503 to whatever a policy of this kind matches.
    """
    served = (await api.get(POLICIES))["resources"]
    if not any(resource["name"] == "mutatingadmissionpolicies" for resource in served):
        return
    await api.create(f"{POLICIES}/mutatingadmissionpolicies", _policy())
    await api.create(f"{POLICIES}/mutatingadmissionpolicybindings", _binding())
    await _until(lambda: _probe_is_mutated(api))
    await api.delete(f"{POLICIES}/mutatingadmissionpolicybindings/{PROBE}")
    await api.delete(f"{POLICIES}/mutatingadmissionpolicies/{PROBE}")


async def _probe_is_mutated(api: Api) -> bool:
    probe = {"metadata": {"name": PROBE}}
    try:
        made = await api.create("/api/v1/namespaces/default/configmaps", probe, dryRun="All")
    except ApiError:
        return False
    return bool(made.get("data"))


def _policy() -> Object:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    change = 'Object{data: {"mutated": "yes"}}'
    return {
        "metadata": {"name": PROBE},
        "spec": {
            "matchConstraints": {"resourceRules": [rule | {"resources": ["configmaps"]}]},
            "matchConditions": [
                {"name": "probe", "expression": f"object.metadata.name == '{PROBE}'"}
            ],
            "reinvocationPolicy": "Never",
            "mutations": [
                {
                    "patchType": "ApplyConfiguration",
                    "applyConfiguration": {"expression": change},
                }
            ],
        },
    }


def _binding() -> Object:
    return {"metadata": {"name": PROBE}, "spec": {"policyName": PROBE}}
