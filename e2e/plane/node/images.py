"""Images of a real node: put into its containerd from archives, without a registry."""

import subprocess
from pathlib import Path

from e2e.image import archive
from e2e.plane import processes
from e2e.plane.build import BIN
from e2e.plane.errors import PlaneError
from e2e.plane.layout import Layout
from e2e.plane.node.configs import PAUSE, SOCKET

INIT = "node-init"
"""The record of the first process inside, by whose eyes containerd's socket is seen."""


def write_pause(layout: Layout) -> Path:
    """The image of the container that holds a pod's namespaces."""
    target = layout.node / "pause.tar"
    archive.write(target, PAUSE, [{"/pause": BIN / "pause"}], {"Entrypoint": ["/pause"]})
    return target


def load(image: Path, root: str = "") -> None:
    """Put the image of the archive `image` into the containerd whose file system is at `root`.

    Raises PlaneError with containerd's words if it does not take it.
    """
    argv = [str(BIN / "ctr"), f"--address={root}{SOCKET}", "--namespace=k8s.io"]
    argv += ["images", "import", str(image)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PlaneError(f"{image} could not be loaded: {done.stderr.strip()}")


def outside(layout: Layout) -> str:
    """Where the file system of a running node is seen from outside."""
    return f"/proc/{processes.pid_of(layout.record(INIT))}/root"
