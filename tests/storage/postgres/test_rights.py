"""What users may do: those of operators keep the ledger, those of workers call the fence alone.

All tests here that take `connections` come as a user who is in kwicket_operator and nothing else,
the contracts too; those of tests/examples as one who is in kwicket_worker and nothing else.
"""

from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from kwicket_storage.inspection import lacking
from kwicket_storage.migrations import SchemaError
from kwicket_storage.schema import look, migrate
from support.databases import Database

pytestmark = pytest.mark.each_version

KEPT = {"SELECT", "INSERT", "UPDATE"}
OPERATORS = {
    "pools": KEPT,
    "feeds": KEPT,
    "members": KEPT | {"DELETE"},
    "tickets": KEPT | {"DELETE"},
    "grants": KEPT | {"DELETE"},
    "migrations": {"SELECT"},
    "shares": {"SELECT"},
    "now_ms()": {"EXECUTE"},
    "timeline()": {"EXECUTE"},
}
WORKERS = {"fence(text,bigint)": {"EXECUTE"}}
GIVEN = """
    SELECT relname::text AS what, kind FROM pg_class, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE',
        'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) AS kind
    WHERE relnamespace = 'kwicket'::regnamespace AND relkind IN ('r', 'v', 'S')
        AND has_table_privilege($1, oid, kind)
    UNION ALL
    SELECT replace(oid::regprocedure::text, 'kwicket.', ''), 'EXECUTE' FROM pg_proc
    WHERE pronamespace = 'kwicket'::regnamespace AND has_function_privilege($1, oid, 'EXECUTE')
    UNION ALL
    SELECT 'the schema', 'CREATE' WHERE has_schema_privilege($1, 'kwicket', 'CREATE')
"""
DEFINING = (
    "CREATE TABLE kwicket.more ()",
    "CREATE FUNCTION kwicket.more() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE OR REPLACE FUNCTION kwicket.now_ms() RETURNS bigint LANGUAGE sql AS 'SELECT 1'",
    "CREATE OR REPLACE VIEW kwicket.shares AS SELECT 1",
    "CREATE TRIGGER more BEFORE INSERT ON kwicket.pools EXECUTE FUNCTION kwicket.now_ms()",
    "ALTER TABLE kwicket.pools ADD more int",
    "ALTER FUNCTION kwicket.fence SECURITY INVOKER",
    "DROP TABLE kwicket.fences",
    "DROP SCHEMA kwicket CASCADE",
    "TRUNCATE kwicket.grants",
    "GRANT kwicket_owner TO kwicket_worker",
    "SET ROLE kwicket_owner",
)
OTHERS = ("SELECT FROM another.own", "INSERT INTO another.own VALUES (1)")


@pytest.fixture
async def worker(database: Database) -> str:
    """By which a worker comes."""
    return await database.member("kwicket_worker")


@pytest.fixture
async def another(administrator: Any) -> AsyncIterator[None]:
    """Another program keeps a table in the same database."""
    await administrator.execute("CREATE SCHEMA another CREATE TABLE own (number int)")
    yield
    await administrator.execute("DROP SCHEMA another CASCADE")


async def given(administrator: Any, url: str) -> dict[str, set[str]]:
    """What a user may do in our schema."""
    found: dict[str, set[str]] = {}
    for row in await administrator.fetch(GIVEN, urlsplit(url).username):
        found.setdefault(row["what"], set()).add(row["kind"])
    return found


async def refused(url: str, *asked: str) -> None:
    """The user of the URL may do none of this."""
    connection = await asyncpg.connect(url)
    try:
        for one in asked:
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute(one)
    finally:
        await connection.close()


async def test_an_operator_has_the_rights_that_it_needs_and_no_other(
    administrator: Any, operator_url: str
) -> None:
    assert await given(administrator, operator_url) == OPERATORS
    assert await lacking(operator_url) == ()
    await look(operator_url)


async def test_a_worker_has_the_right_to_call_the_fence_and_no_other(
    administrator: Any, worker: str
) -> None:
    assert await given(administrator, worker) == WORKERS


async def test_an_operator_is_refused_what_is_not_its_own(operator_url: str, another: None) -> None:
    await refused(
        operator_url,
        *DEFINING,
        *OTHERS,
        "DELETE FROM kwicket.pools",
        "DELETE FROM kwicket.feeds",
        "UPDATE kwicket.migrations SET checksum = ''",
        "SELECT FROM kwicket.fences",
        "SELECT kwicket.fence('orders', 1)",
    )


async def test_a_worker_is_refused_what_is_not_its_own(worker: str, another: None) -> None:
    kept = ("pools", "feeds", "members", "tickets", "grants", "migrations", "shares", "fences")
    await refused(
        worker,
        *DEFINING,
        *OTHERS,
        *(f"SELECT FROM kwicket.{name}" for name in kept),
        "UPDATE kwicket.fences SET highest = 1",
        "SELECT kwicket.now_ms()",
        "SELECT kwicket.timeline()",
    )


async def test_an_operator_does_not_migrate(operator_url: str) -> None:
    with pytest.raises(SchemaError, match="run this as a user that may create roles"):
        await migrate(operator_url)


async def test_who_is_no_operator_is_told_the_role(database: Database, worker: str) -> None:
    for url in (await database.member(), worker):
        with pytest.raises(SchemaError, match="GRANT kwicket_operator"):
            await look(url)


async def test_each_right_that_an_operator_lacks_is_named(empty: Database) -> None:
    await migrate(empty.url)
    url = await empty.member()
    user = urlsplit(url).username
    await empty.told(f"GRANT USAGE ON SCHEMA kwicket TO {user}")
    await empty.told(f"GRANT SELECT ON kwicket.migrations TO {user}")
    needed = {
        f"{kind} ON {'FUNCTION ' * what.endswith(')')}kwicket.{what}"
        for what, kinds in OPERATORS.items()
        for kind in kinds
        if what not in {"migrations", "shares"}
    }
    assert set(await lacking(url)) == needed


async def test_a_worker_cannot_have_the_fence_look_at_a_table_of_its_own(worker: str) -> None:
    """The function runs with its owner's rights, so it must not follow the caller's names."""
    connection = await asyncpg.connect(worker)
    try:
        await connection.execute("CREATE TEMPORARY TABLE fences (resource text, highest bigint)")
        await connection.execute("SET search_path = pg_temp, kwicket")
        await connection.execute("SELECT kwicket.fence('cunning', 7)")
        assert await connection.fetch("SELECT FROM pg_temp.fences") == []
        with pytest.raises(asyncpg.PostgresError, match="too old"):
            await connection.execute("SELECT kwicket.fence('cunning', 6)")
    finally:
        await connection.close()
