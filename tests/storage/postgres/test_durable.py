"""What was called committed survives a crash of the server, however it was set up."""

import asyncpg
import pytest

from kwicket_storage.connections import Connections
from support.databases import Database, until
from support.servers import Server

pytestmark = pytest.mark.usefixtures("way")

SETTING = "SELECT current_setting('synchronous_commit') AS found"
OFF = "SELECT current_setting('synchronous_commit') = 'off'"


@pytest.mark.parametrize(
    ("server", "ours"), [("off", "local"), ("local", "local"), ("remote_write", "remote_write")]
)
async def test_a_commit_waits_for_the_disk_at_least(
    empty: Database, server: str, ours: str
) -> None:
    administrator = await asyncpg.connect(empty.url)
    await administrator.execute(f"ALTER DATABASE {empty.name} SET synchronous_commit = {server}")
    await administrator.close()
    connections = Connections(empty.url)
    assert await connections.row(SETTING) == (ours,)
    await connections.close()


async def test_so_it_does_if_the_server_is_set_up_anew_meanwhile(locked: Server) -> None:
    connections = Connections(locked.url)
    assert await connections.row(SETTING) == ("on",)
    administrator = await asyncpg.connect(locked.url)
    await administrator.execute("ALTER SYSTEM SET synchronous_commit = off")
    locked.reload()
    await until(lambda: administrator.fetchval(OFF))
    found = await connections.row(SETTING)
    assert found is not None
    assert found["found"] in {"on", "local"}
    await administrator.close()
    await connections.close()
