"""A cluster with Kwicket in one of its states, and the manifests and words that fit it."""

import asyncio
import itertools
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from e2e import release
from e2e.metrics import Metrics
from e2e.plane.api import Api, ApiError, Object
from e2e.release import Kubeconfig
from e2e.serving import ChartWebhook
from e2e.tools import Tool

STATES = ("stopped", "running", "webhook")
"""Nothing of Kwicket runs; or the operator does; or the operator and the webhook do."""
WORLDS = [f"{version}-{state}" for version in ("now", "1.34") for state in STATES]
RUNNING = pytest.mark.parametrize("world", ["now-running", "1.34-running"], indirect=True)
"""For tests of what the operator does with what the webhook would refuse."""
OPERATED = pytest.mark.parametrize(
    "world", [world for world in WORLDS if not world.endswith("stopped")], indirect=True
)
"""For tests of what the operator does."""
STOPPED = pytest.mark.parametrize("world", ["now-stopped", "1.34-stopped"], indirect=True)
"""For tests of what holds without it."""
LIVE = pytest.mark.parametrize("world", ["now-webhook", "1.34-webhook"], indirect=True)
"""For tests of what the webhook does."""
PAUSED = "t-paused"
"""The default Pool of a world whose operator runs: nothing is granted in it."""
names = (f"job-{number}" for number in itertools.count())
"""Of Jobs, each once."""


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
        self.by_policy = False
        """Whether the API server's own policy suspends what alice creates."""
        self.webhook: ChartWebhook | None = None
        """If it is up."""
        self.metrics: Metrics | None = None
        """The operator's, if it runs."""

    @property
    def mutates(self) -> bool:
        """Whether somebody suspends what alice creates: the API server's policy, or the webhook."""
        return self.by_policy or (self.webhook is not None and self.webhook.answers)

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
        return release.job(next(names), tenant, **spec)

    def following(self) -> AbstractContextManager[None]:
        """Within it the release is upgraded, or enforcement switched on: a webhook follows."""
        return nullcontext() if self.webhook is None else self.webhook.following()

    def upgrade(self, value: str) -> None:
        """Changes one value of the release, given as JSON."""
        self.helm("upgrade", *release.RELEASE, "--reuse-values", "--set-json", value)

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


def in_pool(pool: str, wanted: Object) -> Object:
    """The Job, to wait in this Pool."""
    wanted["metadata"]["labels"]["kwicket.dev/pool"] = pool
    return wanted


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
