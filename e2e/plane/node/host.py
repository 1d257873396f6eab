"""What a machine needs to be a real node."""

import os
import shutil
import sys

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


def lacking() -> str | None:
    """The sentence that says what this machine lacks, and the way out; None if nothing."""
    if not sys.platform.startswith("linux"):
        return "A real node runs on Linux only: use make kind, or a cluster of yours by KUBECONFIG."
    if os.geteuid() != 0:
        return "A real node needs root, for namespaces, mounts and cgroups: run it with sudo."
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if absent:
        packages = " ".join(sorted({PROGRAMS[name] for name in absent}))
        words = f"{', '.join(absent)} on PATH: apt-get install {packages}, or what installs them"
        return f"A real node needs {words} here."
    return None


def require() -> None:
    """Raise MissingError unless this machine can be a real node."""
    if said := lacking():
        raise MissingError(said)
