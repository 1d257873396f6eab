"""Another user, or password in the file of the URL, while operators are at work."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from structlog.testing import capture_logs

from kwicket_storage.connections import Connections
from kwicket_storage.listener import Listener
from kwicket_storage.schema import migrate
from kwicket_storage.servers import Servers
from support.builders import job_seen
from support.databases import until
from support.ears import Heard
from support.postgres_world import PostgresWorld
from support.servers import Server

END = """
    SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE usename = 'east'
"""
LISTENS = """
    SELECT count(*) > 0 FROM pg_stat_activity
    WHERE query LIKE '%pg_notify($1%' AND usename = 'east'
"""
WHO = "SELECT user::text AS name"


@pytest.fixture
async def known(locked: Server) -> AsyncIterator[Any]:
    """The administrator's connection; there are the schema and two operators with passwords."""
    await migrate(locked.url)
    connection = await asyncpg.connect(locked.url)
    for user in ("east", "next"):
        await connection.execute(f"CREATE ROLE {user} LOGIN PASSWORD 'first'")
        await connection.execute(f"GRANT kwicket_operator TO {user}")
    yield connection
    await connection.close()


@pytest.fixture
def file(locked: Server, tmp_path: Path) -> Path:
    """The URL of an operator."""
    made = tmp_path / "url"
    write(made, locked, "east:first")
    return made


def write(file: Path, server: Server, who: str) -> None:
    file.write_text(f"postgresql://{who}@/postgres?host={server.folder}\n")


def tear(file: Path) -> None:
    """Leaves half of what is in it, as who writes it anew may."""
    file.write_text(file.read_text()[:20])


async def rotate(known: Any, file: Path, server: Server) -> None:
    """A new password takes the place of the old one, and ends all that came by that."""
    await known.execute("ALTER ROLE east PASSWORD 'second'")
    write(file, server, "east:second")
    assert await known.fetchval(END) > 0


async def test_jobs_start_after_the_password_was_rotated(
    locked: Server, known: Any, file: Path
) -> None:
    async with PostgresWorld.at(file, "east") as world:
        await world.replica()
        world.api.create(job_seen("x-1"))
        await world.until(lambda: world.started() == ["x-1"])
        await rotate(known, file, locked)
        world.api.change("x-1", ended=True)
        world.api.create(job_seen("x-2"))
        await world.until(lambda: world.started() == ["x-2"])


async def test_who_listens_hears_again_after_the_password_was_rotated(
    locked: Server, known: Any, file: Path
) -> None:
    heard = Heard()
    task = asyncio.create_task(Listener(Servers(file), heard).run())
    await heard.until(None)
    await rotate(known, file, locked)
    await heard.until(None, None)
    await known.execute("SELECT pg_notify('kwicket', 'gpus')")
    await heard.until(None, None, "gpus")
    task.cancel()
    await asyncio.wait([task])


async def test_a_file_that_can_not_be_used_when_connections_end_is_said_once(
    known: Any, file: Path
) -> None:
    async with PostgresWorld.at(file, "east") as world:
        await world.replica()
        tear(file)
        with capture_logs() as logs:
            assert await known.fetchval(END) > 1
            world.api.create(job_seen("x-1"))
            await world.until(lambda: world.started() == ["x-1"])
            await until(lambda: known.fetchval(LISTENS))
    [said] = [one for one in logs if one["event"] == "connecting by the URL of before"]
    assert str(file) in said["error"]


async def test_once_the_next_user_has_come_the_former_one_comes_no_more(
    locked: Server, known: Any, file: Path
) -> None:
    """Else nobody could tell when the former one may be dropped."""
    connections = Connections(file)
    assert (await connections.row(WHO)) == ("east",)
    write(file, locked, "next:first")
    await asyncio.gather(*(connections.row(WHO) for _ in range(2)))
    found = await asyncio.gather(*(connections.row(WHO) for _ in range(4)))
    assert {row["name"] for row in found if row is not None} == {"next"}
    await connections.close()
