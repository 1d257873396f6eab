"""The processes of a real node: `python -m e2e.plane.node`, started by the plane.

It is the first process of a process namespace, with mounts that nobody else sees: when it ends,
however it ends, the kernel ends all that ran in there and takes the mounts away.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click

from e2e.plane.build import BIN
from e2e.plane.errors import PlaneError
from e2e.plane.layout import Layout
from e2e.plane.node import cgroups, configs, images

SOCKET_SECONDS = 30


@click.command()
@click.option("--dir", "root", type=click.Path(path_type=Path), required=True)
def main(root: Path) -> None:
    """Run containerd, kubelet and kube-proxy for the plane in DIR, until one of them ends."""
    layout = Layout(root)
    layout.record(images.INIT).write_text(Path("/proc/self/stat").read_text())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    _mount()
    cgroups.make(layout)
    os.environ["PATH"] = f"{BIN}:{os.environ['PATH']}"
    containerd = _start(layout, configs.containerd(layout))
    _await_socket(containerd)
    images.load(images.write_pause(layout))
    started = [containerd, *(_start(layout, c(layout)) for c in (configs.kubelet, configs.proxy))]
    sys.exit(_first_to_end(started))


def _mount() -> None:
    """Places of its own for what the programs write to fixed places.

    /var/lib is this machine's to read, and what is written to it stays inside.
    """
    _run("mount", "-t", "proc", "proc", "/proc")
    _run("mount", "-t", "tmpfs", "tmpfs", "/run")
    _run("mount", "-t", "tmpfs", "tmpfs", "/var/log")
    upper, work = Path("/run/upper"), Path("/run/work")
    for folder in (upper, work):
        folder.mkdir()
    options = f"lowerdir=/var/lib,upperdir={upper},workdir={work}"
    _run("mount", "-t", "overlay", "overlay", "-o", options, "/var/lib")


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PlaneError(f"{' '.join(words)}: {done.stderr.strip()}")


def _start(layout: Layout, argv: list[str]) -> subprocess.Popen[bytes]:
    name = Path(argv[0]).name
    with (layout.logs / f"{name}.log").open("wb") as log:
        return subprocess.Popen(argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL)


def _await_socket(containerd: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + SOCKET_SECONDS
    while not Path(configs.SOCKET).exists():
        if containerd.poll() is not None or time.monotonic() > deadline:
            raise PlaneError("containerd did not come up: see containerd.log.")
        time.sleep(0.02)


def _first_to_end(started: list[subprocess.Popen[bytes]]) -> str:
    """Wait for children, those that were left here by others too, until one of `started` ends."""
    names = {process.pid: str(process.args) for process in started}
    while True:
        pid, status = os.wait()
        if pid in names:
            return f"{names[pid]} ended with {os.waitstatus_to_exitcode(status)}"


if __name__ == "__main__":
    main()
