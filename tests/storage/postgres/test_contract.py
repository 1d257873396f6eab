"""The contracts of a ledger and of a shared backlog, on those in PostgreSQL."""

import asyncio
from typing import Any

import pytest

from kwicket.core.state import State
from kwicket.ports.backlog import Claimed
from kwicket.ports.ledger import Page
from kwicket_storage.backlog import PostgresBacklog
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections
from kwicket_storage.postgres import PostgresLedger
from kwicket_storage.queries import query
from support.builders import intent
from support.databases import Database
from support.postgres_contract import PostgresBacklogContract, PostgresLedgerContract

pytestmark = pytest.mark.each_version


class TestPostgresLedger(PostgresLedgerContract):
    """By direct connections."""


class TestPostgresBacklog(PostgresBacklogContract):
    """By direct connections."""


async def test_a_former_process_does_not_say_that_all_was_told(
    connections: Connections, administrator: Any, pool: str
) -> None:
    """It may have told its last part just before another one took over."""
    backlog = PostgresBacklog(connections, Cluster("east"), "of east")
    await backlog.join(pool, "rules")
    timeline = await administrator.fetchval("SELECT kwicket.timeline()")
    noted = await connections.rows(query("backlog/told"), pool, "east", timeline, "former", "", 0)
    assert list(noted) == []
    assert not await backlog.beat(pool, "rules")


async def test_a_cluster_claims_its_own_grants_alone(
    connections: Connections, administrator: Any, pool: str
) -> None:
    east, west = Cluster("east"), Cluster("west")
    page = await PostgresLedger(connections, east).open(pool, State(1))
    assert isinstance(page, Page)
    theirs = intent("a-1", token=2)
    page = await PostgresLedger(connections, west).commit(page, State(2, intents=(theirs,)))
    assert isinstance(page, Page)
    await administrator.execute("UPDATE kwicket.grants SET claimed = NULL WHERE pool = $1", pool)
    backlog = PostgresBacklog(connections, east, "of east")
    assert (await backlog.claim(page, (2,))).tokens == ()
    claimed = "SELECT claimed FROM kwicket.grants WHERE pool = $1"
    assert await administrator.fetchval(claimed, pool) is None


async def test_a_claim_that_waits_for_a_write_finds_what_that_gives_back(
    connections: Connections, administrator: Any, database: Database, pool: str
) -> None:
    """Its statement began before, and must not go by what it could see then."""
    east = Cluster("east")
    state = State(3, intents=(intent("a-1", token=2), intent("a-2", token=3)))
    page = await PostgresLedger(connections, east).open(pool, state)
    assert isinstance(page, Page)
    backlog = PostgresBacklog(connections, east, "of east")
    async with administrator.transaction():
        await administrator.execute(
            "UPDATE kwicket.pools SET stamp = gen_random_uuid() WHERE name = $1", pool
        )
        claim = asyncio.create_task(backlog.claim(page, (2, 3)))
        await database.until_blocked()
        await administrator.execute(
            "UPDATE kwicket.grants SET ended = clock_timestamp(), outcome = 'GivenBack'"
            " WHERE pool = $1 AND token = 2",
            pool,
        )
    assert await claim == Claimed((3,))
