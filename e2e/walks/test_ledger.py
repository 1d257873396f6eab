"""The ledger in the cluster keeps the contract of every ledger, on the real API server."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from e2e import load
from e2e.plane.api import Api
from kwicket.app import api_session
from kwicket.kube.access import load_access
from kwicket.kube.client import Client
from kwicket_storage.kubernetes import KubernetesLedger
from support.contract import LedgerContract, Remove


class TestLedgerInTheCluster(LedgerContract):
    """As the operator's own account."""

    @pytest.fixture
    async def ledger(self, account: Path) -> AsyncIterator[KubernetesLedger]:
        access = await load_access(account)
        async with api_session(access) as session:
            yield KubernetesLedger(Client(access, session))

    @pytest.fixture
    async def remove(self, api: Api) -> Remove:
        async def remove(pool: str) -> None:
            await api.delete(f"{load.GROUP}/ledgers/{pool}")

        return remove

    @pytest.fixture(autouse=True)
    async def left_as_it_was(self, api: Api, pool: str) -> AsyncIterator[None]:
        """The API server keeps no page of a test's pool."""
        yield
        path = f"{load.GROUP}/ledgers"
        found, _ = await api.list(path, fieldSelector=f"metadata.name={pool}")
        if found:
            await api.delete(f"{path}/{pool}")
