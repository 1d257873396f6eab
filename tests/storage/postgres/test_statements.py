"""Statements are parsed and planned once, and again where something has forgotten them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import asyncpg
import pytest

from kwicket_storage.connections import Connections
from support.databases import Database

ONE = "SELECT 1 AS one"
KNOWN = "SELECT statement FROM pg_prepared_statements WHERE name LIKE 'kwicket%'"
FORGET = "DEALLOCATE ALL"
LOCKED = "SELECT pg_advisory_xact_lock(1)"

type Ask = Callable[[Connections, str], Awaitable[Sequence[Any]]]


async def alone(connections: Connections, query: str) -> Sequence[Any]:
    return await connections.rows(query)


async def in_a_snapshot(connections: Connections, query: str) -> Sequence[Any]:
    [rows] = await connections.snapshot((query, ()))
    return rows


@pytest.fixture(params=[alone, in_a_snapshot])
def ask(request: pytest.FixtureRequest) -> Ask:
    """Asks by a transaction of each kind."""
    found: Ask = request.param
    return found


@pytest.fixture
async def connections(database: Database) -> AsyncIterator[Connections]:
    made = Connections(database.url, most=1)
    yield made
    await made.close()


async def known(connections: Connections) -> set[str]:
    """What is prepared, besides the question for it."""
    return {row["statement"] for row in await connections.rows(KNOWN)} - {KNOWN}


async def test_a_query_is_prepared_once(connections: Connections) -> None:
    for _ in range(3):
        assert [row["one"] for row in await connections.rows(ONE)] == [1]
    assert await known(connections) == {ONE}


async def test_so_are_those_of_a_snapshot(connections: Connections) -> None:
    for _ in range(2):
        [[row]] = await connections.snapshot((ONE, ()))
        assert row["one"] == 1
    assert await known(connections) == {ONE}


async def test_what_is_forgotten_is_sent_again_and_no_more_is_prepared(
    connections: Connections, ask: Ask
) -> None:
    await ask(connections, ONE)
    await connections.rows(FORGET)
    assert [row["one"] for row in await ask(connections, ONE)] == [1]
    assert await known(connections) == set()


async def test_what_is_at_work_when_another_one_is_forgotten_prepares_no_more_either(
    database: Database,
) -> None:
    connections = Connections(database.url, most=2)
    administrator = await asyncpg.connect(database.url)
    try:
        async with administrator.transaction():
            await administrator.execute(LOCKED)
            at_work = asyncio.create_task(connections.rows(LOCKED))
            await database.until_blocked()
            for query in (ONE, FORGET, ONE):
                await connections.rows(query)
        await at_work
        for found in await asyncio.gather(known(connections), known(connections)):
            assert found == set()
    finally:
        await administrator.close()
        await connections.close()


async def test_a_table_that_was_changed_meanwhile_is_read_as_it_is_now(
    connections: Connections, database: Database, ask: Ask
) -> None:
    administrator = await asyncpg.connect(database.url)
    try:
        await administrator.execute("CREATE TABLE changed AS SELECT 1 AS old")
        assert [dict(row) for row in await ask(connections, "TABLE changed")] == [{"old": 1}]
        await administrator.execute("ALTER TABLE changed ADD new int DEFAULT 2")
        [row] = await ask(connections, "TABLE changed")
        assert dict(row) == {"old": 1, "new": 2}
        assert await known(connections) == {"TABLE changed"}
    finally:
        await administrator.execute("DROP TABLE changed")
        await administrator.close()
