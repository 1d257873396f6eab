"""Each transaction that others must read of wakes them once, by the name of the pool."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import pytest
from msgspec import Struct
from msgspec.structs import replace

from kwicket.core.state import State
from kwicket.ports.backlog import News
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Conflict, Page
from kwicket_storage.backlog import PostgresBacklog
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections
from kwicket_storage.listener import CHANNEL
from kwicket_storage.memberships import Memberships, forgotten
from support.backlog_contract import FIRST, RULES, Share, joined, opened_page
from support.databases import Database
from support.ears import Heard
from support.shares import share_of

LAST = "the last one"
EAST, WEST = "notified-east", "notified-west"
"""Of names that no other test of this database gives to a cluster."""


class Shared(Struct, frozen=True):
    """A pool of two clusters that have told all, and its page."""

    connections: Connections
    pool: str
    page: Page
    east: Share
    west: Share


type Act = Callable[[Shared], Awaitable[object]]


@pytest.fixture
async def shared(connections: Connections, pool: str) -> Shared:
    east, west = [share_of(connections, name, name) for name in (EAST, WEST)]
    page = await opened_page(east.ledger, pool)
    return Shared(connections, pool, page, await joined(east, pool), await joined(west, pool))


@pytest.fixture
async def heard(database: Database, shared: Shared) -> AsyncIterator[Heard]:
    """What the server notifies of once the pool is shared."""
    rung = Heard()
    ears = await asyncpg.connect(database.url)
    await ears.add_listener(CHANNEL, lambda _, _pid, _channel, payload: rung(payload))
    yield rung
    await ears.close()


async def commit(shared: Shared) -> None:
    assert isinstance(await shared.east.ledger.commit(shared.page, State(2)), Page)


async def tell(shared: Shared) -> None:
    await shared.east.backlog.tell(shared.pool, News(waiting=(FIRST,)), 0)


async def tell_all(shared: Shared) -> None:
    await shared.east.backlog.tell_all(shared.pool, News(waiting=(FIRST,)), 0)


async def leave(shared: Shared) -> None:
    assert await shared.east.backlog.leave(shared.pool)


async def forget(shared: Shared) -> None:
    assert await shared.east.backlog.forget(shared.pool, WEST, 0)


async def forget_by_an_administrator(shared: Shared) -> None:
    assert await forgotten(shared.connections, shared.pool, WEST, 0)


async def retire(shared: Shared) -> None:
    members = Memberships(shared.connections, Cluster(EAST), EAST)
    kept = await members.end((await members.all())[shared.pool])
    assert kept is not None


async def commit_what_is_old(shared: Shared) -> None:
    old = replace(shared.page, stamp="old")
    assert isinstance(await shared.east.ledger.commit(old, State(2)), Conflict)


async def tell_after_another(shared: Shared) -> None:
    other = PostgresBacklog(shared.connections, Cluster(EAST), EAST)
    await other.join(shared.pool, RULES)
    with pytest.raises(UnavailableError):
        await tell(shared)


async def beat(shared: Shared) -> None:
    assert await shared.east.backlog.beat(shared.pool, RULES)


@pytest.mark.parametrize("act", [commit, tell, leave, forget, forget_by_an_administrator, retire])
async def test_what_others_must_read_wakes_them_once(
    shared: Shared, heard: Heard, administrator: Any, act: Act
) -> None:
    await act(shared)
    await administrator.execute("SELECT pg_notify($1, $2)", CHANNEL, LAST)
    await heard.until(shared.pool, LAST)


async def test_who_tells_all_wakes_the_others_by_what_waits_and_by_saying_that_it_is_all(
    shared: Shared, heard: Heard, administrator: Any
) -> None:
    """Two transactions: only after the second one may the others go on."""
    await tell_all(shared)
    await administrator.execute("SELECT pg_notify($1, $2)", CHANNEL, LAST)
    await heard.until(shared.pool, shared.pool, LAST)


@pytest.mark.parametrize("act", [commit_what_is_old, tell_after_another, beat])
async def test_what_changes_nothing_for_the_others_wakes_nobody(
    shared: Shared, heard: Heard, administrator: Any, act: Act
) -> None:
    await act(shared)
    await administrator.execute("SELECT pg_notify($1, $2)", CHANNEL, LAST)
    await heard.until(LAST)
