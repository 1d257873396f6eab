"""Rows 22 and 28 of the fault matrix: a connection lost in a commit, a server that is silent.

A caller learns that the outcome is unknown; what is read back is what the server has.
"""

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from kwicket.ports.backlog import News
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Conflict, Page
from kwicket_storage import connections, servers
from kwicket_storage.backlog import PostgresBacklog
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import MOST, Connections
from kwicket_storage.postgres import PostgresLedger
from support.addresses import PORT, SOCKET, Address
from support.backlog_contract import RULES, Share, joined, opened_page
from support.builders import intent, ticket
from support.databases import Database, until
from support.postgres import Folders
from support.wire import Wire, wired

EAST = Cluster("east")
ONE = "SELECT 1 AS one"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "ANSWER", 1.0)
    monkeypatch.setattr(servers, "CONNECT", 1.0)
    monkeypatch.setattr(connections, "FREE", 1.0)


@pytest.fixture
async def wire(database: Database, folders: Folders) -> AsyncIterator[tuple[str, Wire]]:
    async with wired(database.url, folders("wire")) as made:
        yield made


@pytest.fixture
async def distant(way: None, wire: tuple[str, Wire]) -> AsyncIterator[Connections]:
    """Connections by the wire."""
    made = Connections(wire[0])
    yield made
    await made.close()


async def test_22_what_was_committed_before_the_connection_was_lost_is_read_back(
    distant: Connections, wire: tuple[str, Wire], pool: str
) -> None:
    ledger = PostgresLedger(distant, EAST)
    page = await opened_page(ledger, pool)
    wire[1].after_commit = True
    after = replace(page.state, version=2, intents=(intent("a-1", token=2),))
    with pytest.raises(UnavailableError):
        await ledger.commit(page, after)
    wire[1].after_commit = False
    read = await ledger.read(pool)
    assert read is not None
    assert read.state == after
    assert await ledger.commit(page, after) == Conflict()
    assert wire[1].cuts == 1


async def test_22_what_was_not_committed_when_the_connection_was_lost_is_not_read_back(
    distant: Connections, wire: tuple[str, Wire], administrator: Any, pool: str
) -> None:
    ledger = PostgresLedger(distant, EAST)
    page = await opened_page(ledger, pool)
    wire[1].before_commit = True
    after = replace(page.state, version=2, intents=(intent("a-1", token=2),))
    with pytest.raises(UnavailableError):
        await ledger.commit(page, after)
    wire[1].before_commit = False
    assert await ledger.read(pool) == page
    assert await administrator.fetch("SELECT FROM kwicket.grants WHERE pool = $1", pool) == []
    assert isinstance(await ledger.commit(page, after), Page)


async def test_28_what_a_cluster_has_told_and_arrives_late_is_not_taken(
    distant: Connections, wire: tuple[str, Wire], administrator: Any, pool: str
) -> None:
    """It has told otherwise meanwhile, by another connection."""
    backlog = PostgresBacklog(distant, EAST, "of east")
    await joined(Share(PostgresLedger(distant, EAST), backlog), pool)
    served = await distant.row("SELECT pg_backend_pid() AS pid")
    assert served is not None
    wire[1].hold = True
    with pytest.raises(UnavailableError):
        await backlog.tell(pool, News(waiting=(ticket("a-1"),)), 2)
    wire[1].hold = False
    await backlog.join(pool, RULES)
    await backlog.tell_all(pool, News(), 2)
    wire[1].release()
    gone = "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)"
    await until(lambda: administrator.fetchval(gone, served["pid"]))
    assert await administrator.fetch("SELECT FROM kwicket.tickets WHERE pool = $1", pool) == []


async def test_a_commit_takes_one_round_trip_where_nobody_stands_between(
    wire: tuple[str, Wire], pool: str
) -> None:
    connections = Connections(wire[0])
    ledger = PostgresLedger(connections, EAST)
    page = await opened_page(ledger, pool)
    for version in (2, 3):
        before = wire[1].sent
        written = await ledger.commit(page, replace(page.state, version=version))
        assert isinstance(written, Page)
        page = written
    assert wire[1].sent == before + 1
    await connections.close()


async def test_28_a_server_that_is_silent_is_given_up(
    distant: Connections, wire: tuple[str, Wire]
) -> None:
    await distant.rows(ONE)
    wire[1].silent = True
    async with asyncio.timeout(10):
        for _ in range(2):
            with pytest.raises(UnavailableError):
                await distant.rows(ONE)
    wire[1].silent = False
    assert await distant.row(ONE) == (1,)


async def test_28_all_who_wait_for_a_silent_server_are_told_at_once(
    distant: Connections, wire: tuple[str, Wire]
) -> None:
    """More than there are connections, so that some wait for one."""
    await distant.rows(ONE)
    wire[1].silent = True
    async with asyncio.timeout(20):
        answers = await asyncio.gather(
            *(distant.rows(ONE) for _ in range(3 * MOST)), return_exceptions=True
        )
    assert {type(answer) for answer in answers} == {UnavailableError}


async def test_28_after_one_error_no_connection_of_before_is_used(
    distant: Connections, wire: tuple[str, Wire]
) -> None:
    """Else each of them fails once more, after its server was long back."""
    asked = "SELECT pg_backend_pid() AS pid, pg_sleep(0.05)"
    found = await asyncio.gather(*(distant.row(asked) for _ in range(5)))
    before = {row["pid"] for row in found if row}
    assert len(before) > 1
    wire[1].silent = True
    with pytest.raises(UnavailableError):
        await distant.rows(ONE)
    wire[1].silent = False
    after = await distant.row(asked)
    assert after is not None
    assert after["pid"] not in before


async def test_28_a_server_that_accepts_and_says_nothing_is_given_up_and_the_next_one_taken(
    database: Database, folders: Folders
) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(folders("silent") / SOCKET))
        silent.listen()
        first = Address(str(Path(silent.getsockname()).parent), PORT)
        both = f"{first.named},{Address.of(database.url).named}"
        user = urlsplit(database.url).netloc.rpartition("@")[0]
        made = Connections(f"postgresql://{user}@{both}/{database.name}")
        async with asyncio.timeout(10):
            assert await made.row(ONE) == (1,)
        await made.close()


@pytest.mark.parametrize("statement", ["SELECT pg_sleep(30)", "SELECT pg_sleep(0)"])
async def test_who_is_cancelled_leaves_no_transaction_behind(
    connections: Connections, administrator: Any, database: Database, statement: str
) -> None:
    """At any of its steps: none holds a lock afterwards, and none is used again in that state."""
    for steps in range(1, 40):
        task = asyncio.create_task(connections.rows(statement))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert await connections.row("SELECT now() = statement_timestamp() AS new") is not None
    left = "SELECT count(*) = 0 FROM pg_stat_activity WHERE datname = $1 AND state LIKE 'idle in %'"
    await until(lambda: administrator.fetchval(left, database.name))
