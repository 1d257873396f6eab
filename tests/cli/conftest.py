"""The commands meet a small API server, on a loop whose time is real."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kwicket.core.state import State
from kwicket_storage.encoding import encoded
from support.api_server import LEDGERS, NAMESPACES, ApiServer
from support.builders import fairness
from support.databases import Database

KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: c, cluster: {server: "SERVER"}}]
users: [{name: u, user: {token: secret}}]
contexts: [{name: here, context: {cluster: c, user: u}}]
"""


def pytest_asyncio_loop_factories() -> Mapping[str, Any]:
    return {"real": asyncio.SelectorEventLoop}


@pytest.fixture(autouse=True)
def logs(own_logs: None) -> None:
    """All tests here run commands."""


@pytest.fixture
async def api() -> AsyncIterator[ApiServer]:
    async with ApiServer() as server:
        yield server


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    """Of a cluster that nobody serves."""
    file = tmp_path / "kubeconfig"
    file.write_text(KUBECONFIG.replace("SERVER", "http://127.0.0.1:1"))
    return file


@pytest.fixture
async def empty(postgres: str) -> Database:
    """A database of its own, without a schema."""
    return await Database.made(postgres)


@pytest.fixture
def url(empty: Database, tmp_path: Path) -> Path:
    """A file with its URL."""
    file = tmp_path / "url"
    file.write_text(f"{empty.url}\n")
    return file


@pytest.fixture
def known(api: ApiServer, kubeconfig: Path) -> Path:
    """The kubeconfig of the API server, which has a pool `gpus` at token 7."""
    kubeconfig.write_text(kubeconfig.read_text().replace("http://127.0.0.1:1", api.url))
    api.put(NAMESPACES, {"metadata": {"name": "kube-system", "uid": "of east"}})
    api.put(LEDGERS, {"metadata": {"name": "gpus"}, "spec": encoded(State(7, fairness(3)))})
    return kubeconfig
