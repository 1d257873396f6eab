"""Connections to PostgreSQL: short transactions and one kind of error.

Behind a pooler nothing outlives a transaction, so that each one may go to another connection to the
server: no setting, no prepared statement. No lock of a session is held anywhere.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

import asyncpg

from kwicket.ports.errors import UnavailableError
from kwicket_storage.advice import UrlError, unavailable
from kwicket_storage.clock import DatabaseClock
from kwicket_storage.migrations import SchemaError
from kwicket_storage.servers import UNREACHED, Connection, Servers, Url, connect
from kwicket_storage.statements import FORGOTTEN, Statements
from kwicket_storage.transactions import Asked, Row, at_once, opened, read, written

MOST = 8
"""Connections of one operator."""
FREE = 5.0
"""Seconds to wait for a free connection."""
IDLE = 60.0
"""Seconds after which a connection that nobody used is made anew."""
ATTEMPTS = 4
"""How often a transaction is tried that the server rolled back for the sake of another one."""

_ROLLED_BACK = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)
_AGAIN = (*_ROLLED_BACK, *FORGOTTEN, asyncpg.InvalidCachedStatementError)

type Transaction = Callable[[Statements], Awaitable[list[Sequence[Row]]]]


class Connections:
    """A few connections to one database, made when they are needed and again when they broke.

    The URL may name several servers: the one that takes writes is found. Once a connection was made
    by another URL, since that was written into its file, those of before are used no more. Raises
    UrlError.
    """

    def __init__(
        self,
        url: Url,
        *,
        clock: DatabaseClock | None = None,
        examine: Callable[[Connection], Awaitable[None]] | None = None,
        most: int = MOST,
    ) -> None:
        """`clock` hears of the moments that answers say.

        `examine` is asked of each connection that is made, before it is used; raises SchemaError.
        """
        self._clock = clock
        self._examine = examine
        self.servers = Servers(url)
        """Those that connections are made to."""
        self._free = asyncio.Semaphore(most)
        self._open: dict[Statements, str] = {}
        self._direct = True
        """Whether nothing was found to stand between that says of itself that it is the server."""
        self._idle: list[tuple[float, Statements]] = []

    async def rows(self, query: str, *values: object) -> Sequence[Row]:
        """The rows that one query gives, in a transaction of its own.

        Raises UnavailableError, also if only the answer was lost. What the server rolled back for
        the sake of another transaction is tried again.
        """
        return (await self._tried(partial(written, query, values)))[0]

    async def row(self, query: str, *values: object) -> Row | None:
        """The first of the rows; None if there is none."""
        rows = await self.rows(query, *values)
        return rows[0] if rows else None

    async def at_once(self, query: str, *values: object) -> Sequence[Row]:
        """The rows of a query that is sent without BEGIN where that is possible.

        It must see to its durability itself, and do no harm if it arrives when its sender has long
        given up. Raises UnavailableError, and tries again as `rows` does.
        """
        return (await self._tried(partial(at_once, query, values)))[0]

    async def snapshot(self, *asked: Asked) -> list[Sequence[Row]]:
        """The rows that each query gives, all of one moment.

        Raises UnavailableError, and tries again as `rows` does.
        """
        return await self._tried(partial(read, asked))

    def mine(self, pid: int) -> bool:
        """Whether a process of the server works for one of these connections.

        Behind a pooler nobody can tell.
        """
        return any(one.connection.get_server_pid() == pid for one in self._open)

    async def close(self) -> None:
        """Closes all connections; those that are at work are cut."""
        self._drop(set(self._open))

    async def _tried(self, transaction: Transaction) -> list[Sequence[Row]]:
        """What a transaction gives, by one connection after the other."""
        attempt = 1
        while True:
            try:
                async with self._used() as used:
                    found = await transaction(used)
                    self._note(found[0])
                    return found
            except UNREACHED as error:
                if attempt == ATTEMPTS or not isinstance(error, _AGAIN):
                    raise unavailable(error) from error
            await asyncio.sleep(random.uniform(0, 0.01 * 2**attempt))  # noqa: S311 - no secret
            attempt += 1

    def _note(self, rows: Sequence[Row]) -> None:
        if self._clock is not None and rows and "now" in rows[0].keys():  # noqa: SIM118 - a Record
            self._clock.saw(rows[0]["now"])

    @asynccontextmanager
    async def _used(self) -> AsyncIterator[Statements]:
        """A connection that is thrown away after any error, also if its user is cancelled at any
        point. So are all that are idle then: the next ones find the server that works now.
        """
        async with asyncio.timeout(FREE):
            await self._free.acquire()
        try:
            used = self._rested() or await self._connected()
            try:
                yield used
            except BaseException as error:
                rolled_back = isinstance(error, _ROLLED_BACK)
                self._direct = self._direct and not isinstance(error, FORGOTTEN)
                self._drop({used} if rolled_back else {used, *self._rest()})
                raise
            if used.direct and not self._direct:
                self._drop({used})
            else:
                self._idle.append((_now(), used))
        finally:
            self._free.release()

    def _rested(self) -> Statements | None:
        """The one that was used last."""
        self._drop({one for since, one in self._idle if self._is_old(since, one)})
        return self._idle.pop()[1] if self._idle else None

    def _is_old(self, since: float, one: Statements) -> bool:
        """Whether a firewall may have forgotten it, or the URL names another server or user now."""
        forgotten = since < _now() - IDLE or one.connection.is_closed()
        return forgotten or not self.servers.names(self._open.get(one, ""))

    def _rest(self) -> set[Statements]:
        return {one for _, one in self._idle}

    def _drop(self, dropped: set[Statements]) -> None:
        self._idle = [entry for entry in self._idle if entry[1] not in dropped]
        self._open = {one: server for one, server in self._open.items() if one not in dropped}
        for one in dropped:
            one.connection.terminate()

    async def _connected(self) -> Statements:
        try:
            return await self.servers.reached(self._made)  # type: ignore[no-any-return] # of _made
        except UrlError as error:
            raise UnavailableError(str(error)) from None

    async def _made(self, server: str) -> Statements:
        connection = await connect(server)
        try:
            if self._examine is not None:
                await self._examine(connection)
            made = await self._statements(connection)
            self._open[made] = server
            return made
        except BaseException as error:
            connection.terminate()
            if isinstance(error, SchemaError):
                raise UnavailableError(f"PostgreSQL: {error}") from error
            raise

    async def _statements(self, connection: Connection) -> Statements:
        if self._direct:
            return await opened(connection)
        return Statements(connection, direct=False)


def _now() -> float:
    return asyncio.get_running_loop().time()
