"""What the settings ask for, put together on a real server."""

import asyncio
from pathlib import Path
from typing import Any, cast

import asyncpg
import pytest

from kwicket import ledgers as module
from kwicket.kube.client import Client
from kwicket.ledgers import ledgers
from kwicket.ports.errors import UnavailableError
from kwicket.settings import Shared
from kwicket_storage import history
from kwicket_storage.migrations import MAJOR
from kwicket_storage.schema import migrate
from support.databases import Database, until
from support.twins import Pairs

RAN = """
    INSERT INTO kwicket.grants (pool, token, cluster, job, uid, tenant, lane, width, ended, outcome)
    SELECT 'gpus', days, 'east', 'team/j', 'u', 'alice', '', 1,
        now() - make_interval(days => days), 'Ended'
    FROM generate_series(1, 9) AS days
"""
KEPT = "SELECT array_agg(token ORDER BY token) AS days FROM kwicket.grants"
NEWER = "UPDATE kwicket.migrations SET major = $1"


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    """Of an API server that is asked for nothing but who it is."""

    async def here(_: Client) -> str:
        return "here"

    monkeypatch.setattr(module, "identity_of", here)
    return cast("Client", None)


async def test_a_newer_schema_is_refused_also_by_who_began_while_the_server_was_away(
    empty: Database, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate(empty.url)
    administrator: Any = await asyncpg.connect(empty.url)
    await administrator.execute(NEWER, MAJOR + 1)

    async def away(_: str) -> None:
        raise OSError("the server is not reached")

    monkeypatch.setattr(module, "look", away)
    async with ledgers(Shared(empty.url, "east"), client) as found:
        with pytest.raises(UnavailableError, match="install a newer Kwicket"):
            await found.ledger.read("pool")
        await administrator.execute(NEWER, MAJOR)
        assert await found.ledger.read("pool") is None
    await administrator.close()


async def test_who_begins_in_a_failover_waits_for_a_server_that_takes_writes(
    pairs: Pairs, client: Client
) -> None:
    """The primary is gone, and its standby is one still."""
    both = pairs({})
    both.standby.start()
    both.primary.stop()
    async with ledgers(Shared(both.url, "east"), client) as found:
        with pytest.raises(UnavailableError, match="takes no writes"):
            await found.ledger.read("pool")
        both.standby.promote()
        assert await found.ledger.read("pool") is None


async def test_a_direct_url_that_is_none_is_refused_at_the_start_without_being_repeated(
    empty: Database, client: Client, tmp_path: Path
) -> None:
    await migrate(empty.url)
    wrong = tmp_path / "listen-url"
    wrong.write_text("postgresql://known:a@host:hidden/postgres")
    with pytest.raises(ValueError, match="listen-url: PostgreSQL: the URL can't be") as caught:
        async with ledgers(Shared(empty.url, "east", listen=wrong), client):
            pass
    assert "hidden" not in str(caught.value)


async def test_grants_are_kept_for_as_many_days_as_the_settings_say(
    empty: Database, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "EVERY", 0.01)
    await migrate(empty.url)
    await empty.told(RAN)

    async def kept() -> list[int]:
        [row] = await empty.told(KEPT)
        found: list[int] = row["days"]
        return found

    async def pruned() -> bool:
        return len(await kept()) < 9

    url = await empty.member("kwicket_operator")
    async with ledgers(Shared(url, "east", history=4.5), client) as found:
        chores = [asyncio.create_task(chore(lambda _: None)) for chore in found.chores]
        await until(pruned)
        assert await kept() == [1, 2, 3, 4]
        for one in chores:
            one.cancel()
        await asyncio.wait(chores)
