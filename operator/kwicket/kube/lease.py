"""Leases as bodies: what one says, and how it looks taken or given back. Pure."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from kwicket.kube.objects import timestamp

NAME = "kwicket"
"""Of the Lease that the leader holds."""
MARK = "kwicket-unelected"
"""Of the Lease that operators without an election renew, all of them the same one."""
LEASES = "/apis/coordination.k8s.io/v1/leases"
"""The path of all namespaces' Leases."""


class Record(Struct, frozen=True):
    """What a Lease says; any change of it is a sign of life."""

    holder: str = ""
    """Empty if nobody holds it."""
    duration: float = 0
    """Seconds."""
    renewed: str = ""
    """The holder's own stamp, never compared with a clock."""
    transitions: int = 0
    """How often it went from one holder to another."""


def leases_of(namespace: str) -> str:
    """The path of a namespace's Leases."""
    return f"/apis/coordination.k8s.io/v1/namespaces/{quote(namespace, safe='')}/leases"


def record(lease: Mapping[str, Any]) -> Record:
    """Whoever wrote it: what can't be understood counts as not said."""
    spec = lease.get("spec") or {}
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    return Record(
        str(spec.get("holderIdentity") or ""),
        float(duration) if isinstance(duration, int) else 0,
        str(spec.get("renewTime") or ""),
        transitions if isinstance(transitions, int) else 0,
    )


def taken(
    lease: Mapping[str, Any],
    namespace: str,
    holder: str,
    seconds: float,
    now: int,
    *,
    name: str = NAME,
) -> dict[str, Any]:
    """The Lease as this holder's, at the resourceVersion that was read; {} if there is none yet.

    `now` in milliseconds since 1970.
    """
    before, spec, stamp = record(lease), dict(lease.get("spec") or {}), micro_time(now)
    ours = before.holder == holder
    spec |= {
        "holderIdentity": holder,
        "leaseDurationSeconds": round(seconds),
        "acquireTime": spec.get("acquireTime", stamp) if ours else stamp,
        "renewTime": stamp,
        "leaseTransitions": before.transitions + (not ours and before.renewed != ""),
    }
    return _body(lease.get("metadata") or {"name": name, "namespace": namespace}, spec)


def given_back(lease: Mapping[str, Any]) -> dict[str, Any]:
    """The Lease as nobody's."""
    spec = {field: said for field, said in lease["spec"].items() if field != "holderIdentity"}
    return _body(lease["metadata"], spec | {"leaseDurationSeconds": 1})


def micro_time(milliseconds: int) -> str:
    """The stamp of a moment since 1970, as Leases carry it."""
    return f"{timestamp(milliseconds)[:-1]}.{milliseconds % 1000:03}000Z"


def _body(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    kind = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    return kind | {"metadata": dict(metadata), "spec": dict(spec)}
