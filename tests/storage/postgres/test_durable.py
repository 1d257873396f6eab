"""What was called committed survives a crash of the server, however it was set up."""

import asyncpg
import pytest

from kwicket.core.state import State
from kwicket.ports.ledger import Page
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections
from kwicket_storage.postgres import PostgresLedger
from kwicket_storage.schema import migrate
from support.databases import Database, until
from support.servers import Server

pytestmark = pytest.mark.usefixtures("way")

SETTING = "SELECT current_setting('synchronous_commit') AS found"
SETTINGS = [("off", "local"), ("local", "local"), ("remote_write", "remote_write")]
NOTES = """
    CREATE TABLE noted (found text);
    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO noted VALUES (current_setting('synchronous_commit'));
        RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER note AFTER UPDATE ON kwicket.pools
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note();
"""
"""Notes the setting when a commit is about to be written down."""
OFF = "SELECT current_setting('synchronous_commit') = 'off'"


@pytest.mark.parametrize(("server", "ours"), SETTINGS)
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
    assert await connections.row(SETTING) == ("local",)
    await administrator.close()
    await connections.close()


@pytest.mark.parametrize(("server", "ours"), SETTINGS)
async def test_so_does_the_commit_of_a_page(empty: Database, server: str, ours: str) -> None:
    await migrate(empty.url)
    administrator = await asyncpg.connect(empty.url)
    await administrator.execute(NOTES)
    await administrator.execute(f"ALTER DATABASE {empty.name} SET synchronous_commit = {server}")
    connections = Connections(empty.url)
    ledger = PostgresLedger(connections, Cluster("east"))
    page = await ledger.open("p", State(1))
    assert isinstance(page, Page)
    assert isinstance(await ledger.commit(page, State(2)), Page)
    assert await administrator.fetchval("SELECT array_agg(found) FROM noted") == [ours]
    await administrator.close()
    await connections.close()
