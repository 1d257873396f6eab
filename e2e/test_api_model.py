"""The real API server keeps the contract of the fault bench's model."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from kwicket.app import api_session
from kwicket.kube.access import load_access
from kwicket.kube.client import Client
from support.api_contract import ApiContract


class TestTheApiServer(ApiContract):
    """As cluster-admin, in a namespace of each test's own."""

    @pytest.fixture
    async def client(self, kubeconfig: Callable[[str], Path]) -> AsyncIterator[Client]:
        access = await load_access(kubeconfig("admin"))
        async with api_session(access) as session:
            yield Client(access, session)
