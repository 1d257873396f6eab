"""The contract of a ledger, on the ledger in memory and on the one in Kubernetes objects."""

import pytest

from kwicket_storage.kubernetes import PATH, KubernetesLedger
from kwicket_storage.memory import MemoryLedger
from support.contract import LedgerContract, Remove
from support.objects import FakeObjects


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


class TestKubernetesLedger(LedgerContract):
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
