"""Whoever comes by `sslmode=verify-full` talks to the server that was meant, or to nobody."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kwicket.core.state import State
from kwicket.ports.errors import UnavailableError
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections
from kwicket_storage.listener import Listener
from kwicket_storage.postgres import PostgresLedger
from kwicket_storage.servers import Servers
from support.backlog_contract import opened_page
from support.ears import Heard, said_by
from support.tls import ADDRESS, NAME, Secured

WAY_OUT = "sslrootcert must name the authority that signed the server's certificate"
ENCRYPTED = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
PLAIN = """
    SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
    WHERE client_addr IS NOT NULL AND NOT ssl
"""
SECRET = "s3cret"  # noqa: S105 - of a test


@pytest.fixture
async def connections(tls: Secured) -> AsyncIterator[Connections]:
    made = Connections(tls.url())
    yield made
    await made.close()


@pytest.fixture(params=["another authority", "another name"])
def wrong(request: pytest.FixtureRequest, tls: Secured) -> str:
    """A URL by which a client must not take the server for the one that it looks for."""
    if request.param == "another name":
        return tls.url(host=ADDRESS)
    return tls.url(trusts=tls.another)


async def test_a_ledger_is_kept_by_a_server_that_proves_who_it_is(
    connections: Connections, pool: str
) -> None:
    ledger = PostgresLedger(connections, Cluster("east"))
    assert await ledger.open(pool, State(1)) == await ledger.read(pool)
    assert await connections.row(ENCRYPTED) == (True,)


async def test_what_others_write_is_heard_from_a_server_that_proves_who_it_is(
    tls: Secured, connections: Connections, pool: str
) -> None:
    heard = Heard()
    task = asyncio.create_task(Listener(Servers(tls.url()), heard).run())
    await heard.until(None)
    ledger = PostgresLedger(connections, Cluster("east"))
    await ledger.commit(await opened_page(ledger, pool), State(2))
    await heard.until(None, pool)
    assert await connections.row(PLAIN) == (0,)
    task.cancel()
    await asyncio.wait([task])


async def test_no_ledger_is_read_from_a_server_that_proves_it_by_another(wrong: str) -> None:
    connections = Connections(wrong)
    with pytest.raises(UnavailableError, match=WAY_OUT):
        await PostgresLedger(connections, Cluster("east")).read("pool")
    await connections.close()


async def test_nothing_is_heard_from_a_server_that_proves_it_by_another(
    wrong: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    heard = Heard()
    said = await said_by(Listener(Servers(wrong), heard), capsys, caplog)
    assert WAY_OUT in said
    assert heard.pools == []


@pytest.mark.parametrize("content", [None, b"", b"no certificate"])
async def test_a_file_of_authorities_that_has_none_is_said_to_be_the_cause(
    tls: Secured, tmp_path: Path, content: bytes | None
) -> None:
    """The host and the port may be right."""
    file = tmp_path / "authorities"
    if content is not None:
        file.write_bytes(content)
    connections = Connections(tls.url(trusts=file))
    with pytest.raises(UnavailableError, match=r"the file of .*sslrootcert"):
        await connections.row(ENCRYPTED)


async def test_without_authorities_nobody_is_believed(
    tls: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    url, _, _ = tls.url().partition("&sslrootcert")
    with pytest.raises(UnavailableError, match="verify-full needs an sslrootcert"):
        await Connections(url).row(ENCRYPTED)


async def test_a_server_without_tls_hears_of_no_password(tls: Secured) -> None:
    """As one may be that somebody has put in the way."""
    heard = bytearray()

    async def refuse(reader: StreamReader, writer: StreamWriter) -> None:
        heard.extend(await reader.readexactly(8))
        writer.write(b"N")
        heard.extend(await reader.read())
        writer.close()

    async with await asyncio.start_server(refuse, ADDRESS, 0) as server:
        port = server.sockets[0].getsockname()[1]
        url = tls.url().replace(f"{NAME}:{tls.port}", f"{NAME}:{port}")
        connections = Connections(url.replace("postgres@", f"postgres:{SECRET}@"))
        with pytest.raises(UnavailableError, match="rejected SSL upgrade"):
            await connections.row(ENCRYPTED)
    assert len(heard) == 8
