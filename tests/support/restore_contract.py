"""What a shared backlog remembers of a cluster, for who subclasses `BacklogContract` too."""

from kwicket.core.pools import Shown
from kwicket.core.state import State
from kwicket.ports.backlog import News, Remembered
from support.backlog_contract import RULES, Share, Shares, joined, opened

FIRST, MORE, LESS = Shown("u1", 100), Shown("u1", 120), Shown("u1", 90)
ANOTHER = Shown("u2", 500)


async def remembered(share: Share, pool: str) -> Remembered:
    return await share.backlog.join(pool, RULES)


class RestoreContract:
    """Of whoever keeps one."""

    async def test_of_a_cluster_that_is_new_nothing_is_remembered(
        self, share: Shares, pool: str
    ) -> None:
        assert await remembered(share("east"), pool) == Remembered()

    async def test_the_most_that_a_status_has_shown_is_remembered(
        self, share: Shares, east: Share, west: Share, pool: str
    ) -> None:
        """Of this cluster's Pool, and not of one of another UID: that was made anew."""
        await east.backlog.tell_all(pool, News(), 0, FIRST)
        for shown in (MORE, LESS, ANOTHER):
            assert await east.backlog.beat(pool, RULES, shown)
        assert (await remembered(share("east"), pool)).shown == MORE
        assert (await remembered(west, pool)).shown == Shown()

    async def test_what_it_shows_when_all_is_told_is_what_counts_then(
        self, share: Shares, east: Share, pool: str
    ) -> None:
        for shown in (MORE, LESS, ANOTHER):
            await east.backlog.tell_all(pool, News(), 0, shown)
            assert (await remembered(east, pool)).shown == shown

    async def test_a_former_process_shows_nothing(
        self, share: Shares, east: Share, pool: str
    ) -> None:
        await east.backlog.tell_all(pool, News(), 0, FIRST)
        await joined(share("east"), pool)
        await east.backlog.beat(pool, RULES, MORE)
        assert (await remembered(share("east"), pool)).shown == Shown()

    async def test_a_doubt_outlives_the_process_that_had_it_until_all_is_told(
        self, share: Shares, east: Share, west: Share, pool: str
    ) -> None:
        await east.backlog.tell_all(pool, News(), 0, MORE)
        await east.backlog.doubt(pool, 130)
        await east.backlog.doubt(pool, 110)
        fresh = share("east")
        before = await remembered(fresh, pool)
        assert (before.shown, before.doubt) == (MORE, 130)
        assert (await remembered(west, pool)).doubt == 0
        await fresh.backlog.tell_all(pool, News(), 0, LESS)
        before = await remembered(share("east"), pool)
        assert (before.shown, before.doubt) == (LESS, 0)

    async def test_a_cluster_of_the_same_name_casts_no_doubt(
        self, share: Shares, east: Share, pool: str
    ) -> None:
        await share("east", identity="another").backlog.doubt(pool, 130)
        assert (await remembered(east, pool)).doubt == 0

    async def test_the_highest_token_is_that_of_all_clusters_and_of_the_page(
        self, share: Shares, east: Share, west: Share, pool: str
    ) -> None:
        await west.backlog.tell(pool, News(), 7)
        assert (await remembered(east, pool)).highest == 7
        await opened(west, pool, State(50))
        assert (await remembered(east, pool)).highest == 50
        await west.backlog.tell_all(pool, News(), 0, FIRST)
        assert (await remembered(west, pool)).highest == FIRST.token
