"""A reflector of Jobs at work, and all that it tells."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kwicket.core.jobs import JobSeen
from kwicket.kube.client import Client
from kwicket.kube.cluster import JOBS
from kwicket.kube.reflector import Reflector, Sink
from support.news import News


class Heard(News):
    """What a reflector told, and so what its listener believes."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []
        """`+name` and `-name`, in order."""
        self.jobs: dict[str, JobSeen] = {}
        self.lost: list[JobSeen] = []

    def seen(self, job: JobSeen) -> None:
        self.told.append(f"+{job.name}")
        self.jobs[job.uid] = job
        self.stir()

    def gone(self, job: JobSeen) -> None:
        self.told.append(f"-{job.name}")
        self.jobs.pop(job.uid, None)
        self.lost.append(job)
        self.stir()

    @property
    def names(self) -> list[str]:
        """The Jobs that exist, as far as was told."""
        return sorted(job.name for job in self.jobs.values())

    async def until_names(self, *names: str) -> None:
        """Waits until exactly these Jobs are believed in."""
        await self.until(lambda: self.names == sorted(names))


class Reflection(Heard):
    """What was heard from one reflector."""

    def __init__(self, client: Client, resource: Any) -> None:
        super().__init__()
        self.reflector: Reflector[Any, Any] = Reflector(client, resource)


@asynccontextmanager
async def reflecting(client: Client, resource: Any = JOBS) -> AsyncIterator[Reflection]:
    """Runs a reflector; it must not end by itself."""
    heard = Reflection(client, resource)
    running = asyncio.create_task(heard.reflector.run(Sink(heard.seen, heard.gone)))
    try:
        yield heard
    finally:
        ended = running.done()
        running.cancel()
        await asyncio.wait([running])
        if ended:
            running.result()
            raise AssertionError("the reflector has ended")


def job(name: str = "x-1", tenant: str | None = "alice", **metadata: Any) -> dict[str, Any]:
    """A suspended Job in namespace `team`, as the API server has it."""
    labels = {} if tenant is None else {"kwicket.dev/tenant": tenant}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "team", "labels": labels} | metadata,
        "spec": {"suspend": True, "parallelism": 1, "completions": 1},
        "status": {},
    }
