"""Migrations on a real server, the roles that they make, and what the operator refuses to use."""

import asyncio
from typing import Any

import asyncpg
import pytest

from kwicket_storage import schema
from kwicket_storage.migrations import MAJOR, Migration, SchemaError, migrations
from kwicket_storage.schema import look, migrate
from support.databases import Database
from support.dumps import SCHEMA, dumped

pytestmark = pytest.mark.each_version

NOTED = "INSERT INTO kwicket.migrations (number, name, major, checksum) VALUES ($1, $2, $3, $4)"


async def told(url: str, query: str, *values: object) -> Any:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetch(query, *values)
    finally:
        await connection.close()


async def test_a_new_database_gets_all_of_them_once(empty: Database) -> None:
    assert await migrate(empty.url) == migrations()
    assert await migrate(empty.url) == ()
    await look(empty.url)


async def test_of_two_that_migrate_at_once_one_does_it(empty: Database) -> None:
    made = await asyncio.gather(*(migrate(empty.url) for _ in range(3)))
    assert sorted(len(due) for due in made) == [0, 0, len(migrations())]


async def test_a_migration_that_fails_leaves_nothing(
    empty: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Migration(2, "broken", 1, "CREATE TABLE kwicket.made (); SELECT nothing;")
    monkeypatch.setattr(schema, "migrations", lambda: (*migrations()[:1], broken))
    with pytest.raises(asyncpg.UndefinedColumnError):
        await migrate(empty.url)
    assert await told(empty.url, "SELECT FROM pg_namespace WHERE nspname = 'kwicket'") == []


async def test_a_migration_that_was_changed_is_refused(empty: Database) -> None:
    await migrate(empty.url)
    await told(empty.url, "UPDATE kwicket.migrations SET checksum = 'other' WHERE number = 1")
    for act in (migrate, look):
        with pytest.raises(SchemaError, match="another text"):
            await act(empty.url)


async def test_a_schema_of_a_newer_major_version_is_refused(empty: Database) -> None:
    await migrate(empty.url)
    await told(empty.url, NOTED, len(migrations()) + 1, "later", MAJOR + 1, "of later")
    for act in (migrate, look):
        with pytest.raises(SchemaError, match="install a newer Kwicket"):
            await act(empty.url)


async def test_a_newer_schema_of_the_same_major_version_is_used(empty: Database) -> None:
    await migrate(empty.url)
    await told(empty.url, NOTED, len(migrations()) + 1, "later", MAJOR, "of later")
    await look(empty.url)


async def test_a_schema_two_major_versions_back_is_refused(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "MAJOR", MAJOR + 1)
    await look(database.url)
    monkeypatch.setattr(schema, "MAJOR", MAJOR + 2)
    with pytest.raises(SchemaError, match="too old"):
        await look(database.url)


async def test_a_database_without_a_schema_is_told_the_command(empty: Database) -> None:
    with pytest.raises(SchemaError, match="kwicket ledger migrate"):
        await look(empty.url)


async def test_who_may_not_make_roles_is_told_what_to_ask_for(empty: Database) -> None:
    await told(empty.url, "CREATE ROLE plain LOGIN")
    with pytest.raises(SchemaError, match="administrator"):
        await migrate(empty.of("plain"))
    await told(empty.url, "DROP ROLE plain")


async def test_the_schema_that_is_read_is_the_one_that_migrations_make(
    database: Database,
) -> None:
    assert dumped(database.url) == SCHEMA.read_text()
