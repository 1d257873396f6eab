"""The chart's release, as the tests install it, and Jobs to try it with."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from e2e.plane import lifecycle
from e2e.plane.api import Api, ApiError, Object
from e2e.tools import Tool

CHART = Path(__file__).parents[1] / "charts" / "kwicket"
RELEASE = ("kwicket", str(CHART), "-n", "kwicket-system")
PROBES: list[dict[str, str]] = [
    {"kwicket.dev/pool": ""},  # refused by kwicket-guard
    {"kueue.x-k8s.io/queue-name": "main"},  # refused by kwicket-tenants, which is stored last
]
POLICIES = "/apis/admissionregistration.k8s.io/v1"
KINDS = ("pools", "lanes", "limits", "ledgers")
NOTHING_RUNS = ("operator.replicas=0", "webhook.enabled=false")
"""The values for a plane, whose containers reach no API server; operators run beside it."""
DEFAULT_JOBS = "/apis/batch/v1/namespaces/default/jobs"

type Kubeconfig = Callable[[str], Path]


def is_installed(helm: Tool) -> bool:
    """Whether the release is there already, from whatever hand."""
    return helm("status", *RELEASE[:1], *RELEASE[2:], check=False).returncode == 0


def install(helm: Tool, kubeconfig: Kubeconfig, *values: str, chart: Path = CHART) -> None:
    """Install a chart; return when its kinds and policies are in force.

    Without `values` it is installed with NOTHING_RUNS.
    """
    name, _, *place = RELEASE
    sets = ("--set", ",".join(values or NOTHING_RUNS))
    helm("install", name, str(chart), *place, "--create-namespace", *sets)
    await_force(kubeconfig)


def await_force(kubeconfig: Kubeconfig, webhook: bool = False) -> None:
    """Return when the kinds and policies of an installed release are in force, and the webhook if
    it mutates.
    """
    lifecycle.run(_until_served(kubeconfig("admin")))
    lifecycle.run(until_policies_act(kubeconfig("alice"), True, webhook))


def uninstall(helm: Tool, kubeconfig: Kubeconfig) -> None:
    """Take the release away; return when its policies act no more.

    The definitions and the namespace stay, as Helm leaves them.
    """
    helm("uninstall", *RELEASE[:1], *RELEASE[2:])
    lifecycle.run(until_policies_act(kubeconfig("alice"), False))


@contextmanager
def installed(helm: Tool, kubeconfig: Kubeconfig) -> Iterator[None]:
    """The release, for the length of the context; one that was there before is used, and stays."""
    if is_installed(helm):
        yield
        return
    install(helm, kubeconfig)
    yield
    uninstall(helm, kubeconfig)


def job(name: str, tenant: str | None = "alice", **spec: Any) -> Object:
    """A Job of one container that succeeds at once, labelled unless `tenant` is None."""
    container = {"name": "main", "image": "busybox", "command": ["true"]}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {"kwicket.dev/tenant": tenant} if tenant else {}},
        "spec": {"template": template} | spec,
    }


async def _until_served(admin: Path) -> None:
    """The API server takes a moment to serve a kind whose definition is new."""
    async with Api.open(admin) as api, asyncio.timeout(20):
        for plural in KINDS:
            while not await _is_served(api, plural):  # noqa: ASYNC110 - nothing tells when
                await asyncio.sleep(0.1)


async def _is_served(api: Api, plural: str) -> bool:
    try:
        await api.list(f"/apis/kwicket.dev/v1alpha1/{plural}", limit="1")
    except ApiError as error:
        if error.status not in (404, 429, 503):
            raise
        return False
    return True


async def until_policies_act(tenant: Path, wanted: bool, webhook: bool = False) -> None:
    """Policies begin and cease to act a moment after they are stored or gone: try until they do."""
    async with Api.open(tenant) as api, asyncio.timeout(20):
        held = "suspended" if webhook or await mutates(api) else "refused"
        for label, acted in [({}, held), *((label, "refused") for label in PROBES)]:
            fate = acted if wanted else "free"
            while await _fate(api, label) != fate:  # noqa: ASYNC110 - nothing tells when
                await asyncio.sleep(0.1)


async def mutates(api: Api) -> bool:
    """Whether the API server has mutating policies, as it does from Kubernetes 1.36 on."""
    served = (await api.get(POLICIES))["resources"]
    return any(resource["name"] == "mutatingadmissionpolicies" for resource in served)


async def _fate(api: Api, label: dict[str, str]) -> str:
    """What would become of a Job with the label; it is not stored."""
    probe = job("probe")
    probe["metadata"]["labels"] |= label
    try:
        made = await api.create(DEFAULT_JOBS, probe, dryRun="All")
    except ApiError:
        return "refused"
    return "suspended" if made["spec"]["suspend"] else "free"
