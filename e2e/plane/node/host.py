"""What a machine needs to be a real node."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from e2e.plane.errors import MissingError

PROGRAMS = {
    "ip": "iproute2",
    "iptables": "iptables",
    "mount": "mount",
    "nsenter": "util-linux",
    "runc": "runc",
    "unshare": "util-linux",
}
"""Each program that is used as it is found on PATH, and the Debian package that has it."""

OWN = ("/run", "/var/lib", "/var/log")
"""What `__main__` mounts for the node alone."""


def lacking() -> str | None:
    """The sentence that says what this machine lacks, and the way out; None if nothing."""
    if not sys.platform.startswith("linux"):
        return "A real node runs on Linux only: use make kind, or a cluster of yours by KUBECONFIG."
    if os.geteuid() != 0:
        return "A real node needs root, for namespaces, mounts and cgroups: run it with sudo."
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if absent:
        packages = " ".join(sorted({PROGRAMS[name] for name in absent}))
        return f"A real node needs {', '.join(absent)} on PATH: apt-get install {packages}."
    if said := _refused():
        return f"A real node needs namespaces, and this machine refuses them ({said}): use another."
    return None


def require(folder: Path) -> None:
    """Raise MissingError unless this machine can be the real node of a plane in `folder`."""
    if said := lacking():
        raise MissingError(said)
    if hidden := [place for place in OWN if folder.resolve().is_relative_to(place)]:
        words = f"{folder} is below {hidden[0]}, where a real node sees files of its own"
        raise MissingError(f"{words}: choose another folder by --dir.")


def _refused() -> str:
    probe = ["unshare", "--mount", "--net", "--pid", "--fork", "true"]
    return subprocess.run(probe, capture_output=True, text=True, check=False).stderr.strip()
