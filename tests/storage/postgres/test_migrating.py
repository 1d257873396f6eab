"""Who may make the schema and bring it up to date, on each version: from 16 on CREATEROLE is less.

Who has made a role may make others and himself its members there, and nobody else may who has
CREATEROLE; before, whoever has it may.
"""

import uuid
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest

from kwicket_storage.inspection import lacking
from kwicket_storage.migrations import ROLES, SchemaError, migrations
from kwicket_storage.schema import look, migrate
from support.databases import Database

WAY_OUT = "have an administrator make what is not there .* GRANT kwicket_owner TO this user"
VERSION = "SELECT current_setting('server_version_num')::int / 10000 AS major"


@pytest.fixture
async def bare(fresh: str) -> AsyncIterator[Database]:
    """A database of a server on which nobody has migrated."""
    made = await Database.made(fresh)
    yield made
    server = Database(fresh)
    for row in await server.told("SELECT datname FROM pg_database WHERE datname ~ '^kwicket_'"):
        await server.told(f"DROP DATABASE {row['datname']}")
    await server.told(f"DROP ROLE IF EXISTS {', '.join(ROLES)}")


async def somebody(database: Database, *rights: str) -> str:
    """The URL of a new user who may make schemas there if it is said, and has these attributes."""
    name = f"u_{uuid.uuid4().hex}"
    attributes = " ".join(one for one in rights if one != "CREATE")
    await database.told(f"CREATE ROLE {name} LOGIN {attributes}")
    if "CREATE" in rights:
        await database.told(f"GRANT CREATE ON DATABASE {database.name} TO {name}")
    return database.of(name)


async def make(database: Database, *, schema: bool = True) -> None:
    """As an administrator does who lets somebody else migrate."""
    for role in ROLES:
        await database.told(f"CREATE ROLE {role}")
    if schema:
        await database.told("CREATE SCHEMA kwicket AUTHORIZATION kwicket_owner")


async def admit(database: Database, url: str, how: str = "") -> None:
    await database.told(f"GRANT kwicket_owner TO {urlsplit(url).username} {how}")


async def major(database: Database) -> int:
    [row] = await database.told(VERSION)
    return int(row["major"])


async def test_who_may_make_roles_and_a_schema_needs_no_superuser(bare: Database) -> None:
    """Neither for the schema, nor for the users that operators come as."""
    url = await somebody(bare, "CREATEROLE", "CREATE")
    assert await migrate(url) == migrations()
    assert await migrate(url) == ()
    east = f"u_{uuid.uuid4().hex}"
    await Database(url).told(f"CREATE ROLE {east} LOGIN IN ROLE kwicket_operator")
    await look(bare.of(east))
    assert await lacking(bare.of(east)) == ()


async def test_a_member_of_the_owner_needs_nothing_else_once_roles_and_schema_are_there(
    bare: Database,
) -> None:
    await make(bare)
    url = await somebody(bare)
    await admit(bare, url)
    assert await migrate(url) == migrations()
    assert await migrate(url) == ()


async def test_a_member_that_inherits_nothing_may_migrate(bare: Database) -> None:
    await make(bare)
    url = await somebody(bare, "NOINHERIT")
    await admit(bare, url)
    assert await migrate(url) == migrations()


async def test_a_member_of_the_owner_who_may_make_a_schema_makes_it(bare: Database) -> None:
    await make(bare, schema=False)
    url = await somebody(bare, "CREATE")
    await admit(bare, url)
    assert await migrate(url) == migrations()


@pytest.mark.parametrize(
    ("rights", "lacks"),
    [
        ((), "permission denied to create role"),
        (("CREATE",), "permission denied to create role"),
        (("CREATEROLE",), "permission denied for database"),
    ],
)
async def test_who_may_not_is_told_which_right_is_missing_and_leaves_nothing(
    bare: Database, rights: tuple[str, ...], lacks: str
) -> None:
    url = await somebody(bare, *rights)
    with pytest.raises(SchemaError, match=f"^{lacks}.*{WAY_OUT}"):
        await migrate(url)
    assert await bare.told("SELECT FROM pg_roles WHERE rolname = ANY($1)", ROLES) == []


async def test_who_is_no_member_of_a_role_that_is_there_is_told_to_ask_for_it(
    bare: Database,
) -> None:
    await make(bare)
    url = await somebody(bare, "CREATE")
    with pytest.raises(SchemaError, match=f"kwicket_owner.*{WAY_OUT}"):
        await migrate(url)


async def test_a_second_database_is_migrated_by_another_user_once_that_is_a_member(
    bare: Database,
) -> None:
    """Before 16 whoever may create roles makes himself one."""
    await migrate(await somebody(bare, "CREATEROLE", "CREATE"))
    second = await Database.made(bare.url)
    url = await somebody(second, "CREATEROLE", "CREATE")
    if await major(bare) >= 16:
        with pytest.raises(SchemaError, match=f"permission denied to grant role.*{WAY_OUT}"):
            await migrate(url)
        await admit(bare, url)
    assert await migrate(url) == migrations()


async def test_a_member_that_may_not_set_the_role_is_told_to_ask_for_it(bare: Database) -> None:
    if await major(bare) < 16:
        pytest.skip("every member may, before 16")
    await make(bare)
    url = await somebody(bare)
    await admit(bare, url, "WITH SET FALSE, INHERIT TRUE")
    with pytest.raises(SchemaError, match=WAY_OUT):
        await migrate(url)
    await admit(bare, url, "WITH SET TRUE")
    assert await migrate(url) == migrations()
