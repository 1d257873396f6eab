"""When a shared backlog takes a cluster for missing, for who subclasses `BacklogContract` too.

A subclass gives the fixture `later`: time goes by in which nobody reaches the backlog of a pool.
"""

from collections.abc import Awaitable, Callable

from support.backlog_contract import RULES, Share, Shares

type Later = Callable[[str, float], Awaitable[None]]


async def missing(share: Share, pool: str, cluster: str = "east") -> float:
    """For how long a cluster is known to be missing."""
    members = (await share.backlog.hear(pool, 0)).members
    return next(one.missing for one in members if one.cluster == cluster)


class SilenceContract:
    """Of whoever keeps one."""

    async def test_who_was_away_itself_does_not_forget_another_for_its_silence(
        self, later: Later, east: Share, west: Share, pool: str
    ) -> None:
        """It may have been the backlog that nobody reached."""
        await later(pool, 150)
        assert await west.backlog.beat(pool, RULES)
        assert await missing(west, pool) < 60
        assert not await west.backlog.forget(pool, "east", 90)
        await west.backlog.join(pool, RULES)
        assert not await west.backlog.forget(pool, "east", 90)

    async def test_who_was_there_all_the_time_forgets_another_for_its_silence(
        self, later: Later, share: Shares, east: Share, west: Share, pool: str
    ) -> None:
        """Also on the word of somebody who is no member."""
        for _ in range(6):
            await later(pool, 25)
            assert await west.backlog.beat(pool, RULES)
        assert await missing(west, pool) >= 150
        assert not await west.backlog.forget(pool, "east", 200)
        assert await share("-").backlog.forget(pool, "east", 120)

    async def test_nobody_is_forgotten_while_nobody_is_there(
        self, later: Later, share: Shares, east: Share, west: Share, pool: str
    ) -> None:
        for _ in range(6):
            await later(pool, 25)
            await west.backlog.alive(pool)
        await later(pool, 60)
        assert await missing(west, pool) == 0
        assert not await share("-").backlog.forget(pool, "east", 90)

    async def test_a_cluster_that_takes_no_part_but_is_alive_is_not_forgotten(
        self, later: Later, share: Shares, east: Share, west: Share, pool: str
    ) -> None:
        """Whichever process of it says so; another cluster of its name says nothing."""
        for _ in range(6):
            await later(pool, 25)
            await west.backlog.beat(pool, RULES)
            await share("east").backlog.alive(pool)
        assert await missing(west, pool) < 60
        [silent, _] = (await west.backlog.hear(pool, 0)).members
        assert silent.silence >= 150
        assert not await west.backlog.forget(pool, "east", 60)
        await later(pool, 25)
        await west.backlog.beat(pool, RULES)
        await share("east", identity="another").backlog.alive(pool)
        assert await west.backlog.forget(pool, "east", 20)
