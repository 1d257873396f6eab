"""How a shared backlog goes on without a cluster that moves away, for who subclasses others too.

A subclass gives the fixture `away`: a cluster of which no process is left goes by a ledger of its
own from then on, while something of it may still run.
"""

from collections.abc import Awaitable, Callable

import pytest
from msgspec.structs import replace

from kwicket.core.state import State
from kwicket.ports.backlog import News
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Page
from support.backlog_contract import (
    FIRST,
    LEASE,
    RULES,
    Share,
    Shares,
    foreign,
    granted,
    joined,
    opened,
    told,
)
from support.builders import intent
from support.silence_contract import Later, missing

type Away = Callable[[str, str], Awaitable[None]]


class DepartureContract:
    """Of whoever keeps one."""

    async def test_who_moves_away_with_nothing_that_runs_leaves(
        self, away: Away, east: Share, west: Share, pool: str
    ) -> None:
        """A grant that it did not take up is no start."""
        page = await opened(west, pool, State(1))
        theirs = intent("a-1", token=7)
        await granted(west, page, replace(theirs, lease=foreign(theirs.lease)))
        await east.backlog.tell(pool, News(waiting=(FIRST,)), 7)
        before = (await west.backlog.hear(pool, 0)).upto
        await away(pool, "east")
        heard = await west.backlog.hear(pool, before)
        assert [one.cluster for one in heard.members] == ["west"]
        assert heard.left == (foreign(FIRST).uid,)

    async def test_what_was_taken_up_holds_its_slot_though_nobody_has_seen_it_run(
        self, away: Away, east: Share, west: Share, pool: str
    ) -> None:
        """It may have been started right before its process was killed."""
        page = await opened(west, pool, State(1))
        late, lost = (intent(uid, token=token) for uid, token in (("a-1", 7), ("a-2", 8)))
        theirs = (replace(one, lease=foreign(one.lease)) for one in (late, lost))
        page = await granted(west, page, *theirs)
        read = await east.ledger.read(pool)
        assert read is not None
        assert (await east.backlog.claim(read, (7,))).tokens == (7,)
        before = (await west.backlog.hear(pool, 0)).upto
        await away(pool, "east")
        assert told(await west.backlog.hear(pool, before)).running == (foreign(late.lease),)
        page = await newest(west, pool)
        await west.ledger.commit(page, replace(page.state, intents=()))
        assert (await west.backlog.hear(pool, 0)).running == (foreign(late.lease),)

    async def test_who_has_moved_away_keeps_its_slots_however_long_it_is_silent(
        self, away: Away, later: Later, east: Share, west: Share, pool: str
    ) -> None:
        await east.backlog.tell(pool, News(running=(LEASE,)), 7)
        await away(pool, "east")
        for _ in range(6):
            await later(pool, 25)
            assert await west.backlog.beat(pool, RULES)
        assert await missing(west, pool) == 0
        assert not await west.backlog.forget(pool, "east", 0)
        assert (await west.backlog.hear(pool, 0)).running == (foreign(LEASE),)

    async def test_who_comes_back_tells_first_what_it_started_meanwhile(
        self, away: Away, share: Shares, east: Share, west: Share, pool: str
    ) -> None:
        page = await opened(west, pool, State(1))
        await east.backlog.tell(pool, News(running=(LEASE,)), 7)
        await away(pool, "east")
        assert await west.ledger.read(pool) == page
        await share("east").backlog.join(pool, RULES)
        with pytest.raises(UnavailableError, match="east must tell first"):
            await west.ledger.read(pool)
        meanwhile = replace(LEASE, uid="a-9", token=9)
        await joined(share("east"), pool, News(running=(LEASE, meanwhile)))
        assert await west.ledger.read(pool) == page
        running = (await west.backlog.hear(pool, 0)).running
        assert set(running) == {foreign(LEASE), foreign(meanwhile)}


async def newest(share: Share, pool: str) -> Page:
    page = await share.ledger.read(pool)
    assert page is not None
    return page
