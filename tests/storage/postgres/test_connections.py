"""What is said where no connection is made: what to do about it, and never a password."""

import logging
import socket
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from kwicket.ports.errors import UnavailableError
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections
from kwicket_storage.postgres import PostgresLedger
from kwicket_storage.servers import servers
from support.databases import Database
from support.servers import Server

SECRET = "s3cr3t"  # noqa: S105 - of a server that ends with the test
ONE = "SELECT 1 AS one"


@pytest.fixture
async def known(locked: Server) -> AsyncIterator[Any]:
    """The administrator's connection; there is a user with a password."""
    connection = await asyncpg.connect(locked.url)
    await connection.execute(f"CREATE ROLE known LOGIN PASSWORD '{SECRET}'")
    yield connection
    await connection.close()


async def said(url: str, query: str = ONE) -> str:
    """The error that a URL leads to, with all its causes."""
    connections = Connections(url)
    try:
        with pytest.raises(UnavailableError) as caught:
            await connections.rows(query)
    finally:
        await connections.close()
    error: BaseException | None = caught.value
    texts = []
    while error is not None:
        texts.append(str(error))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    assert SECRET not in " ".join(texts)
    return texts[0]


def url(server: Server, who: str, database: str = "postgres") -> str:
    return f"postgresql://{who}@/{database}?host={server.folder}"


async def test_who_is_not_let_in_is_told_what_to_look_at(
    locked: Server, known: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    right = Connections(url(locked, f"known:{SECRET}"))
    assert await right.row(ONE) == (1,)
    await right.close()
    assert "password" in await said(url(locked, f"known:{SECRET}x"))
    assert "pg_hba.conf" in await said(url(locked, f"nobody:{SECRET}"))
    assert "make the database" in await said(url(locked, "postgres", "missing"))
    assert "GRANT kwicket_operator" in await said(
        url(locked, f"known:{SECRET}"), "CREATE ROLE more"
    )
    await known.execute("ALTER ROLE known CONNECTION LIMIT 0")
    assert "max_connections" in await said(url(locked, f"known:{SECRET}"))
    assert SECRET not in caplog.text


async def test_a_database_without_a_schema_is_told_the_command(empty: Database) -> None:
    connections = Connections(empty.url)
    with pytest.raises(UnavailableError, match="kwicket ledger migrate"):
        await PostgresLedger(connections, Cluster("east")).read("pool")
    await connections.close()


async def test_a_server_that_is_not_there_is_told_by_its_address() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        text = await said(f"postgresql://known:{SECRET}@127.0.0.1:{port}/postgres")
    assert f"{port}" in text
    assert "check host and port" in text
    assert "check the host" in await said(f"postgresql://known:{SECRET}@host.invalid/postgres")
    assert "check host and port" in await said("postgresql://known@/postgres?host=/nowhere")


@pytest.mark.parametrize(
    "wrong",
    [
        f"postgresql://known:{SECRET}/more@host/postgres",
        f"postgresql://known:12#{SECRET}@host/postgres",
        f"postgresql://known:{SECRET}?@host/postgres",
        f"postgresql://known:a@host:{SECRET}/postgres",
        f"postgresql://known:[{SECRET}@host/postgres",
        f"postgresql://known:{SECRET}@host:0/postgres",
        f"mysql://known:{SECRET}@host/postgres",
        f"host=db password={SECRET}",
        "",
    ],
)
def test_a_url_that_is_none_is_refused_without_being_repeated(wrong: str) -> None:
    with pytest.raises(ValueError, match="can't be understood") as caught:
        Connections(wrong)
    assert SECRET not in f"{caught.value}{caught.value.__cause__}"
    assert caught.value.__suppress_context__


async def test_what_only_the_driver_refuses_is_not_repeated_either() -> None:
    text = await said(f"postgresql://known@/postgres?host=/nowhere&port={SECRET}")
    assert "can't be understood" in text


def test_each_server_that_a_url_names_has_a_url() -> None:
    assert servers("postgresql://u:p%40@a:1,[::1]:2,c/db?sslmode=verify-full") == (
        "postgresql://u:p%40@a:1/db?sslmode=verify-full",
        "postgresql://u:p%40@[::1]:2/db?sslmode=verify-full",
        "postgresql://u:p%40@c/db?sslmode=verify-full",
    )
    assert servers("postgresql://u@/db?host=/run") == ("postgresql://u@/db?host=/run",)
