"""Listens for the pools that others have written. What it hears is a hint: who misses one polls."""

import asyncio
import contextlib
import random
import uuid
from collections.abc import Callable
from typing import Any

import structlog

from kwicket_storage.advice import UrlError, unavailable
from kwicket_storage.servers import UNREACHED, Servers

CHANNEL = "kwicket"
HEARTBEAT, DEADLINE = 10.0, 5.0
"""Seconds between two proofs that notifications arrive, and until one has failed."""
LONGEST_PAUSE = 15.0
"""Seconds between two attempts to connect."""

_log = structlog.get_logger(__name__)


class Listener:
    """One connection of its own, which must be a direct one: no pooler keeps a LISTEN."""

    def __init__(
        self,
        servers: Servers,
        rung: Callable[[str | None], None],
        mine: Callable[[int], bool] = lambda _: False,
    ) -> None:
        """`rung` is called with the pool that was written; with None if any may have been.

        What a process of the server notifies of that is `mine` is known here.
        """
        self._servers = servers
        self._mine = mine
        self._rung = rung
        self._proof = f"kwicket_{uuid.uuid4().hex}"
        self._proved = asyncio.Event()

    async def run(self) -> None:
        """Listens until cancelled; connects again whenever no notification arrives any more."""
        pause = 0.5
        while True:
            try:
                await self._listen()
            except UrlError as error:
                _log.warning("not listening", error=str(error))
            except UNREACHED as error:
                _log.warning("not listening", error=str(unavailable(error)))
            pause = 0.5 if self._proved.is_set() else min(pause * 2, LONGEST_PAUSE)
            self._proved.clear()
            await asyncio.sleep(random.uniform(pause / 2, pause))  # noqa: S311 - no secret

    async def _listen(self) -> None:
        """Raises an error when the connection fails. It listens before anybody reads anew."""
        connection = await self._servers.reached()
        try:
            async with asyncio.timeout(DEADLINE):
                await connection.add_listener(CHANNEL, self._heard)
                await connection.add_listener(self._proof, self._heard)
            closed = asyncio.Event()
            connection.add_termination_listener(lambda _: closed.set())
            self._rung(None)
            while not closed.is_set():
                await self._prove(connection)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(closed.wait(), HEARTBEAT)
            raise OSError("the server has closed the connection")
        finally:
            connection.terminate()

    async def _prove(self, connection: Any) -> None:
        self._proved.clear()
        async with asyncio.timeout(DEADLINE):
            await connection.execute("SELECT pg_notify($1, '')", self._proof)
            await self._proved.wait()

    def _heard(self, _: Any, pid: int, channel: str, pool: str) -> None:
        if channel != CHANNEL:
            self._proved.set()
        elif not self._mine(pid):
            self._rung(pool)
