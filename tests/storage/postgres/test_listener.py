"""A notification is heard at once; a connection that hears nothing any more is made anew."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from kwicket_storage import listener as module
from kwicket_storage.connections import Connections
from kwicket_storage.listener import Listener
from kwicket_storage.servers import Servers
from support.databases import Database
from support.ears import Heard, said_by


@pytest.fixture
async def heard(database: Database) -> AsyncIterator[Heard]:
    rung = Heard()
    task = asyncio.create_task(Listener(Servers(database.url), rung).run())
    await rung.until(None)
    yield rung
    task.cancel()
    await asyncio.wait([task])


CUT = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE query LIKE '%pg_notify($1%' AND pid <> pg_backend_pid() AND datname = current_database()
"""


async def test_a_pool_that_is_written_rings(heard: Heard, administrator: Any) -> None:
    await administrator.execute("SELECT pg_notify('kwicket', 'gpus')")
    await heard.until(None, "gpus")


async def test_what_another_program_notifies_of_is_not_heard(
    heard: Heard, administrator: Any
) -> None:
    await administrator.execute("SELECT pg_notify('others', 'x'), pg_notify('kwicket', 'gpus')")
    await heard.until(None, "gpus")


async def test_what_an_operator_has_written_itself_does_not_ring(
    database: Database, connections: Connections, administrator: Any
) -> None:
    """It knows that, and reading it again costs seven statements."""
    rung = Heard()
    task = asyncio.create_task(Listener(Servers(database.url), rung, connections.mine).run())
    await rung.until(None)
    await connections.rows("SELECT pg_notify('kwicket', 'own')")
    await administrator.execute("SELECT pg_notify('kwicket', 'gpus')")
    await rung.until(None, "gpus")
    task.cancel()
    await asyncio.wait([task])


async def test_after_a_lost_connection_all_may_have_changed(
    heard: Heard, administrator: Any
) -> None:
    await administrator.execute(CUT)
    await heard.until(None, None)
    await administrator.execute("SELECT pg_notify('kwicket', 'gpus')")
    await heard.until(None, None, "gpus")


async def test_it_listens_before_anybody_reads_anew(
    database: Database, administrator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else what is written between the two would be heard by nobody, until the next poll."""
    rung, listen = Heard(), asyncpg.Connection.add_listener

    async def noted(connection: Any, channel: str, callback: Any) -> None:
        await listen(connection, channel, callback)
        if channel == module.CHANNEL:
            rung("listens")

    monkeypatch.setattr(asyncpg.Connection, "add_listener", noted)
    task = asyncio.create_task(Listener(Servers(database.url), rung).run())
    await rung.until("listens", None)
    await administrator.execute(CUT)
    await rung.until("listens", None, "listens", None)
    task.cancel()
    await asyncio.wait([task])


async def test_a_connection_that_hears_nothing_is_made_anew(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind a pooler, where the LISTEN was of another server connection."""
    monkeypatch.setattr(module, "DEADLINE", 0.3)
    rung = Heard()
    deaf = Listener(Servers(database.url), rung)
    monkeypatch.setattr(deaf, "_heard", lambda *_: None)
    task = asyncio.create_task(deaf.run())
    await rung.until(None, None)
    task.cancel()
    await asyncio.wait([task])


async def test_what_only_the_driver_refuses_ends_nothing_and_is_not_repeated(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    url = "postgresql://known@/postgres?host=/nowhere&port=hidden"
    said = await said_by(Listener(Servers(url), Heard()), capsys, caplog)
    assert "can't be understood" in said
    assert "hidden" not in said
