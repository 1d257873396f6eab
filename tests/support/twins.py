"""Two PostgreSQL servers for tests: a primary, and a standby that follows it when it is started."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import asyncpg
import pytest

from kwicket.ports.errors import UnavailableError
from kwicket_storage.connections import Connections
from kwicket_storage.schema import migrate
from support.backlog_contract import Share
from support.databases import until
from support.postgres import Folders
from support.programs import Programs
from support.servers import Server, served
from support.shares import share_of


def url(*servers: Server, user: str = "postgres", database: str = "postgres") -> str:
    """Names them all, in this order."""
    hosts = ",".join(str(one.folder).replace("/", "%2F") for one in servers)
    return f"postgresql://{user}@{hosts}/{database}"


class Pair:
    """A primary, a standby that follows it, and what clients of both work with."""

    def __init__(self, primary: Server, standby: Server) -> None:
        self.primary, self.standby = primary, standby
        self.url = url(primary, standby)
        self.connections = Connections(self.url)

    def share(self, name: str) -> Share:
        """What one process of a cluster works with."""
        return share_of(self.connections, name)

    async def told(self, query: str, server: Server | None = None) -> Any:
        """What the primary answers, by a connection of its own."""
        connection = await asyncpg.connect((server or self.primary).url)
        try:
            return await connection.fetchval(query)
        finally:
            await connection.close()

    async def copy(self) -> None:
        """Has the standby catch up with all that was committed so far, and hear of nothing more."""
        self.standby.start()
        now = await self.told("SELECT pg_current_wal_flush_lsn()::text")
        replayed = f"SELECT pg_last_wal_replay_lsn() >= '{now}'"
        await until(lambda: self.told(replayed, self.standby))
        self.standby.stop()

    def take_over(self) -> None:
        """The primary dies, and the standby takes over with what it has."""
        self.primary.stop()
        self.standby.stop()
        self.standby.start()
        self.standby.promote()

    async def fail_over(self) -> None:
        """The same, and each client loses what it was connected by."""
        self.take_over()
        with pytest.raises(UnavailableError):
            await self.connections.rows("SELECT 1 / 0")

    async def until_a_commit_waits(self) -> None:
        """For the standby."""
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        await until(lambda: self.told(waiting))


type Pairs = Callable[[dict[str, str]], Pair]


@pytest.fixture(scope="session")
def twins(programs: Programs) -> tuple[Server, Server]:
    """A primary and a standby with an up to date schema, to make pairs of."""
    for name in ("twin", "other"):
        (programs.folder / name).mkdir()
    with served(programs, programs.folder / "twin") as primary:
        asyncio.run(migrate(primary.url))
        standby = primary.standby(programs.folder / "other")
        primary.stop("fast")
    return primary, standby


@pytest.fixture
async def pairs(twins: tuple[Server, Server], folders: Folders) -> AsyncIterator[Pairs]:
    """Makes a pair whose standby is stopped."""
    made = []

    def pair(settings: dict[str, str]) -> Pair:
        primary, standby = twins[0].copy(folders("primary")), twins[1].copy(folders("standby"))
        standby.follow(primary)
        primary.set(settings)
        primary.start()
        made.append(Pair(primary, standby))
        return made[-1]

    yield pair
    for both in made:
        await both.connections.close()
        both.standby.stop()
        both.primary.stop()
