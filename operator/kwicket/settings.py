"""Settings: what may be set for the operator, checked, in one value."""

from pathlib import Path

from msgspec import Struct

NAMESPACE = "kwicket-system"


class Settings(Struct, frozen=True):
    """Raises ValueError for a probe address that is not HOST:PORT."""

    kubeconfig: Path | None = None
    """None: the service account of the pod that we run in."""
    context: str | None = None
    namespace: str = NAMESPACE
    """Where the operator is installed: its Lease and what the policies should be are there."""
    election: bool = True
    """Whether to work only while leading; without it several replicas do each other's work."""
    probes: str | None = None
    """HOST:PORT of /healthz and /readyz; None listens nowhere."""
    identity: str = "kwicket"
    """Who writes events: the pod's or the machine's name."""

    def __post_init__(self) -> None:
        if self.probes is not None:
            _, colon, port = self.probes.rpartition(":")
            if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
                raise ValueError(f"probes: {self.probes!r} is not HOST:PORT, such as 0.0.0.0:8080")
