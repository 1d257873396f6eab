"""`python -m e2e.altered operator --kubeconfig F`: an operator in other surroundings than ours.

CLOCK, seconds separated by commas, shifts its wall clock: each shift holds for a second, then the
next. SECRETS is the folder of a service account's token and authority: with it the operator takes
itself to run in a pod, before the server of F.
"""

import asyncio
import os
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import yaml

from kwicket.app import operate
from kwicket.cli.logs import configure_logs
from kwicket.kube import access
from kwicket.kube.clock import SystemClock
from kwicket.settings import Settings

CLOCK, SECRETS = "CLOCK", "SECRETS"


def _shift(shifts: list[int]) -> None:
    def now(self: SystemClock) -> int:
        shift = shifts[int(time.monotonic()) % len(shifts)]
        return time.time_ns() // 1_000_000 + shift * 1000

    SystemClock.now = now  # type: ignore[method-assign] # that is what this is for


def _move_in(secrets: Path, kubeconfig: Path) -> None:
    server = urlsplit(yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"])
    os.environ["KUBERNETES_SERVICE_HOST"] = str(server.hostname)
    os.environ["KUBERNETES_SERVICE_PORT"] = str(server.port)
    access.SECRETS = secrets


def _main(kubeconfig: Path) -> None:
    configure_logs("info")
    secrets = os.environ.get(SECRETS)
    if secrets:
        _move_in(Path(secrets), kubeconfig)
    if CLOCK in os.environ:
        _shift([int(shift) for shift in os.environ[CLOCK].split(",")])
    asyncio.run(operate(Settings(kubeconfig=None if secrets else kubeconfig, election=False)))


if __name__ == "__main__":
    _main(Path(sys.argv[3]))
