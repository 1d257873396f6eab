"""The addresses of a real node's network, which is a namespace of its own for each plane."""

import subprocess
from pathlib import Path

from e2e.plane.errors import PlaneError

LOOPBACK = "127.0.0.1"
BRIDGE = "cni0"
ADDRESS = "10.88.0.1"
PODS = "10.88.0.0/16"
SERVICES = "10.0.0.0/24"
_FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")


def make() -> None:
    """Make the bridge that the pods' interfaces are put on; its address is the node's.

    A Service's address needs a route, though no packet takes it: kube-proxy turns them elsewhere.
    Nothing else is reached from inside.

    Raises PlaneError with the words of `ip` where that fails.
    """
    for words in (
        ("link", "set", "lo", "up"),
        ("link", "add", BRIDGE, "type", "bridge"),
        ("address", "add", f"{ADDRESS}/{PODS.split('/')[1]}", "dev", BRIDGE),
        ("link", "set", BRIDGE, "up"),
        ("route", "add", SERVICES, "dev", BRIDGE),
    ):
        made = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise PlaneError(f"ip {' '.join(words)}: {made.stderr.strip()}")
    _FORWARDING.write_text("1")
