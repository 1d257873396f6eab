"""Two planes with the chart installed, and a database that their operators share."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from e2e.clusters.sites import Installed, Site, installed, opened
from kwicket_storage.schema import migrate
from support.databases import Database
from support.postgres import running
from support.servers import Server


@pytest.fixture(scope="package")
def planes(
    own_planes: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Installed]]:
    """East and west."""
    with (
        installed(tmp_path_factory.mktemp("east")) as east,
        installed(tmp_path_factory.mktemp("west")) as west,
    ):
        yield {"east": east, "west": west}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A PostgreSQL of its own, which a test may stop and start."""
    with running() as made:
        yield made


@pytest.fixture(scope="module")
def database(server: Server) -> Database:
    """One that is empty but for the schema."""
    return asyncio.run(_migrated(server.url))


async def _migrated(url: str) -> Database:
    made = await Database.made(url)
    await migrate(made.url)
    return made


@pytest.fixture
async def sites(
    planes: dict[str, Installed], database: Database, tmp_path: Path
) -> AsyncIterator[dict[str, Site]]:
    """Both, each with a namespace `shared` in which nothing runs.

    Operators come to the database with the rights of an operator and no others.
    """
    url = tmp_path / "url"
    url.write_text(await database.member("kwicket_operator"))
    async with opened(planes, url, tmp_path) as made:
        yield made
