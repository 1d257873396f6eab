"""Load: many labelled Jobs at once, and the Pools and Limits that they wait in."""

import asyncio
from collections.abc import Iterable
from typing import Any

from e2e.plane.api import Api, Object

GROUP = "/apis/kwicket.dev/v1alpha1"
IN_FLIGHT = 16


def jobs_path(namespace: str) -> str:
    """The collection of a namespace's Jobs."""
    return f"/apis/batch/v1/namespaces/{namespace}/jobs"


def labelled_job(name: str, tenant: str, command: list[str], **labels: str) -> Object:
    """A Job of one container; `labels` are keys under kwicket.dev/, such as pool or lane."""
    keys = {"tenant": tenant} | labels
    container = {"name": "main", "image": "busybox", "command": command}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {f"kwicket.dev/{k}": v for k, v in keys.items()}},
        "spec": {
            "backoffLimit": 0,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }


async def create_jobs(api: Api, namespace: str, jobs: Iterable[Object]) -> None:
    """Creates the Jobs in their order, some at a time."""
    gate = asyncio.Semaphore(IN_FLIGHT)

    async def create(job: Object) -> None:
        async with gate:
            await api.create(jobs_path(namespace), job)

    await asyncio.gather(*(create(job) for job in jobs))


async def make_pool(api: Api, name: str, limit: int | None = None, **spec: Any) -> None:
    """A Pool, and a Limit of the same name for its concurrent Jobs unless it is None."""
    await api.create(f"{GROUP}/pools", declared("Pool", name, spec))
    if limit is not None:
        bound = {"pool": name, "concurrency": {"jobs": limit}}
        await api.create(f"{GROUP}/limits", declared("Limit", name, bound))


async def limit(api: Api, pool: str, jobs: int) -> None:
    """Sets how many Jobs of a Pool run at once."""
    await api.patch(f"{GROUP}/limits/{pool}", {"spec": {"concurrency": {"jobs": jobs}}})


async def pause(api: Api, pool: str, paused: bool) -> None:
    """Sets whether a Pool grants."""
    await api.patch(f"{GROUP}/pools/{pool}", {"spec": {"paused": paused}})


async def drop_pool(api: Api, name: str, limit: bool = True) -> None:
    """Removes a Pool, its Limit and its Ledger."""
    if limit:
        await api.delete(f"{GROUP}/limits/{name}")
    await api.delete(f"{GROUP}/pools/{name}")
    await api.delete(f"{GROUP}/ledgers/{name}")


def declared(kind: str, name: str, spec: Object) -> Object:
    """A Pool, Lane or Limit."""
    return {
        "apiVersion": "kwicket.dev/v1alpha1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }
