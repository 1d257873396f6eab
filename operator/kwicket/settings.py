"""Settings: what may be set for each command, checked, in one value."""

from pathlib import Path

from msgspec import Struct

from kwicket_storage.clusters import Cluster
from kwicket_storage.history import DAYS
from kwicket_storage.servers import Url

NAMESPACE = "kwicket-system"
SHORTEST_LAPSE = 120.0
"""Seconds; less would take a failover of the database for the death of a cluster."""
HISTORY = (1.0, 36_500.0)
"""Days: what lapsed is asked for until a day later, and a hundred years are for ever."""


class Shared(Struct, frozen=True):
    """A ledger in PostgreSQL that clusters share. Raises ValueError for a cluster of no name."""

    url: Url
    """With the password: it is never logged."""
    cluster: str
    """By which the others know this one."""
    listen: Url | None = None
    """The URL of a direct connection, where `url` leads to a pooler."""
    lapse: float | None = None
    """After how many seconds of silence a cluster's slots are free; None: by hand alone."""

    history: float = DAYS
    """For how many days a grant is kept after its end; of several clusters the least counts."""

    def __post_init__(self) -> None:
        Cluster(self.cluster)
        least, most = HISTORY
        if not least <= self.history <= most:
            raise ValueError(f"history days: {self.history} is not from {least:g} to {most:g}")
        if self.lapse is not None and self.lapse < SHORTEST_LAPSE:
            raise ValueError(f"cluster lapse: {self.lapse} is less than {SHORTEST_LAPSE} seconds")

    def __repr__(self) -> str:
        return f"Shared(cluster={self.cluster!r})"


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
    shared: Shared | None = None
    """None: a Ledger object for each pool, and no limit over several clusters."""
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
