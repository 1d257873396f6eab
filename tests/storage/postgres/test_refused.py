"""Rows 25 and 26 of the fault matrix: a transaction that the server does not take."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kwicket.core.state import State
from kwicket.ports.backlog import News
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Page
from kwicket_storage import connections as module
from kwicket_storage.connections import Connections
from kwicket_storage.schema import migrate
from kwicket_storage.transactions import SETTINGS
from support.backlog_contract import Share, granted, joined, opened
from support.builders import intent, ticket
from support.databases import Database
from support.postgres import Folders
from support.programs import Programs
from support.servers import Server, served
from support.shares import share_of

FAILING = """
    CREATE SEQUENCE {name}_tries;
    CREATE FUNCTION {name}_fails() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
        IF nextval('{name}_tries') <= {times} THEN
            {fails};
        END IF;
        RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER {name} AFTER INSERT OR UPDATE ON kwicket.{table} {when}
        FOR EACH ROW WHEN (NEW.pool = '{pool}') EXECUTE FUNCTION {name}_fails();
"""
AT_ONCE, AT_COMMIT = "NOT DEFERRABLE", "DEFERRABLE INITIALLY DEFERRED"


@pytest.fixture
def share(way: None, connections: Connections) -> Share:
    return share_of(connections, "east", "east")


@pytest.fixture
async def page(share: Share, pool: str) -> Page:
    await joined(share, pool)
    return await opened(share, pool, State(1))


class Failing:
    """Makes the server refuse what writes grants to a pool."""

    def __init__(self, administrator: Any, pool: str) -> None:
        self._administrator = administrator
        self._pool = pool

    async def __call__(self, fails: str, times: int, when: str = AT_ONCE) -> None:
        name = self._pool.replace("-", "_")
        await self._administrator.execute(
            FAILING.format(
                name=name, pool=self._pool, fails=fails, times=times, when=when, table="grants"
            )
        )


@pytest.fixture
async def failing(administrator: Any, pool: str) -> AsyncIterator[Failing]:
    yield Failing(administrator, pool)
    name = pool.replace("-", "_")
    await administrator.execute(f"DROP FUNCTION IF EXISTS {name}_fails CASCADE")


def refused(state: str) -> str:
    """What the server does to a transaction of that end."""
    return f"RAISE EXCEPTION 'refused' USING ERRCODE = '{state}'"


@pytest.mark.parametrize("state", ["40001", "40P01"])
@pytest.mark.parametrize("when", [AT_ONCE, AT_COMMIT])
async def test_26_what_was_rolled_back_for_another_transaction_is_tried_again(
    share: Share, page: Page, failing: Failing, administrator: Any, state: str, when: str
) -> None:
    await failing(refused(state), module.ATTEMPTS - 1, when)
    written = await granted(share, page, intent("a-1", token=2))
    assert await share.ledger.read(page.pool) == written
    count = "SELECT count(*) FROM kwicket.grants WHERE pool = $1"
    assert await administrator.fetchval(count, page.pool) == 1


async def test_what_somebody_else_warns_of_stops_nothing(
    share: Share, page: Page, failing: Failing
) -> None:
    await failing("RAISE WARNING 'by a trigger'", 100)
    written = await granted(share, page, intent("a-1", token=2))
    assert await share.ledger.read(page.pool) == written


@pytest.mark.parametrize("state", ["40001", "40P01", "53100", "55P03", "57014"])
@pytest.mark.parametrize("when", [AT_ONCE, AT_COMMIT])
async def test_26_what_the_server_goes_on_to_refuse_is_given_up_whole(
    share: Share, page: Page, failing: Failing, administrator: Any, state: str, when: str
) -> None:
    await failing(refused(state), 100, when)
    with pytest.raises(UnavailableError, match=state):
        await granted(share, page, intent("a-1", token=2))
    assert await share.ledger.read(page.pool) == page
    tell = "SELECT FROM kwicket.grants WHERE pool = $1"
    assert await administrator.fetch(tell, page.pool) == []


async def test_26_the_victim_of_a_deadlock_tries_again(
    share: Share, page: Page, administrator: Any, database: Database
) -> None:
    page = await granted(share, page, intent("a-1", token=2))
    await administrator.execute("SET deadlock_timeout = '1min'")  # we are the victim
    async with administrator.transaction():
        await administrator.execute(
            "UPDATE kwicket.grants SET job = job WHERE pool = $1", page.pool
        )
        claim = asyncio.create_task(share.backlog.claim(page, (2,)))
        await database.until_blocked()
        await administrator.execute(
            "UPDATE kwicket.pools SET state = state WHERE name = $1", page.pool
        )
    assert (await claim).tokens == (2,)


async def test_26_a_lock_that_others_hold_is_waited_for_no_longer_than_its_time(
    connections: Connections,
    share: Share,
    page: Page,
    administrator: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(SETTINGS, "lock_timeout", "50ms")
    await connections.close()  # those that are open have more patience
    async with administrator.transaction():
        await administrator.execute(
            "SELECT FROM kwicket.pools WHERE name = $1 FOR UPDATE", page.pool
        )
        with pytest.raises(UnavailableError, match="55P03"):
            await share.ledger.commit(page, State(2))
    assert isinstance(await share.ledger.commit(page, State(2)), Page)


async def test_26_a_statement_that_takes_too_long_leaves_nothing(
    connections: Connections,
    share: Share,
    page: Page,
    failing: Failing,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await failing("PERFORM pg_sleep(30)", 1)
    monkeypatch.setitem(SETTINGS, "statement_timeout", "99ms")
    await connections.close()
    with pytest.raises(UnavailableError, match="57014"):
        await granted(share, page, intent("a-1", token=2))
    assert await share.ledger.read(page.pool) == page


@pytest.fixture
def small(programs: Programs, folders: Folders) -> Iterator[Server]:
    """A server on a disk of its own of 96 MiB."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk: run the tests as root")
    folder = folders("small")
    mount = ["mount", "-t", "tmpfs", "-o", "size=96m", "kwicket-test", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:  # noqa: S603 - our own
        pytest.skip("root may not mount here: run the tests in a container with CAP_SYS_ADMIN")
    try:
        with served(programs, folder) as server:
            yield server
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)  # noqa: S603, S607 - our own


async def test_25_a_full_disk_loses_nothing_and_is_over_when_there_is_room(small: Server) -> None:
    await migrate(small.url)
    connections = Connections(small.url)
    east = share_of(connections, "east", "east")
    await joined(east, "p")
    page = await granted(east, await opened(east, "p", State(1)), intent("a-1", token=2))
    ballast = small.folder / "ballast"
    fill(ballast)
    many = News(waiting=tuple(ticket(f"a-{n}", "alice" * 200) for n in range(900)))
    with pytest.raises(UnavailableError, match="make room"):
        await tell_on(east, many)
    assert await east.ledger.read("p") == page
    ballast.unlink()
    await east.backlog.tell("p", many, 2)
    assert isinstance(await east.ledger.commit(page, State(3)), Page)
    await connections.close()


async def tell_on(share: Share, news: News) -> None:
    """Tells of more and more tickets, until the server takes no more."""
    for n in range(100):
        more = tuple(replace(one, uid=f"{one.uid}-{n}") for one in news.waiting)
        await share.backlog.tell("p", News(waiting=more), 2)


def fill(ballast: Path) -> None:
    """Fills a disk."""
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(65536))
        except OSError:
            return
