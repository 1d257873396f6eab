"""The way from an operator to the database, and what goes wrong on it.

What is on its way belongs to the world: it arrives, whatever became of the process that sent it.
"""

import asyncio
import random
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from functools import partial
from typing import Any, cast

from msgspec import Struct

from faults.network import Link, fail, resolve
from faults.shared.database import Database
from kwicket.ports.errors import UnavailableError
from kwicket_storage.connections import ATTEMPTS
from kwicket_storage.servers import ANSWER, CONNECT

READS = ("read", "hear", "ended")
LOCK, IDLE = 2.0, 10.0
"""Seconds that a transaction waits for a lock, and that the server waits for its next statement."""

type Rung = Callable[[str | None], None]


class Strain(Struct):
    """What goes wrong on one operator's way to the database; numbers are chances from 0 to 1."""

    cut: bool = False
    """There is no connection: refused at once, or nothing is heard."""
    lost_request: float = 0
    lost_answer: float = 0
    """It is committed, and no answer comes."""
    late: float = 0
    """Its COMMIT comes when the client may have given up; until then it keeps its locks."""
    rolled_back: float = 0
    """The server rolls it back for the sake of another transaction."""
    mute: bool = False
    """No notification arrives."""
    way: float = 0.005
    """Seconds that one way takes, on average."""


class Line:
    """One process's connections to the database."""

    def __init__(self, database: Database, link: Link, strain: Strain, dice: random.Random) -> None:
        self.strain = strain
        self._database = database
        self._link = link
        self._dice = dice
        self._ring: Callable[[str | None], Any] = lambda _: None

    def to[Port](self, port: Port) -> Port:
        """The same, at the other end of the line."""
        return cast("Port", _Distant(self, port))

    async def call(self, name: str, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """One transaction. Raises UnavailableError, also if it was committed."""
        strain, dice = self.strain, self._dice
        sent = _Sent(name, work, self._link.heard)
        await self._tried_again()
        if strain.cut:
            await asyncio.sleep(dice.choice((0.01, CONNECT)))
            raise UnavailableError("PostgreSQL: not reached")
        answer = asyncio.get_running_loop().create_future()
        fate = dice.random()
        if strain.late and fate < strain.late:
            self._link.after(self._way(), self._linger, sent, answer)
        elif fate >= strain.late + strain.lost_request:
            self._link.after(self._way(), self._arrive, sent, answer)
        try:
            async with asyncio.timeout(ANSWER):
                return await answer
        except TimeoutError:
            raise UnavailableError("PostgreSQL: no answer") from None

    async def listen(self, rung: Rung) -> None:
        """Hears of writes until cancelled; after a silence, of all that may have been."""
        loop, inside = asyncio.get_running_loop(), copy_context()
        self._ring = lambda pool: loop.call_soon(rung, pool, context=inside)
        self._database.listen(self.hear)
        rung(None)
        await asyncio.Event().wait()

    def hear(self, pool: str | None) -> None:
        """A pool was written, or any may have been: it listens anew."""
        strain = self.strain
        if self._link.open and not (strain.mute or strain.cut or self._database.down):
            self._link.after(self._way(), self._ring, pool)

    async def _tried_again(self) -> None:
        for attempt in range(ATTEMPTS):
            if not self.strain.rolled_back or self._dice.random() >= self.strain.rolled_back:
                return
            await asyncio.sleep(self._dice.uniform(0, 0.01 * 2**attempt))
        raise UnavailableError("PostgreSQL: could not serialize access")

    def _linger(self, sent: "_Sent", answer: asyncio.Future[Any]) -> None:
        """All but the COMMIT is there; the server waits for that, unless it is lost itself."""
        database, timeline, writes = self._database, self._database.timeline, sent.name not in READS
        if database.locked and writes:
            return

        def commit() -> None:
            database.locked = database.locked and not writes
            if database.timeline == timeline:
                self._arrive(sent, answer)

        database.locked = database.locked or writes
        self._link.after(self._dice.uniform(2, IDLE), commit)

    def _arrive(self, sent: "_Sent", answer: asyncio.Future[Any], waited: float = 0) -> None:
        database, reads = self._database, sent.name in READS
        if database.locked and not reads:
            if waited < LOCK:
                self._link.after(0.1, self._arrive, sent, answer, waited + 0.1)
            return
        if database.down or (database.read_only and not reads):
            why = "is down" if database.down else "takes no writes"
            self._link.after(self._way(), fail, answer, UnavailableError(f"PostgreSQL {why}"))
            return
        try:
            value = _done(sent.work())
        except (UnavailableError, ValueError) as error:
            self._link.after(self._way(), fail, answer, error)
            return
        database.note(self._link.process, sent.heard)
        if not reads:
            self._link.on_write()
        if self._dice.random() >= self.strain.lost_answer:
            self._link.after(self._way(), resolve, answer, value)

    def _way(self) -> float:
        return self._dice.expovariate(1 / self.strain.way)


class _Sent(Struct, frozen=True):
    """A transaction: what it calls, and what its sender had heard of declarations then."""

    name: str
    work: Callable[[], Coroutine[Any, Any, Any]]
    heard: int


class _Distant:
    """Each method of a port is called at the other end of a line."""

    def __init__(self, line: Line, port: object) -> None:
        self._line = line
        self._port = port

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)

        async def called(*arguments: Any) -> Any:
            return await self._line.call(name, partial(method, *arguments))

        return called


def _done(work: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine returns that never waits."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("the model waits for something")
