"""The shell speaks HTTP to a small API server, on a loop whose time is real."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import pytest
from kubernetes_asyncio.client import Configuration

from kwicket.kube.access import Access
from kwicket.kube.client import Client
from support.api_server import ApiServer


def pytest_asyncio_loop_factories() -> Mapping[str, Any]:
    return {"real": asyncio.SelectorEventLoop}


@pytest.fixture
async def api() -> AsyncIterator[ApiServer]:
    async with ApiServer() as server:
        yield server


@pytest.fixture
def configuration(api: ApiServer) -> Configuration:
    return Configuration(host=api.url)


@pytest.fixture
async def client(configuration: Configuration) -> AsyncIterator[Client]:
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=5)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        yield Client(Access(configuration), session)
