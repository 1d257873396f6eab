"""Worlds of clusters that share a real PostgreSQL; their loop's time must be real."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence

from kwicket.engine.engine import Engine
from kwicket.engine.sharing import Sharing
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Ledger
from kwicket_storage.backlog import PostgresBacklog
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections, Transaction
from kwicket_storage.listener import Listener
from kwicket_storage.postgres import PostgresLedger
from kwicket_storage.schema import examine
from kwicket_storage.servers import Url
from kwicket_storage.transactions import Row
from support.world import World


class Way(Connections):
    """To a server which can't be reached while a test says so."""

    cut = False

    async def _tried(self, transaction: Transaction) -> list[Sequence[Row]]:
        if self.cut:
            raise UnavailableError("PostgreSQL: not reached")
        return await super()._tried(transaction)


class Witness(PostgresBacklog):
    """Says which clusters it has had forgotten."""

    heed: Callable[[str], None]

    async def forget(self, pool: str, cluster: str, silent: float) -> bool:
        forgotten = await super().forget(pool, cluster, silent)
        if forgotten:
            self.heed(cluster)
        return forgotten


class PostgresWorld(World):
    """A cluster, which the others know by its name. Its API server is a fake."""

    def __init__(self, url: Url, name: str) -> None:
        super().__init__()
        self.name = name
        self.lapse: float | None = None
        self.lapsed: Callable[[str], None] = lambda _: None
        """Hears which other clusters its operators have had forgotten."""
        self.ledgers = PostgresLedger
        """Of which version its replicas' ledger is."""
        self._cluster = Cluster(name)
        self._connections = Way(url, examine=examine)
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
        return Sharing(self._latest, self.clock, self.lapse)

    def cut(self, away: bool) -> None:
        """Has its operators reach the database no more, or again. A transaction goes to its end."""
        self._connections.cut = away

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
        made = Witness(self._connections, self._cluster, f"of {self._cluster.name}")
        made.heed = lambda cluster: self.lapsed(cluster)
        return made

    async def close(self) -> None:
        await super().close()
        for task in self._listening:
            task.cancel()
        await asyncio.gather(*self._listening, return_exceptions=True)
        await self._connections.close()
