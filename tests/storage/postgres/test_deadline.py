"""A grant that its cluster does not take up within a minute may be given back by any other."""

from typing import Any

import pytest
from msgspec.structs import replace

from kwicket.core.state import State
from kwicket.ports.ledger import Page
from kwicket_storage.backlog import START_DEADLINE
from kwicket_storage.connections import Connections
from support.backlog_contract import Share, foreign, granted, joined, opened
from support.builders import intent
from support.shares import share_of

GRANT = intent("a-1", token=7)
FOREIGN = replace(GRANT, lease=foreign(GRANT.lease))
EARLIER = "UPDATE kwicket.grants SET {0} = {0} - make_interval(secs => $2) WHERE pool = $1"


@pytest.fixture
async def east(connections: Connections, pool: str) -> Share:
    return await joined(share_of(connections, "east"), pool)


@pytest.fixture
async def west(connections: Connections, pool: str) -> Share:
    return await joined(share_of(connections, "west"), pool)


@pytest.fixture
async def page(east: Share, west: Share, pool: str) -> Page:
    """West has granted a Job of east."""
    return await granted(west, await opened(west, pool, State(1)), FOREIGN)


async def overdue(who: Share, pool: str) -> tuple[int, ...]:
    return (await who.backlog.hear(pool, 0)).overdue


async def takes_up(who: Share, pool: str) -> bool:
    """Whether Jobs of east are granted by others."""
    [east] = [one for one in (await who.backlog.hear(pool, 0)).members if one.cluster == "east"]
    return east.takes_up


async def test_what_is_not_taken_up_within_its_time_is_overdue_for_all_others(
    east: Share, west: Share, page: Page, pool: str, administrator: Any
) -> None:
    await administrator.execute(EARLIER.format("granted"), pool, START_DEADLINE - 5)
    assert await overdue(west, pool) == ()
    await administrator.execute(EARLIER.format("granted"), pool, 10.0)
    assert await overdue(west, pool) == (7,)
    assert await overdue(east, pool) == ()


async def test_what_was_taken_up_is_never_overdue(
    east: Share, west: Share, page: Page, pool: str, administrator: Any
) -> None:
    read = await east.ledger.read(pool)
    assert read is not None
    assert (await east.backlog.claim(read, (7,))).tokens == (7,)
    await administrator.execute(EARLIER.format("granted"), pool, 10 * START_DEADLINE)
    assert await overdue(west, pool) == ()


async def test_who_did_not_take_up_a_grant_is_given_none_for_as_long_again(
    east: Share, west: Share, page: Page, pool: str, administrator: Any
) -> None:
    assert await takes_up(west, pool)
    assert isinstance(await west.ledger.commit(page, State(8)), Page)
    assert not await takes_up(west, pool)
    await administrator.execute(EARLIER.format("ended"), pool, START_DEADLINE - 5)
    assert not await takes_up(west, pool)
    await administrator.execute(EARLIER.format("ended"), pool, 10.0)
    assert await takes_up(west, pool)
