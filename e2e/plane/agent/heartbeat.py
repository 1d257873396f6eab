"""A node's word that it lives: the Node object, its Ready condition and its Lease."""

import asyncio
import logging
from datetime import UTC, datetime

import aiohttp

from e2e.plane.agent.states import now
from e2e.plane.api import Api, ApiError, Object

log = logging.getLogger(__name__)

BEAT_SECONDS = 1.0
BEATS_PER_STATUS = 5
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
ROOM = {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "500"}


class Heartbeat:
    """Registers the node and renews its Lease, until cancelled."""

    def __init__(self, api: Api, node: str) -> None:
        self._api = api
        self._node = node

    async def beat(self) -> None:
        """Register, then beat once a second; what fails is tried again with the next beat."""
        beats = 0
        while True:
            try:
                if beats % BEATS_PER_STATUS == 0:
                    await self._report()
                await self._renew()
                beats += 1
            except (ApiError, aiohttp.ClientError) as error:
                log.warning("%s: %s", self._node, error)
                beats = 0
            await asyncio.sleep(BEAT_SECONDS)

    async def _report(self) -> None:
        path = f"/api/v1/nodes/{self._node}"
        try:
            await self._api.patch(f"{path}/status", {"status": _status()}, "strategic")
        except ApiError as error:
            if error.status != 404:
                raise
            await self._api.create("/api/v1/nodes", _object(self._node))
            await self._api.patch(f"{path}/status", {"status": _status()}, "strategic")

    async def _renew(self) -> None:
        moment = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {"holderIdentity": self._node, "leaseDurationSeconds": 4, "renewTime": moment}
        try:
            await self._api.patch(f"{LEASES}/{self._node}", {"spec": spec})
        except ApiError as error:
            if error.status != 404:
                raise
            await self._api.create(LEASES, {"metadata": {"name": self._node}, "spec": spec})


def _object(name: str) -> Object:
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    return {"metadata": {"name": name, "labels": labels}}


def _status() -> Object:
    return {
        "capacity": ROOM,
        "allocatable": ROOM,
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "nodeInfo": {"operatingSystem": "linux", "architecture": "amd64"},
        "conditions": [
            _condition("Ready", "True", "KubeletReady"),
            _condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
            _condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
            _condition("PIDPressure", "False", "KubeletHasSufficientPID"),
        ],
    }


def _condition(kind: str, status: str, reason: str) -> Object:
    return {"type": kind, "status": status, "reason": reason, "lastHeartbeatTime": now()}
