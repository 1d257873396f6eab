"""The contract of a ledger, on the ledger in memory and on the one in Kubernetes objects."""

import json

import pytest

from kwicket.kube.clock import SystemClock
from kwicket_storage.clusters import Cluster
from kwicket_storage.kubernetes import PATH, KubernetesLedger
from kwicket_storage.memory import MemoryLedger
from kwicket_storage.shared_memory import SharedMemory, SharedMemoryBacklog, SharedMemoryLedger
from support.backlog_contract import BacklogContract, Share, Shares
from support.contract import LedgerContract, Remove
from support.departure_contract import Away, DepartureContract
from support.later import MORE, Kept, LaterContract, Rewrite
from support.objects import FakeObjects
from support.restore_contract import RestoreContract
from support.silence_contract import Later, SilenceContract


class TestMemoryLedger(LedgerContract):
    """The reference for the others."""

    @pytest.fixture
    def ledger(self) -> MemoryLedger:
        return MemoryLedger()

    @pytest.fixture
    def remove(self, ledger: MemoryLedger) -> Remove:
        async def remove(pool: str) -> None:
            ledger.remove(pool)

        return remove


class TestKubernetesLedger(LedgerContract, LaterContract):
    """On a fake of the API server; e2e runs the same on the real one."""

    @pytest.fixture
    def objects(self) -> FakeObjects:
        return FakeObjects()

    @pytest.fixture
    def ledger(self, objects: FakeObjects) -> KubernetesLedger:
        return KubernetesLedger(objects)

    @pytest.fixture
    def remove(self, objects: FakeObjects) -> Remove:
        async def remove(pool: str) -> None:
            del objects.bodies[f"{PATH}/{pool}"]

        return remove

    @pytest.fixture
    def rewrite(self, objects: FakeObjects) -> Rewrite:
        async def rewrite(pool: str) -> None:
            path = f"{PATH}/{pool}"
            body = json.loads(objects.bodies[path])
            await objects.replace(path, body | {"spec": body["spec"] | MORE})

        return rewrite

    @pytest.fixture
    def kept(self, objects: FakeObjects) -> Kept:
        async def kept(pool: str) -> bool:
            body: dict[str, dict[str, object]] = json.loads(objects.bodies[f"{PATH}/{pool}"])
            return MORE.keys() <= body["spec"].keys()

        return kept


class TestSharedMemoryLedger(LedgerContract):
    """The model of the one in PostgreSQL."""

    @pytest.fixture
    def ledger(self) -> SharedMemoryLedger:
        return SharedMemoryLedger(SharedMemory(SystemClock()), Cluster("east"))

    @pytest.fixture
    def remove(self, ledger: SharedMemoryLedger) -> Remove:
        async def remove(pool: str) -> None:
            ledger.remove(pool)

        return remove


class TestSharedMemoryBacklog(BacklogContract, SilenceContract, DepartureContract, RestoreContract):
    """The model of the one in PostgreSQL."""

    @pytest.fixture
    def memory(self) -> SharedMemory:
        return SharedMemory(SystemClock())

    @pytest.fixture
    def later(self, memory: SharedMemory) -> Later:
        async def later(pool: str, seconds: float) -> None:
            for one in memory.shelf(pool).members.values():
                one.seen, one.alive = one.seen - seconds, one.alive - seconds
                one.since -= seconds

        return later

    @pytest.fixture
    def away(self, memory: SharedMemory) -> Away:
        async def away(pool: str, cluster: str) -> None:
            memory.shelf(pool).retire(cluster)

        return away

    @pytest.fixture
    def share(self, memory: SharedMemory) -> Shares:
        def share(name: str, identity: str = "") -> Share:
            cluster = Cluster(name)
            backlog = SharedMemoryBacklog(memory, cluster, identity or f"of {name}")
            return Share(SharedMemoryLedger(memory, cluster, backlog), backlog)

        return share
