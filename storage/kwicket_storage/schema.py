"""The schema of a database: brought up to date, and looked at before it is worked with."""

import asyncio
import contextlib
import random
from collections.abc import Sequence

import asyncpg

from kwicket_storage.migrations import MAJOR, Applied, Migration, SchemaError, check, migrations
from kwicket_storage.queries import query
from kwicket_storage.servers import Connection, Servers, Url, connect_for_long

ATTEMPTS = 20
LOCK = 500
"""Milliseconds that a migration waits for a table; operators wait behind it for as long."""
_BUSY = (asyncpg.DeadlockDetectedError, asyncpg.LockNotAvailableError)
_RIGHTS = (asyncpg.InsufficientPrivilegeError, asyncpg.InvalidGrantOperationError)
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('kwicket.migrations'))"
_HURRY = f"SET LOCAL lock_timeout = {LOCK}"


async def migrate(url: Url) -> tuple[Migration, ...]:
    """Brings the schema up to date, all of it or nothing; the migrations that were applied.

    Operators may be at work: what they hold is waited for briefly, and again and again. Raises
    SchemaError if it can't be, UrlError, and UNREACHED.
    """
    connection = await Servers(url).reached(connect_for_long)
    try:
        for _ in range(ATTEMPTS):
            with contextlib.suppress(*_BUSY):
                return await _attempt(connection)
            await asyncio.sleep(random.uniform(0, LOCK / 1000))  # noqa: S311 - no secret
        raise SchemaError("the tables are in use by long transactions: end those, and try again")
    except _RIGHTS as error:
        raise SchemaError(
            f"{error.args[0]}: run this as a user that may create roles (CREATEROLE) and a schema"
            " in this database (CREATE); or have an administrator make what is not there of the"
            " roles kwicket_owner, kwicket_operator and kwicket_worker and of the schema kwicket of"
            " kwicket_owner, and GRANT kwicket_owner TO this user"
        ) from error
    finally:
        await connection.close()


async def _attempt(connection: Connection) -> tuple[Migration, ...]:
    async with connection.transaction():
        await connection.execute(_LOCK)
        await connection.execute(_HURRY)
        return await _migrate(connection)


async def _migrate(connection: Connection) -> tuple[Migration, ...]:
    await connection.execute(query("bootstrap"))
    applied = await _applied(connection)
    due = check(migrations(), applied)
    for one in due:
        await connection.execute(one.text)
        await connection.execute(query("noted"), one.number, one.name, one.major, one.checksum)
    if _newest(due) > _newest(applied):
        await connection.execute(query("restamp"))  # no operator that is too old now writes again
    return due


def _newest(known: Sequence[Applied | Migration]) -> int:
    return max((one.major for one in known), default=0)


async def look(url: Url) -> None:
    """Raises SchemaError if the schema is not one that this code can work with.

    UrlError, and UNREACHED.
    """
    connection = await Servers(url).reached()
    try:
        await examine(connection)
    finally:
        await connection.close()


async def examine(connection: Connection) -> None:
    """Raises SchemaError if the schema there is not one that this code can work with."""
    try:
        async with connection.transaction():
            applied = await _applied(connection)
    except (asyncpg.UndefinedTableError, asyncpg.InvalidSchemaNameError) as error:
        raise SchemaError("there is no schema: run kwicket ledger migrate first") from error
    except asyncpg.InsufficientPrivilegeError as error:
        raise SchemaError(f"{error}: GRANT kwicket_operator TO the user of the URL") from error
    check(migrations(), applied)
    newest = _newest(applied)
    if newest < max(MAJOR - 1, 1):
        raise SchemaError(
            f"the schema's major version is {newest}, which is too old for this Kwicket:"
            " run kwicket ledger migrate first"
        )


async def _applied(connection: Connection) -> list[Applied]:
    return [Applied(**row) for row in await connection.fetch(query("applied"))]
