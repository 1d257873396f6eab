"""The model keeps the contract that the real API server is held to in e2e/test_api_model.py."""

import random
from contextvars import copy_context
from typing import Any

import pytest
from kubernetes_asyncio.client import Configuration

from faults.network import Link
from faults.options import START
from faults.server import Server
from faults.session import Session
from faults.store import Store
from kwicket.kube.access import Access
from kwicket.kube.client import Client
from support.api_contract import ApiContract


class TestTheModel(ApiContract):
    """Over a network in which nothing goes wrong."""

    @pytest.fixture
    async def client(self) -> Client:
        store = Store(START)
        link = Link(Server(store), "test", random.Random(1), copy_context())  # noqa: S311

        def tell(change: Any) -> None:
            for watch in list(link.watches):
                watch.hear(change)

        store.listeners.append(tell)
        return Client(Access(Configuration(host="")), Session(link))  # type: ignore[arg-type]

    @pytest.fixture
    def namespace(self) -> str:
        return "team-a"
