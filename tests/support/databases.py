"""Databases of a PostgreSQL for tests."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest
from msgspec import Struct

from kwicket_storage.schema import migrate

WAITS = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = $1"


async def until(ask: Callable[[], Awaitable[object]]) -> None:
    """Until a server answers yes, which it must do soon."""
    async with asyncio.timeout(20):
        while True:
            if await ask():
                return
            await asyncio.sleep(0.01)


class Database(Struct, frozen=True):
    """One that was made for a test; a server that was given keeps it, and its users."""

    url: str

    @classmethod
    async def made(cls, server: str) -> "Database":
        """An empty one."""
        name = f"kwicket_{uuid.uuid4().hex}"
        connection = await asyncpg.connect(server)
        try:
            await connection.execute(f"CREATE DATABASE {name}")
        finally:
            await connection.close()
        return cls(urlsplit(server)._replace(path=f"/{name}").geturl())

    @property
    def name(self) -> str:
        """What the server calls it."""
        return urlsplit(self.url).path.removeprefix("/")

    async def told(self, query: str, *values: object) -> Any:
        """What it answers an administrator."""
        connection = await asyncpg.connect(self.url)
        try:
            return await connection.fetch(query, *values)
        finally:
            await connection.close()

    async def member(self, *roles: str) -> str:
        """The URL of a new user that is in these roles, and may nothing else."""
        name = f"kwicket_{uuid.uuid4().hex}"
        within = f"IN ROLE {', '.join(roles)}" if roles else ""
        await self.told(f"CREATE ROLE {name} LOGIN PASSWORD '{name}' {within}")
        return self.of(f"{name}:{name}")

    async def until_blocked(self) -> None:
        """Until somebody waits for a lock in it."""
        connection = await asyncpg.connect(self.url)
        try:
            await until(lambda: connection.fetchval(WAITS, self.name))
        finally:
            await connection.close()

    def of(self, user: str) -> str:
        """The URL by which a user comes, who needs no password or has it after a colon."""
        parts = urlsplit(self.url)
        host = parts.netloc.rpartition("@")[2]
        return parts._replace(netloc=f"{user}@{host}").geturl()


@pytest.fixture(scope="session")
def database(postgres: str) -> Database:
    """A database whose schema is up to date; tests share it, and name pools of their own."""
    return asyncio.run(_migrated(postgres))


@pytest.fixture(scope="session")
def operator_url(database: Database) -> str:
    """By which an operator comes there, with no more rights than it needs."""
    return asyncio.run(database.member("kwicket_operator"))


async def _migrated(server: str) -> Database:
    made = await Database.made(server)
    await migrate(made.url)
    return made
