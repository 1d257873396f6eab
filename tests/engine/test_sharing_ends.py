"""When a Job of another cluster ended: what its tenant is charged, by whoever decides."""

import pytest

from kwicket.core.pools import Charging
from kwicket.ports.backlog import News, Remembered
from kwicket.ports.errors import UnavailableError
from kwicket_storage.shared_memory import SharedMemoryBacklog
from support.builders import catalog, job_seen, jobs, pool
from support.clusters import ClusterWorld


async def down_while_it_ended(west: ClusterWorld, east: ClusterWorld, *, deleted: bool) -> int:
    """A Job of the west ends, unseen, after 20 s, and its operator is back after 600; its mean."""
    for world in (east, west):
        world.catalog = catalog(pool(charging=Charging.TIME), jobs(1))
    await east.replica()
    dead = await west.replica()
    west.api.create(job_seen("y", "bob"))
    await west.until(lambda: west.started() == ["y"])
    await west.moment(10)
    await dead.crash()
    await west.moment(10)
    west.api.change("y", ended=True, finished=west.clock.now())
    if deleted:
        west.api.delete("y")
    await west.moment(580)
    await west.replica()
    await west.moment(10)
    return (await east.page()).means["bob"]


async def test_a_slot_that_was_told_to_be_free_is_free_though_its_cluster_is_gone(
    east: ClusterWorld, west: ClusterWorld
) -> None:
    """Its Job was over before the page was written again, and who decides was not there yet."""
    for world in (east, west):
        world.catalog = catalog(pool(), jobs(1))
    gone = await west.replica()
    west.api.create(job_seen("y", "bob"))
    await west.until(lambda: west.started() == ["y"])
    west.api.change("y", ended=True)
    await west.moment()
    await gone.crash()
    assert len((await west.page()).intents) == 1
    await east.replica()
    east.api.create(job_seen("x", "alice"))
    await east.until(lambda: east.started() == ["x"], seconds=5)
    await east.moment(2)
    assert (await east.page()).intents == ()


async def test_a_job_that_ended_unseen_is_charged_until_its_end(
    east: ClusterWorld, west: ClusterWorld
) -> None:
    assert 20_000 <= await down_while_it_ended(west, east, deleted=False) <= 21_000


async def test_a_job_that_ended_and_went_unseen_is_charged_for_as_long_as_it_was_seen(
    east: ClusterWorld, west: ClusterWorld
) -> None:
    assert 5_000 <= await down_while_it_ended(west, east, deleted=True) <= 11_000


class Unreached(SharedMemoryBacklog):
    """Takes no news while it is told to."""

    down = False

    async def join(self, pool: str, rules: str) -> Remembered:
        if self.down:
            raise UnavailableError("the server is gone")
        return await super().join(pool, rules)

    async def tell(self, pool: str, news: News, highest: int) -> None:
        if self.down:
            raise UnavailableError("the server is gone")
        await super().tell(pool, news, highest)


async def charged_by_time(
    east: ClusterWorld, west: ClusterWorld, backlogs: type[Unreached]
) -> None:
    """Both have an operator, the west's with such a backlog, and a Job waits in the west."""
    for world in (east, west):
        world.catalog = catalog(pool(charging=Charging.TIME), jobs(1))
    west.backlogs = backlogs
    west.shelf()
    await east.replica()
    await west.replica()
    west.api.create(job_seen("y", "bob"))


async def test_a_job_that_ended_while_the_ledger_was_down_is_charged_until_its_end(
    east: ClusterWorld, west: ClusterWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    await charged_by_time(east, west, Unreached)
    await west.until(lambda: west.started() == ["y"])
    await west.moment(20)
    monkeypatch.setattr(Unreached, "down", True)
    west.api.change("y", ended=True)
    await west.moment(600)
    monkeypatch.undo()
    await west.moment(60)
    assert 20_000 <= (await east.page()).means["bob"] <= 21_000


class BreaksOff(Unreached):
    """Is gone when the first start is told."""

    broke = False

    async def tell(self, pool: str, news: News, highest: int) -> None:
        if news.running and not self.broke:
            type(self).broke = type(self).down = True
        await super().tell(pool, news, highest)


async def test_a_job_that_was_never_told_of_is_charged_until_its_end(
    east: ClusterWorld, west: ClusterWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It starts, ends and is deleted while the ledger's server hears nothing of it."""
    for name in ("broke", "down"):
        monkeypatch.setattr(BreaksOff, name, False)
    await charged_by_time(east, west, BreaksOff)
    await west.until(lambda: BreaksOff.down)
    await west.moment(20)
    west.api.change("y", ended=True)
    west.api.delete("y")
    await west.moment(600)
    monkeypatch.setattr(BreaksOff, "down", False)
    await west.moment(60)
    assert 20_000 <= (await east.page()).means["bob"] <= 21_000
