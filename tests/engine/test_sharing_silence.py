"""Whose slots are free after a silence: only of who is missing while others are there.

And whose slots stay taken though it tells nothing: of a cluster that went back to a backup.
"""

import pytest

from kwicket.core.pools import NOTHING, Shown
from kwicket.ports.backlog import Remembered
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Page
from kwicket_storage.clusters import Cluster
from kwicket_storage.shared_memory import SharedMemory, SharedMemoryBacklog, SharedMemoryLedger
from support.builders import catalog, job_seen, jobs, pool
from support.clusters import ClusterWorld
from support.fakes import Backup

LAPSE = 120


class Away(SharedMemoryBacklog):
    """A database that nobody reaches, while it is told to; each cluster is back at its own time."""

    down: frozenset[str] = frozenset()

    async def join(self, pool: str, rules: str) -> Remembered:
        self._reach()
        return await super().join(pool, rules)

    async def beat(self, pool: str, rules: str, shown: Shown = NOTHING) -> bool:
        self._reach()
        return await super().beat(pool, rules, shown)

    async def alive(self, pool: str) -> None:
        self._reach()
        await super().alive(pool)

    def _reach(self) -> None:
        if self._cluster.name in Away.down:
            raise UnavailableError("the server is gone")


class AwayLedger(SharedMemoryLedger):
    """The pages of it."""

    async def read(self, pool: str) -> Page | None:
        if self._cluster.name in Away.down:
            raise UnavailableError("the server is gone")
        return await super().read(pool)


async def test_after_an_outage_of_the_database_nobody_is_missing_who_is_not_back_yet(
    memory: SharedMemory,
    east: ClusterWorld,
    west: ClusterWorld,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for world, name in ((east, "east"), (west, "west")):
        world.catalog, world.lapse, world.backlogs = catalog(pool(), jobs(1)), LAPSE, Away
        world.shelf()
        await world.replica(AwayLedger(memory, Cluster(name)))
    west.api.create(job_seen("y", "bob"))
    await west.until(lambda: west.started() == ["y"])
    east.api.create(job_seen("x", "alice"))
    await east.moment()
    monkeypatch.setattr(Away, "down", frozenset({"east", "west"}))
    await east.moment(150)
    monkeypatch.setattr(Away, "down", frozenset({"west"}))
    await east.moment(60)
    assert east.started() == []
    monkeypatch.undo()
    await east.moment(300)
    assert east.started() == []
    west.api.change("y", ended=True)
    await east.until(lambda: east.started() == ["x"], seconds=2)


async def test_an_outage_of_the_database_is_said_though_nothing_changes_and_soon_over(
    memory: SharedMemory, east: ClusterWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 28 of the fault matrix: nothing is granted, what runs goes on, and both words say why."""
    east.catalog, east.backlogs = catalog(pool(), jobs(1)), Away
    east.shelf()
    replica = await east.replica(AwayLedger(memory, Cluster("east")))
    east.api.create(job_seen("x", "alice"))
    await east.until(lambda: east.started() == ["x"])
    east.api.create(job_seen("y", "bob"))
    await east.moment(60)
    monkeypatch.setattr(Away, "down", frozenset({"east"}))
    await east.moment(15)
    _, [ready, *_] = replica.notices.pools["pool"]
    assert (ready.true, ready.reason) == (False, "LedgerUnavailable")
    assert "the server is gone" in ready.message
    assert replica.number("kwicket_ledger_up", pool="pool") == 0
    await east.moment(200)
    assert east.started() == ["x"]
    monkeypatch.undo()
    await east.moment(10)
    _, [ready, *_] = replica.notices.pools["pool"]
    assert (ready.true, ready.reason) == (True, "Serving")
    assert replica.number("kwicket_ledger_up", pool="pool") == 1


async def backed_up(west: ClusterWorld) -> Backup:
    """A backup in which `old` runs; since then that one has ended, and `y` runs."""
    west.api.create(job_seen("old", suspended=False, token=5, granted_pool="pool"))
    await west.moment(3)
    backup = Backup(west.api)
    west.api.change("old", ended=True)
    west.api.create(job_seen("y", "bob"))
    await west.until(lambda: west.started() == ["y"])
    return backup


async def test_what_ran_in_a_cluster_that_went_back_to_a_backup_keeps_its_slots_until_the_word(
    east: ClusterWorld, west: ClusterWorld
) -> None:
    """It tells nothing of what its backup has, and is no silent cluster either."""
    for world in (east, west):
        world.catalog, world.lapse = catalog(pool(), jobs(1)), LAPSE
    await east.replica()
    replica = await west.replica()
    backup = await backed_up(west)
    given = west.job("y").token or 0
    east.api.create(job_seen("x", "alice"))
    await east.moment()
    west.api.restore(backup, bump=100)
    await replica.cluster.relist()
    west.api.change("old", ended=True)
    await east.moment(4 * LAPSE)
    assert replica.notices.pools["pool"][1][0].reason == "WentBack"
    assert east.started() == []
    await west.declare(catalog(pool(above=given + 100), jobs(1)))
    await east.until(lambda: east.started() == ["x"], seconds=10)


async def test_a_follower_that_saw_its_cluster_go_back_tells_nothing_when_it_leads(
    east: ClusterWorld, west: ClusterWorld
) -> None:
    for world in (east, west):
        world.catalog, world.lapse = catalog(pool(), jobs(1)), LAPSE
    await east.replica()
    leader, follower = await west.replica(), await west.replica(leads=False)
    backup = await backed_up(west)
    given = west.job("y").token or 0
    east.api.create(job_seen("x", "alice"))
    await east.moment(3)
    await leader.crash()
    west.api.restore(backup, bump=100)
    await follower.cluster.relist()
    west.api.change("old", ended=True)
    follower.leadership.lead()
    await east.moment(4 * LAPSE)
    assert east.started() == []
    await west.declare(catalog(pool(above=given + 100), jobs(1)))
    await east.until(lambda: east.started() == ["x"], seconds=10)
