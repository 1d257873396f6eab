"""How a transaction is sent: as one statement that commits itself, where nothing stands between.

Each waits no longer than its timeouts. Behind a pooler these go with each transaction, as the next
one may come by another connection to the server; else they are set once for the connection.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from kwicket_storage.statements import Statements

TIMEOUTS = {
    "statement_timeout": 5_000,
    "lock_timeout": 2_000,
    "idle_in_transaction_session_timeout": 10_000,
}
"""Milliseconds."""
_DURABLE = """
    SELECT set_config(
        'synchronous_commit', CASE found WHEN 'off' THEN 'local' ELSE found END, {local}
    ) FROM current_setting('synchronous_commit') AS found
"""
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

    Raises TimeoutError if the server warns that its standby may not have what was committed.
    """
    used.warnings.clear()
    if used.direct:
        rows = await used.rows(query, values)
    else:
        await used.connection.execute(f"BEGIN; {_settings('LOCAL')}")
        rows = await used.rows(query, values)
        await used.connection.execute(_COMMIT)
    await asyncio.sleep(0)  # warnings are told by the loop
    if used.warnings:
        raise TimeoutError("; ".join(used.warnings))
    return [rows]


async def read(asked: Sequence[Asked], used: Statements) -> list[Sequence[Row]]:
    """What each query gives, all of one moment."""
    begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    await used.connection.execute(begin if used.direct else f"{begin}; {_timeouts('LOCAL')}")
    found = [await used.rows(query, values) for query, values in asked]
    await used.connection.execute("COMMIT")
    return found


def _settings(scope: str) -> str:
    """For the transaction, or for the session."""
    return f"{_timeouts(scope)}; {_DURABLE.format(local=scope == 'LOCAL')}"


def _timeouts(scope: str) -> str:
    return "; ".join(f"SET {scope} {name} = {limit}" for name, limit in TIMEOUTS.items())
