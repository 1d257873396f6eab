"""A real PostgreSQL, on a loop whose time is real."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import asyncpg
import pytest

from kwicket_storage.connections import Connections
from support.databases import Database
from support.postgres import Folders
from support.programs import Programs
from support.servers import Server, served


def pytest_asyncio_loop_factories() -> Mapping[str, Any]:
    return {"real": asyncio.SelectorEventLoop}


@pytest.fixture
async def empty(postgres: str) -> Database:
    """A database of its own, without a schema."""
    return await Database.made(postgres)


@pytest.fixture(params=["direct", "pooled"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """By connections that lead to the server, and by such as may not: for those of who is asked."""
    if request.param == "pooled":
        monkeypatch.setattr(asyncpg.Connection, "get_server_pid", lambda _: 0)


@pytest.fixture
async def connections(operator_url: str) -> AsyncIterator[Connections]:
    """Those of an operator."""
    made = Connections(operator_url)
    yield made
    await made.close()


@pytest.fixture
async def administrator(database: Database) -> AsyncIterator[Any]:
    """A connection of a superuser to the database."""
    connection = await asyncpg.connect(database.url)
    yield connection
    await connection.close()


@pytest.fixture
def pool() -> str:
    return f"pool-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def locked(programs: Programs, folders: Folders) -> Iterator[Server]:
    """A server that asks everybody but its administrator for a password."""
    with served(programs, folders("locked"), {"max_connections": "10"}) as server:
        rules = server.data / "pg_hba.conf"
        rules.write_text("local all postgres trust\nlocal all all scram-sha-256\n")
        server.reload()
        yield server
