"""A cluster restored from a backup while its operator is away, on a real PostgreSQL: row 21."""

from kwicket_storage.schema import migrate
from support.builders import catalog, job_seen, jobs, pool
from support.databases import Database
from support.fakes import Backup
from support.postgres_world import PostgresWorld

SOON = 1.5
"""Seconds in which a status is written."""


async def test_21_a_cluster_that_went_back_while_its_operator_was_away_waits_for_a_word(
    empty: Database,
) -> None:
    """Another operator, which takes over from the first, waits too; the other cluster goes on."""
    await migrate(empty.url)
    async with (
        PostgresWorld.at(empty.url, "east") as east,
        PostgresWorld.at(empty.url, "west") as west,
    ):
        for world in (east, west):
            world.catalog = catalog(pool(), jobs(2))
        operator = await east.replica()
        await west.replica()
        east.api.create(job_seen("y", "bob"))
        await east.until(lambda: east.started() == ["y"])
        backup = Backup(east.api)
        await east.moment(SOON)
        await operator.crash()
        operator = await east.replica()
        west.api.create(job_seen("z", "zoe"))
        await west.until(lambda: west.started() == ["z"])
        await east.until(lambda: east.api.statuses["pool"].token == west.job("z").token)
        await operator.crash()
        operator = await east.replica()
        await operator.crash()

        east.api.restore(backup, bump=1000)
        for _ in range(2):
            operator = await east.replica()
            await east.moment(SOON)
            condition = operator.notices.pools["pool"][1][0]
            assert condition.reason == "WentBack"
            await operator.crash()
        west.api.create(job_seen("zz", "zoe"))
        west.api.change("z", ended=True)
        await west.until(lambda: west.started() == ["zz"])

        above = int(condition.message.rpartition("=")[2])
        east.catalog = catalog(pool(above=above), jobs(2))
        east.api.create(job_seen("yy", "bob"))
        east.api.change("y", ended=True)
        operator = await east.replica()
        await east.until(lambda: east.started() == ["yy"])
        assert (east.job("yy").token or 0) > above
