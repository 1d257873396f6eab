"""How fast a plane drains Jobs of `true`: `python -m e2e.plane.bench`, beside nothing else."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import click

from e2e.plane.api import Api, Object
from e2e.plane.plane import Plane

JOBS = "/apis/batch/v1/namespaces/default/jobs"
PODS = "/api/v1/namespaces/default/pods"


def job(name: str) -> Object:
    """A suspended Job whose pod ends at once."""
    container = {"name": "main", "image": "none", "command": ["true"]}
    pod = {"restartPolicy": "Never", "containers": [container]}
    return {"metadata": {"name": name}, "spec": {"suspend": True, "template": {"spec": pod}}}


async def drain(api: Api, count: int, slots: int) -> float:
    """Jobs a second: `slots` in flight, the next released when a pod has Succeeded."""
    gate = asyncio.Semaphore(16)

    async def create(name: str) -> None:
        async with gate:
            await api.create(JOBS, job(name))

    names = [f"true-{number}" for number in range(count)]
    await asyncio.gather(*(create(name) for name in names))
    await asyncio.sleep(2)
    began = time.monotonic()
    await _release(api, names, slots)
    return count / (time.monotonic() - began)


async def _release(api: Api, waiting: list[str], slots: int) -> None:
    """Release Jobs as their forerunners' pods succeed; return when every one has succeeded."""
    left = set(waiting)
    async with asyncio.TaskGroup() as group:

        def release() -> None:
            if waiting:
                path = f"{JOBS}/{waiting.pop()}"
                group.create_task(api.patch(path, {"spec": {"suspend": False}}))

        for _ in range(slots):
            release()
        async with aclosing(_seen(api)) as pods:
            async for pod in pods:
                owner = pod["metadata"].get("labels", {}).get("job-name")
                if pod.get("status", {}).get("phase") == "Succeeded" and owner in left:
                    left.remove(owner)
                    release()
                if not left:
                    return


async def _seen(api: Api) -> AsyncGenerator[Object]:
    """Pods as listed and as they change; the server ends a watch that it finds too slow."""
    while True:
        items, version = await api.list(PODS)
        for item in items:
            yield item
        async with aclosing(api.watch(PODS, version)) as events:
            async for event in events:
                yield event.object


async def _measure(kubeconfig: Path, count: int, slots: int) -> float:
    async with Api.open(kubeconfig) as api:
        speed = await drain(api, count, slots)
        await api.delete(JOBS)
        return speed


@click.command()
@click.option("--dir", "folder", type=click.Path(path_type=Path), default=Path(".plane"))
@click.option("--jobs", default=600, show_default=True)
@click.option("--slots", default=32, show_default=True)
def main(folder: Path, jobs: int, slots: int) -> None:
    """Drain JOBS Jobs of `true` on the plane in DIR and print how many a second."""
    admin = Plane(folder).kubeconfig("admin")
    click.echo(f"{asyncio.run(_measure(admin, jobs, slots)):.1f} Jobs/s with {slots} in flight")


if __name__ == "__main__":
    main()
