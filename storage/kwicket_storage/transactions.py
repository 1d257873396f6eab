"""How a transaction is sent.

Each brings its timeouts along, as behind a pooler it may come by another connection to the server
than the one before. What does no harm when it arrives late may be sent without BEGIN, on a
connection that leads to the server: it commits itself, by the timeouts of the session.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from kwicket_storage.statements import Statements

SETTINGS = {
    "statement_timeout": "5s",
    "lock_timeout": "2s",
    "idle_in_transaction_session_timeout": "10s",
    "client_min_messages": "warning",
}
"""The last one since the server warns when it has committed what a standby may not have."""
_DURABLE = (
    "SELECT set_config('synchronous_commit', 'local', true)"
    " WHERE current_setting('synchronous_commit') = 'off'"
)
"""A crash of the server must not lose what it has called committed: its timeline stays the same."""
_COMMIT = "SET LOCAL statement_timeout = 0; COMMIT"
"""Without a timeout, which would end the wait for a synchronous standby."""

type Row = Any
type Asked = tuple[str, Sequence[object]]


async def opened(connection: Any) -> Statements:
    """The statements of a new connection, which are prepared if nobody stands between."""
    statements = await Statements.of(connection)
    if statements.direct:
        await connection.execute(_settings("SESSION"))
    return statements


async def written(query: str, values: Sequence[object], used: Statements) -> list[Sequence[Row]]:
    """What one query gives that may write, and has committed.

    Whoever is cut off before the commit is rolled back. Raises TimeoutError if the server warns
    that its standby may not have what was committed, or that this was no transaction.
    """
    used.warnings.clear()
    await used.connection.execute(f"BEGIN; {_settings('LOCAL')}; {_DURABLE}")
    rows = await used.rows(query, values)
    await used.connection.execute(_COMMIT)
    return [await _sure(rows, used)]


async def at_once(query: str, values: Sequence[object], used: Statements) -> list[Sequence[Row]]:
    """The same of a query which sees to its durability itself, and may arrive late.

    On a direct connection it goes in one round trip. Whoever is cut off does not roll it back.
    """
    if not used.direct:
        return await written(query, values, used)
    used.warnings.clear()
    return [await _sure(await used.rows(query, values), used)]


async def read(asked: Sequence[Asked], used: Statements) -> list[Sequence[Row]]:
    """What each query gives, all of one moment."""
    begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    await used.connection.execute(f"{begin}; {_settings('LOCAL')}")
    found = [await used.rows(query, values) for query, values in asked]
    await used.connection.execute("COMMIT")
    return found


async def _sure(rows: Sequence[Row], used: Statements) -> Sequence[Row]:
    await asyncio.sleep(0)  # warnings are told by the loop
    if used.warnings:
        raise TimeoutError("; ".join(used.warnings))
    return rows


def _settings(scope: str) -> str:
    """For the transaction, or for the session."""
    return "; ".join(f"SET {scope} {name} = '{value}'" for name, value in SETTINGS.items())
