"""Settings: what may be set for each command, checked, in one value."""

from pathlib import Path

from msgspec import Struct

NAMESPACE = "kwicket-system"


class Settings(Struct, frozen=True):
    """What may be set for the operator. Raises ValueError for an address that is no HOST:PORT."""

    kubeconfig: Path | None = None
    """None: the service account of the pod that we run in."""
    context: str | None = None
    namespace: str = NAMESPACE
    """Where the operator is installed: its Lease and what the policies should be are there."""
    election: bool = True
    """Whether to work only while leading; without it several replicas do each other's work."""
    probes: str | None = None
    """HOST:PORT of /healthz and /readyz; None listens nowhere."""
    metrics: str | None = None
    """HOST:PORT of /metrics; None listens nowhere."""
    identity: str = "kwicket"
    """Who writes events: the pod's or the machine's name."""

    def __post_init__(self) -> None:
        _check_address("probes", self.probes)
        _check_address("metrics", self.metrics)


class WebhookSettings(Struct, frozen=True):
    """What may be set for the webhook. Raises ValueError for an address that is no HOST:PORT."""

    certificate: Path
    """PEM: the server's certificate, and what leads from it to the authority's."""
    key: Path
    """PEM: its private key, without a password."""
    listen: str = "0.0.0.0:8443"
    kubeconfig: Path | None = None
    """None: the service account of the pod that we run in."""
    context: str | None = None
    probes: str | None = None
    metrics: str | None = None

    def __post_init__(self) -> None:
        _check_address("listen", self.listen)
        _check_address("probes", self.probes)
        _check_address("metrics", self.metrics)


def _check_address(name: str, address: str | None) -> None:
    if address is not None:
        _, colon, port = address.rpartition(":")
        if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise ValueError(f"{name}: {address!r} is not HOST:PORT, such as 0.0.0.0:8080")
