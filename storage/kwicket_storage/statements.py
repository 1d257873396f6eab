"""The statements of one connection: parsed and planned once where it leads to a server.

A pooler of transactions may hand the next one to another connection to the server, which has heard
of nothing that was prepared. There statements are sent as a whole each time.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, Self

import asyncpg

FORGOTTEN = (asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError)
"""What tells that something stands between that says of itself that it is the server."""
_UNSURE = {"syncrep.c", "xact.c"}
"""The source files of PostgreSQL that warn of a standby that may not have what was committed, and
of a COMMIT without a transaction."""


class Statements:
    """A connection, and what is prepared on it."""

    def __init__(self, connection: Any, *, direct: bool) -> None:
        self.connection = connection
        self.direct = direct
        """Whether nobody stands between: each query is prepared when it is first sent."""
        self.warnings: list[str] = []
        """What the server has said of a commit that may be none."""
        self._known: dict[str, Any] = {}
        connection.add_log_listener(self._told)

    @classmethod
    async def of(cls, connection: Any) -> Self:
        """It is direct if the process that serves us is the one that has greeted us."""
        process = await connection.fetchval("SELECT pg_backend_pid()")
        return cls(connection, direct=process == connection.get_server_pid())

    async def rows(self, query: str, values: Sequence[object]) -> Sequence[Any]:
        """The rows that a query gives."""
        if not self.direct:
            return await self.connection.fetch(query, *values)  # type: ignore[no-any-return] # untyped
        return await (await self._prepared(query)).fetch(*values)  # type: ignore[no-any-return] # untyped

    def _told(self, _: Any, message: Any) -> None:
        if message.server_source_filename in _UNSURE:
            self.warnings.append(str(message))

    async def _prepared(self, query: str) -> Any:
        if query not in self._known:
            self._known[query] = await self.connection.prepare(query, name=_name(query))
        return self._known[query]


def _name(query: str) -> str:
    """Says what the statement is, so that no name ever leads to another one."""
    return f"kwicket_{hashlib.sha256(query.encode()).hexdigest()[:32]}"
