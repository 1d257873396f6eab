"""Objects that end-to-end tests create, as small as the API allows."""

import asyncio
import os
import select
from pathlib import Path
from typing import Any

from e2e.plane.api import Object

TOKEN = "kwicket.dev/token"  # noqa: S105 - an annotation's key, and no secret


def pod_spec(script: str, **spec: Any) -> Object:
    """A pod that runs `script` in sh, once; `spec` adds to or overrides its fields."""
    return {"restartPolicy": "Never", "containers": [container(script)]} | spec


def container(script: str, **fields: Any) -> Object:
    """A container that runs `script` in sh."""
    return {"name": "main", "image": "busybox", "command": ["sh", "-c", script]} | fields


def pod(name: str, script: str, **spec: Any) -> Object:
    """A pod by itself."""
    return {"metadata": {"name": name}, "spec": pod_spec(script, **spec)}


def start(token: str | None) -> Object:
    """The patch by which a Job starts, its token on the Job and on the pods to come.

    As a grant of the operator does, it has pods replaced late, which the operator would make good.
    """
    metadata = {"annotations": {TOKEN: token}}
    spec = {"suspend": False, "podReplacementPolicy": "Failed", "template": {"metadata": metadata}}
    return {"metadata": metadata, "spec": spec}


def token_of(job: Object | None) -> int:
    """The token that a Job carries; 0 if none."""
    annotations = ((job or {}).get("metadata") or {}).get("annotations") or {}
    return int(annotations.get(TOKEN, 0))


def job(name: str, script: str, **spec: Any) -> Object:
    """A Job of one pod that runs `script`, and is not tried again; `spec` as in the Job."""
    template = {"spec": pod_spec(script)}
    return {"metadata": {"name": name}, "spec": {"backoffLimit": 0, "template": template} | spec}


def sleeper(mark: Path) -> str:
    """A script that writes its pid to `mark` and sleeps for longer than any test runs."""
    return f"echo $$$$ >{mark}.new; mv {mark}.new {mark}; sleep 1000"


async def appearance(file: Path, seconds: float = 20) -> None:
    """Wait until a container has written `file`; TimeoutError after `seconds`."""
    async with asyncio.timeout(seconds):
        while not file.exists():  # noqa: ASYNC110, ASYNC240 - files tell nobody
            await asyncio.sleep(0.02)


def is_running(mark: Path) -> bool:
    """Whether the sleeper of `mark` still runs on this machine; a zombie does not."""
    try:
        stat = Path(f"/proc/{int(mark.read_text())}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wait_for_end(mark: Path, seconds: float = 10) -> None:
    """Block until the sleeper of `mark` has ended; AssertionError after `seconds`."""
    try:
        handle = os.pidfd_open(int(mark.read_text()))
    except ProcessLookupError:
        return
    readable, _, _ = select.select([handle], [], [], seconds)
    os.close(handle)
    assert readable, f"the process of {mark} still runs"


def running_for(folder: Path) -> set[int]:
    """Pids of all processes that name the folder in their command line or environment."""
    found = set()
    for process in Path("/proc").iterdir():
        if process.name.isdigit() and int(process.name) != os.getpid():
            try:
                told = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
            except OSError:
                continue
            if str(folder).encode() in told:
                found.add(int(process.name))
    return found
