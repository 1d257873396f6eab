"""Row 7 of the fault matrix: code of one version on the schema of another, and both at once."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from kwicket.core.state import State
from kwicket.ports.backlog import Freed, News
from kwicket.ports.ledger import Page
from kwicket_storage import schema
from kwicket_storage.backlog import PostgresBacklog
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections
from kwicket_storage.migrations import MAJOR, SchemaError, migrations
from kwicket_storage.postgres import PostgresLedger
from kwicket_storage.schema import look, migrate
from support.backlog_contract import RULES, Share, foreign, granted, joined, opened
from support.builders import intent, ticket
from support.databases import Database
from support.later import CONTRACTS, EXPANDS

ONE = intent("a-1", token=2)


@pytest.fixture
async def old(empty: Database) -> AsyncIterator[Connections]:
    """Connections to a database whose schema is of today."""
    await migrate(empty.url)
    made = Connections(empty.url)
    yield made
    await made.close()


def share(connections: Connections, name: str) -> Share:
    cluster = Cluster(name)
    ledger = PostgresLedger(connections, cluster)
    return Share(ledger, PostgresBacklog(connections, cluster, f"of {name}"))


async def turn(east: Share, west: Share, page: Page) -> Page:
    """All that is asked of the database while a Job waits, is granted, runs and ends."""
    number = page.state.version + 1
    one = replace(ONE, lease=replace(ONE.lease, uid=f"u-{number}", token=number))
    await east.backlog.tell("p", News(waiting=(ticket(f"u-{number}"),)), number)
    assert await east.backlog.beat("p", RULES)
    assert (await west.backlog.hear("p", 0)).waiting
    written = await granted(west, page, replace(one, lease=foreign(one.lease)))
    read = await east.ledger.read("p")
    assert read is not None
    assert (await east.backlog.claim(read, (number,))).tokens == (number,)
    await east.backlog.tell("p", News(left=(f"u-{number}",), running=(one.lease,)), number)
    assert (await west.backlog.hear("p", 0)).running
    await east.backlog.tell("p", News(over=(Freed(one.lease, 2**52),)), number)
    assert written.state.version == number
    last = await west.ledger.read("p")
    assert last is not None
    return last


async def test_07_code_works_on_while_the_schema_is_brought_to_the_next_version(
    old: Connections, empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    east, west = await joined(share(old, "east"), "p"), await joined(share(old, "west"), "p")
    page = await turn(east, west, await opened(west, "p", State(1)))
    with monkeypatch.context() as patched:
        patched.setattr(schema, "migrations", lambda: (*migrations(), EXPANDS))
        assert await migrate(empty.url) == (EXPANDS,)
    await look(empty.url)
    await turn(east, west, page)


async def test_07_code_of_the_next_major_version_works_with_the_schema_of_today(
    old: Connections, empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "MAJOR", MAJOR + 1)
    await look(empty.url)
    east, west = await joined(share(old, "east"), "p"), await joined(share(old, "west"), "p")
    await turn(east, west, await opened(west, "p", State(1)))


async def test_07_code_refuses_the_schema_of_the_next_major_version(
    old: Connections, empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(schema, "migrations", lambda: (*migrations(), CONTRACTS))
        assert await migrate(empty.url) == (CONTRACTS,)
    with pytest.raises(SchemaError, match="install a newer Kwicket"):
        await look(empty.url)


async def test_07_a_migration_waits_for_no_operator_and_no_operator_for_long(
    old: Connections, empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Operators hold no lock between their transactions."""
    east, west = await joined(share(old, "east"), "p"), await joined(share(old, "west"), "p")
    page = await opened(west, "p", State(1))
    monkeypatch.setattr(schema, "migrations", lambda: (*migrations(), EXPANDS))
    done = asyncio.create_task(migrate(empty.url))
    async with asyncio.timeout(20):
        while not done.done():
            page = await turn(east, west, page)
    assert await done == (EXPANDS,)
