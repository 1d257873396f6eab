"""An observer of a namespace: what its Jobs and pods did, read from the API and nothing else."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager

import aiohttp

from e2e.load import jobs_path
from e2e.objects import TOKEN
from e2e.plane.api import Api, ApiError, Object

GRANTED_AT = "kwicket.dev/granted-at"


class Observer:
    """Moments are seconds of the monotonic clock at which this process saw them."""

    def __init__(self) -> None:
        self.started: dict[str, float] = {}
        """When each Job was first seen unsuspended."""
        self.tokens: dict[str, list[int]] = {}
        """The tokens that each Job carried, in the order in which they were seen."""
        self.grants: set[tuple[str, int]] = set()
        """When each grant was decided, by the Job's own annotation, with its token."""
        self.succeeded: dict[str, float] = {}
        """When a pod of each Job was first seen Succeeded."""
        self.complete: dict[str, float] = {}
        """When each Job was first seen Complete."""
        self.pods: dict[str, set[str]] = {}
        """The names of all pods that each Job ever had."""
        self.peak_live = 0
        """The most pods that were neither Succeeded nor Failed at one moment."""
        self.peak_running = 0
        """The most pods in phase Running at one moment."""
        self._phases: dict[str, str] = {}
        self._changed = asyncio.Event()

    @classmethod
    @asynccontextmanager
    async def watching(cls, api: Api, namespace: str) -> AsyncIterator["Observer"]:
        """Observes a namespace for the length of the context."""
        observer = cls()
        pods_path = f"/api/v1/namespaces/{namespace}/pods"
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(observer._watch(api, jobs_path(namespace), observer._job)),
                group.create_task(observer._watch(api, pods_path, observer._pod)),
            ]
            yield observer
            for task in tasks:
                task.cancel()

    async def until(self, so: Callable[["Observer"], bool], seconds: float = 60) -> None:
        """Waits until it is so. Raises TimeoutError."""
        async with asyncio.timeout(seconds):
            while not so(self):
                self._changed.clear()
                await self._changed.wait()

    def order(self) -> list[str]:
        """The Jobs by the first token that each carried."""
        return sorted(self.tokens, key=lambda job: self.tokens[job][0])

    async def _watch(self, api: Api, path: str, take: Callable[[str, Object, float], None]) -> None:
        """Over restarts of the API server, too: then what is listed is what there is."""
        known: dict[str, Object] = {}
        while True:
            try:
                await self._follow(api, path, take, known)
            except (ApiError, aiohttp.ClientError):
                await asyncio.sleep(0.1)  # it is down, and nothing tells when it is up again

    async def _follow(
        self,
        api: Api,
        path: str,
        take: Callable[[str, Object, float], None],
        known: dict[str, Object],
    ) -> None:
        items, version = await api.list(path)
        listed = {item["metadata"]["uid"]: item for item in items}
        for uid in known.keys() - listed.keys():
            take("DELETED", known.pop(uid), time.monotonic())
        known |= listed
        for item in items:
            take("ADDED", item, time.monotonic())
        self._changed.set()
        while True:
            async with aclosing(api.watch(path, version)) as events:
                async for event in events:
                    version = event.object["metadata"]["resourceVersion"]
                    if event.type != "BOOKMARK":
                        known[event.object["metadata"]["uid"]] = event.object
                        take(event.type, event.object, time.monotonic())
                        self._changed.set()

    def _job(self, _: str, job: Object, now: float) -> None:
        name = job["metadata"]["name"]
        if not job["spec"].get("suspend"):
            self.started.setdefault(name, now)
        annotations = job["metadata"].get("annotations") or {}
        token = annotations.get(TOKEN)
        tokens = self.tokens.setdefault(name, []) if token else []
        if token and int(token) not in tokens:
            tokens.append(int(token))
            self.grants.add((annotations.get(GRANTED_AT, ""), int(token)))
        conditions = job["status"].get("conditions", [])
        if any(c["type"] == "Complete" and c["status"] == "True" for c in conditions):
            self.complete.setdefault(name, now)

    def _pod(self, kind: str, pod: Object, now: float) -> None:
        name = pod["metadata"]["name"]
        job = pod["metadata"]["labels"].get("batch.kubernetes.io/job-name", "")
        self.pods.setdefault(job, set()).add(name)
        phase = pod["status"].get("phase", "Pending")
        if kind == "DELETED":
            self._phases.pop(name, None)
        else:
            self._phases[name] = phase
        if phase == "Succeeded":
            self.succeeded.setdefault(job, now)
        phases = list(self._phases.values())
        self.peak_live = max(self.peak_live, phases.count("Pending") + phases.count("Running"))
        self.peak_running = max(self.peak_running, phases.count("Running"))
