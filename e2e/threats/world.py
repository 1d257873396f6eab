"""A cluster with Kwicket in one of its states, and the manifests and words that fit it."""

import asyncio
import itertools
from pathlib import Path
from typing import Any

import pytest

from e2e import release
from e2e.plane.api import Api, ApiError, Object
from e2e.release import Kubeconfig
from e2e.serving import ChartWebhook
from e2e.tools import Tool

WORLDS = ["now-stopped", "now-running", "1.34-stopped", "1.34-running"]
WEBHOOK = "1.34-webhook"
"""The world whose webhook is up, and its operator too."""
IN_ALL = pytest.mark.parametrize("world", [*WORLDS, WEBHOOK], indirect=True)
"""For tests in which it makes a difference whether the webhook is up."""
RUNNING = pytest.mark.parametrize("world", ["now-running", "1.34-running"], indirect=True)
"""For tests of what the operator does."""
PAUSED = "t-paused"
"""The default Pool of a world whose operator runs: nothing is granted in it."""
_numbers = itertools.count()


class World:
    """One Kubernetes, the release in it, a namespace for Jobs; the operator runs or does not.

    Below 1.36 nothing mutates but in the world whose webhook is up.
    """

    def __init__(
        self, kubeconfig: Kubeconfig, helm: Tool, kubectl: Tool, home: str, log: Path | None
    ) -> None:
        self.kubeconfig = kubeconfig
        self.helm = helm
        self.kubectl = kubectl
        self.home = home
        self.log = log
        self.mutates = False
        """Whether somebody suspends what alice creates: the API server's policy, or the webhook."""
        self.webhook: ChartWebhook | None = None
        """If it is up."""

    @property
    def running(self) -> bool:
        """Whether the operator runs."""
        return self.log is not None

    def job(self, tenant: str | None = "alice", **spec: Any) -> Object:
        """A Job with a new name; labelled, it says `suspend: true` where nothing would for it."""
        held = {} if self.mutates or tenant is None else {"suspend": True}
        return self.manifest(tenant, **(held | spec))

    @staticmethod
    def manifest(tenant: str | None, **spec: Any) -> Object:
        """A Job with a new name, as it is written."""
        return release.job(f"job-{next(_numbers)}", tenant, **spec)

    async def submit(self, api: Api, wanted: Object | None = None, namespace: str = "") -> str:
        """Creates a Job; its path."""
        made = await api.create(jobs(namespace or self.home), wanted or self.job())
        return jobs(namespace or self.home, made["metadata"]["name"])


def jobs(namespace: str, name: str = "") -> str:
    """The path of a namespace's Jobs, or of one of them."""
    return f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}".rstrip("/")


def pods(namespace: str, name: str = "") -> str:
    """The path of a namespace's pods, or of one of them."""
    return f"/api/v1/namespaces/{namespace}/pods/{name}".rstrip("/")


def labels(**values: str | None) -> Object:
    """A patch of labels under kwicket.dev/."""
    named = {f"kwicket.dev/{key}": value for key, value in values.items()}
    return {"metadata": {"labels": named}}


def intent(item: Object) -> Object:
    """What is Kwicket's of an object, and its spec.

    A Job that is left without labels gets those of its pods: the API server's own default.
    """
    metadata = item["metadata"]
    ours = {
        f"{kind}: {key}": value
        for kind in ("labels", "annotations")
        for key, value in metadata.get(kind, {}).items()
        if "kwicket.dev/" in key
    }
    return ours | {"owners": metadata.get("ownerReferences"), "spec": item["spec"]}


async def refusal(api: Api, path: str, body: Object, **query: str) -> str:
    """What refuses this creation; empty if nothing does."""
    try:
        await api.create(path, body, **query)
    except ApiError as refused:
        return refused.message
    return ""


async def is_over(api: Api, where: str) -> None:
    """Waits for the Job's own word that it is Complete."""

    def complete(seen: Object | None) -> bool:
        conditions = (seen or {}).get("status", {}).get("conditions", [])
        return any(c["type"] == "Complete" and c["status"] == "True" for c in conditions)

    await api.until(where, complete)


async def is_at_rest(api: Api, where: str) -> None:
    """Waits until a Job that was suspended has no pod: only then its template opens."""

    def at_rest(seen: Object | None) -> bool:
        status = (seen or {}).get("status", {})
        conditions = {c["type"]: c["status"] for c in status.get("conditions", [])}
        quiet = not status.get("active") and not status.get("terminating")
        return conditions.get("Suspended") == "True" and quiet

    await api.until(where, at_rest)


async def its_pods(api: Api, where: str, least: int = 1) -> list[Object]:
    """Waits until the Job has so many pods; all of them."""
    job = await api.get(where)
    selector = f"batch.kubernetes.io/controller-uid={job['metadata']['uid']}"
    namespace = job["metadata"]["namespace"]
    found = await api.until_all(
        pods(namespace), lambda seen: len(seen) >= least, labelSelector=selector
    )
    return list(found.values())


async def refused_in_time(api: Api, path: str, wanted: Object, message: str) -> None:
    """A namespace's labels reach the policies by a cache, so the refusal may come a bit later."""
    said = ""
    async with asyncio.timeout(10):
        while message not in said:
            said = await refusal(api, path, wanted, dryRun="All")
            await asyncio.sleep(0.05)
