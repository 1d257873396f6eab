"""What was called committed survives a crash of the server, however it was set up."""

import asyncpg
import pytest

from kwicket_storage.connections import Connections
from support.databases import Database

SETTING = "SELECT current_setting('synchronous_commit') AS found"


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
    [rows] = await connections.snapshot((SETTING, ()))
    assert list(rows) == [(server,)]
    await connections.close()
