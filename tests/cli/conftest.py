"""The commands meet a small API server, on a loop whose time is real."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import structlog

from support.api_server import ApiServer

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
def logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a command does to the logs ends with its test."""
    root, before = logging.getLogger(), structlog.get_config()
    level = root.level
    monkeypatch.setattr(root, "handlers", [])
    yield
    root.setLevel(level)
    structlog.configure(**before)


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
