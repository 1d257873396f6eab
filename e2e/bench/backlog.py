"""`python -m e2e.bench.backlog`: an operator starts where 20,000 suspended Jobs wait.

The loop-lag probe of `e2e.probed` runs in the operator's own loop: a tick is due every 10 ms.
"""

import asyncio
import json
import os
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

import click

from e2e import load, release
from e2e.operators import Operator
from e2e.plane import Plane
from e2e.plane.api import Api, ApiError, Object
from e2e.tools import Tool
from kwicket.core.catalog import TENANT_LABEL

POOL = "backlog"
SLOTS = 20
TENANTS = 200
TOO_FAR_BEHIND = 504


@click.command()
@click.option("--jobs", default=20_000, show_default=True, help="Suspended Jobs that wait.")
@click.option("--seconds", default=60, show_default=True, help="How long it runs after that.")
def main(jobs: int, seconds: int) -> None:
    """How long an operator takes from its start to its first grant before so many waiting Jobs,
    what memory it takes, and how late its event loop is.
    """
    with tempfile.TemporaryDirectory(prefix="kwicket-backlog-") as folder:
        plane = Plane.up(Path(folder), say=lambda text: click.echo(text, err=True))
        try:
            figures = asyncio.run(_measure(plane, Path(folder), jobs, seconds))
        finally:
            plane.down()
    for name, value in figures.items():
        click.echo(f"{name:<50}{value:>12}")


async def _measure(plane: Plane, folder: Path, jobs: int, seconds: int) -> dict[str, Any]:
    helm = Tool(plane.bin("helm"), plane.kubeconfig, folder / "helm")
    await asyncio.to_thread(release.install, helm, plane.kubeconfig)
    account = await asyncio.to_thread(plane.kubeconfig, "kwicket-system/kwicket")
    report = folder / "lag.json"
    os.environ["LAG_REPORT"] = str(report)
    async with Api.open(plane.kubeconfig("admin")) as api:
        await load.make_pool(api, POOL, SLOTS)
        await _fill(plane, api, jobs)
        begun = time.monotonic()
        operator = Operator(account, folder / "operator.log", module="e2e.probed")
        try:
            granted = await _first_grant(api) - begun
            memory, worked = _memory(operator, "VmRSS"), _processor_seconds(operator)
            await asyncio.sleep(seconds)
            highest = _memory(operator, "VmHWM")
        finally:
            told = time.monotonic()
            await asyncio.to_thread(operator.end, 60)
            ended = time.monotonic() - told
    ticks = json.loads(report.read_text())
    return {
        "Jobs": jobs,
        "start to first pod, s (at most 10)": round(granted, 2),
        "processor time of the operator by then, s": worked,
        "memory at the first pod, MB (at most 300)": memory,
        "highest memory, MB (at most 300)": highest,
        "SIGTERM to the end, s": round(ended, 2),
        **_lag("until the first pod", [late for due, late in ticks if due <= begun + granted]),
        **_lag("afterwards", [late for due, late in ticks if due > begun + granted]),
    }


async def _fill(plane: Plane, api: Api, jobs: int) -> None:
    """One Job is created, and the others are stored as that one is, under names of their own."""
    first = load.labelled_job("job-0", "tenant-0", ["sleep", "0.2"], pool=POOL)
    await load.create_jobs(api, "default", [first])
    path = f"{load.jobs_path('default')}/job-0"
    stored = await api.until(path, _is_suspended)
    assert stored is not None
    text = json.dumps(stored | {"apiVersion": "batch/v1", "kind": "Job"})
    values = {
        f"/registry/jobs/default/job-{number}": _copy(text, stored["metadata"]["uid"], number)
        for number in range(1, jobs)
    }
    await asyncio.to_thread(plane.put, values)
    await _taken_in(api)
    click.echo(f"{jobs} Jobs wait", err=True)


async def _taken_in(api: Api) -> None:
    """Waits until the API server's own cache, which lists are answered from, has all of them."""
    async with asyncio.timeout(300):
        while await _is_behind(api):  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(1)


async def _is_behind(api: Api) -> bool:
    try:
        await api.get(load.jobs_path("default"), limit="500", labelSelector=TENANT_LABEL)
    except ApiError as error:
        if error.status != TOO_FAR_BEHIND:
            raise
        return True
    return False


def _copy(text: str, uid: str, number: int) -> bytes:
    job = json.loads(text.replace(uid, str(uuid.uuid4())).replace("job-0", f"job-{number}"))
    job["metadata"]["labels"]["kwicket.dev/tenant"] = f"tenant-{number % TENANTS}"
    labels = job["spec"]["template"]["metadata"]["labels"]
    labels["kwicket.dev/tenant"] = f"tenant-{number % TENANTS}"
    del job["metadata"]["resourceVersion"]
    return json.dumps(job).encode()


def _is_suspended(job: Object | None) -> bool:
    conditions = (job or {}).get("status", {}).get("conditions", [])
    return any(c["type"] == "Suspended" and c["status"] == "True" for c in conditions)


async def _first_grant(api: Api) -> float:
    """When a pod was first seen, which the Job controller makes once a Job is started."""
    await api.until_all("/api/v1/namespaces/default/pods", bool, seconds=120)
    return time.monotonic()


def _memory(operator: Operator, field: str) -> int:
    """Megabytes."""
    lines = Path(f"/proc/{operator.pid}/status").read_text().splitlines()
    [kilobytes] = [line.split()[1] for line in lines if line.startswith(f"{field}:")]
    return int(kilobytes) * 1024 // 1_000_000


def _processor_seconds(operator: Operator) -> float:
    """What it has used so far; unlike all else it does not depend on what others do."""
    fields = Path(f"/proc/{operator.pid}/stat").read_text().rpartition(")")[2].split()
    return round((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), 2)


def _lag(when: str, late: list[float]) -> dict[str, Any]:
    """Of the ticks; those of a stall all count."""
    late.sort()
    in_time = sum(one < 0.05 for one in late)
    return {
        f"ticks less than 50 ms late {when}, %": round(100 * in_time / len(late), 2),
        f"latest tick {when}, ms": round(late[-1] * 1000),
    }


if __name__ == "__main__":
    main()
