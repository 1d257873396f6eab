"""Worlds of clusters that share a real PostgreSQL; their loop's time must be real."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from kwicket.engine.engine import Engine
from kwicket.engine.sharing import Sharing
from kwicket.ports.ledger import Ledger
from kwicket_storage.backlog import PostgresBacklog
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections
from kwicket_storage.listener import Listener
from kwicket_storage.postgres import PostgresLedger
from kwicket_storage.schema import examine
from kwicket_storage.servers import Url
from support.world import World


class PostgresWorld(World):
    """A cluster, which the others know by its name. Its API server is a fake."""

    def __init__(self, url: Url, name: str) -> None:
        super().__init__()
        self._cluster = Cluster(name)
        self.ledgers = PostgresLedger
        """Of which version its replicas' ledger is."""
        self._connections = Connections(url, examine=examine)
        self._latest = self._backlog()
        self._listening: list[asyncio.Task[None]] = []

    @classmethod
    @contextlib.asynccontextmanager
    async def at(cls, url: Url, name: str) -> AsyncIterator["PostgresWorld"]:
        """One that is closed at the end."""
        made = cls(url, name)
        try:
            yield made
        finally:
            await made.close()

    def sharing(self) -> Sharing:
        return Sharing(self._latest, self.clock)

    def begun(self, engine: Engine) -> None:
        listening = asyncio.create_task(self._listener(engine).run())
        self._listening.append(listening)

    def _listener(self, engine: Engine) -> Listener:
        return Listener(self._connections.servers, engine.rung, self._connections.mine)

    def shelf(self) -> Ledger:
        """A replica asks for it first, and then for what joins it to the others."""
        self._latest = self._backlog()
        return self.ledgers(self._connections, self._cluster, self._latest.teller)

    def _backlog(self) -> PostgresBacklog:
        return PostgresBacklog(self._connections, self._cluster, f"of {self._cluster.name}")

    async def close(self) -> None:
        await super().close()
        for task in self._listening:
            task.cancel()
        await asyncio.gather(*self._listening, return_exceptions=True)
        await self._connections.close()
