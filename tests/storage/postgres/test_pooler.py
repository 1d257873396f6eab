"""Row 27 of the fault matrix: behind a PgBouncer that pools transactions, all contracts hold."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from kwicket_storage import inspection
from kwicket_storage.connections import Connections
from kwicket_storage.inspection import heard, lacking
from support.postgres_contract import PostgresBacklogContract, PostgresLedgerContract

PID = "SELECT pg_backend_pid() AS pid"
CLEAN = """
    DO $$ BEGIN
        ASSERT current_setting('statement_timeout') = '0', 'a timeout is left';
        ASSERT current_setting('lock_timeout') = '0', 'a timeout is left';
        ASSERT current_setting('idle_in_transaction_session_timeout') = '0', 'a timeout is left';
        ASSERT NOT EXISTS (SELECT FROM pg_prepared_statements), 'a prepared statement is left';
        ASSERT NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory'), 'a lock is left';
    END $$
"""


@pytest.fixture
async def connections(pooled_url: str) -> AsyncIterator[Connections]:
    """Those of an operator, through the pooler."""
    made = Connections(pooled_url)
    yield made
    await made.close()


class Test27LedgerBehindAPooler(PostgresLedgerContract):
    """Each transaction may come by another connection of the server."""


class Test27BacklogBehindAPooler(PostgresBacklogContract):
    """Each transaction may come by another connection of the server."""


async def pids(connections: Connections) -> set[int]:
    """By which connections of the server transactions come that are asked for at once."""
    rows = await asyncio.gather(*(connections.row(PID) for _ in range(8)))
    return {row["pid"] for row in rows if row is not None}


async def test_27_transactions_of_one_operator_share_connections_of_the_server(
    connections: Connections,
) -> None:
    """Else the contracts would say nothing about a pooler."""
    found: set[int] = set()
    async with asyncio.timeout(20):
        while len(found) < 2:
            found |= await pids(connections)
    one_by_one = [await connections.row(PID) for _ in range(6)]
    assert {row["pid"] for row in one_by_one if row is not None} == found


async def test_27_nothing_of_a_session_is_left_for_who_comes_next(
    connections: Connections, pooled_url: str
) -> None:
    found = await pids(connections)
    next_one = await asyncpg.connect(pooled_url, statement_cache_size=0)
    for _ in range(4 * len(found)):
        await next_one.execute(CLEAN)
    await next_one.close()


async def test_27_what_is_asked_outside_of_a_transaction_is_parsed_and_run_by_one_connection(
    pooled_url: str,
) -> None:
    """Many ask at once, so that each of the server's connections serves somebody in between."""
    for _ in range(3):
        assert await asyncio.gather(*(lacking(pooled_url) for _ in range(8))) == [()] * 8


async def test_27_a_listen_through_the_pooler_is_known_to_hear_nothing(
    pooled_url: str, operator_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A direct connection hears what is written through the pooler."""
    assert await heard(pooled_url, operator_url)
    monkeypatch.setattr(inspection, "DEADLINE", 0.5)
    assert not await heard(pooled_url, pooled_url)
