"""A cluster that went back to a backup while none of its operators ran, and others that did not.

Row 21 of the fault matrix: their ledger remembers what the Pool's status has shown.
"""

import asyncio

import pytest

from kwicket.core.pools import Shown
from kwicket.engine.sharing import BEAT
from kwicket.ports.errors import UnavailableError
from kwicket.ports.notices import Condition
from kwicket_storage.shared_memory import SharedMemory, SharedMemoryBacklog
from support.builders import catalog, job_seen, jobs, pool
from support.clusters import ClusterWorld
from support.fakes import Backup
from support.world import Replica

SOON = 2.5
TOLD = BEAT + SOON
"""Seconds after which what a status shows is told to the others."""


def ready(replica: Replica) -> Condition:
    return replica.notices.pools["pool"][1][0]


def above(replica: Replica) -> int:
    """The number by which the pool goes on, as its message says."""
    return int(ready(replica).message.rpartition("kwicket.dev/go-on-above=")[2])


async def word(world: ClusterWorld, number: int) -> None:
    await world.declare(catalog(pool(above=number), jobs(2)))
    await world.moment(SOON)


class Restored:
    """The east's `y` was granted after its backup, and its operator is gone; `z` is the west's."""

    def __init__(self, east: ClusterWorld, west: ClusterWorld, backup: Backup) -> None:
        self.east, self.west, self._backup = east, west, backup

    @classmethod
    async def granted_since(cls, east: ClusterWorld, west: ClusterWorld) -> "Restored":
        for world in (east, west):
            world.catalog = catalog(pool(), jobs(2))
        operator = await east.replica()
        await west.replica()
        east.api.create(job_seen("y", "bob"))
        await east.moment(0)
        backup = Backup(east.api)
        await east.moment(TOLD)
        west.api.create(job_seen("z", "zoe"), job_seen("zz", "zoe"))
        await west.until(lambda: west.started() == ["z"])
        await east.moment(TOLD)
        await operator.crash()
        return cls(east, west, backup)

    async def restore(self, settle: float = SOON) -> Replica:
        """As with --bump-revision, so that no version tells it; then an operator begins."""
        self.east.api.restore(self._backup, bump=1000)
        operator = await self.east.replica()
        await self.east.moment(settle)
        return operator


async def test_nothing_is_granted_there_until_a_word_and_the_others_go_on(
    east: ClusterWorld, west: ClusterWorld
) -> None:
    """What the restored cluster told before stands: `y`, which may run still, keeps its slot."""
    restored = await Restored.granted_since(east, west)
    west.api.change("z", ended=True)
    await west.until(lambda: west.started() == ["zz"])
    operator = await restored.restore()
    await east.moment(120)
    assert (east.started(), east.job("y").token) == ([], None)
    assert (ready(operator).true, ready(operator).reason) == (False, "WentBack")
    assert f"from before token {west.job('zz').token}" in ready(operator).message
    west.api.create(job_seen("zzz", "zoe"))
    await west.moment(SOON)
    assert west.started() == ["zz"]
    west.api.change("zz", ended=True)
    await west.until(lambda: west.started() == ["zzz"])

    number = above(operator)
    await word(east, number)
    assert ready(operator).true
    await east.until(lambda: east.started() == ["y"])
    assert (east.job("y").token or 0) > number


async def test_a_doubt_outlives_the_operators_that_had_it(
    east: ClusterWorld, west: ClusterWorld
) -> None:
    """The status shows the highest token of all again by then."""
    restored = await Restored.granted_since(east, west)
    await (await restored.restore()).crash()
    operator = await east.replica()
    await east.moment(SOON)
    assert ready(operator).reason == "WentBack"
    await word(east, above(operator))
    assert east.started() == ["y"]
    await operator.crash()
    await word(east, 0)
    operator = await east.replica()
    await east.moment(SOON)
    assert ready(operator).true


class Forgetful(SharedMemoryBacklog):
    """Can't be told of a doubt."""

    async def doubt(self, pool: str, token: int) -> None:
        raise UnavailableError("no answer")


async def test_a_status_shows_no_more_before_the_doubt_is_remembered(
    east: ClusterWorld, west: ClusterWorld
) -> None:
    """Else an operator that begins then would find that it has shown as much before."""
    restored = await Restored.granted_since(east, west)
    east.backlogs = Forgetful
    await (await restored.restore()).crash()
    east.backlogs = SharedMemoryBacklog
    operator = await east.replica()
    await east.moment(SOON)
    assert ready(operator).reason == "WentBack"


async def test_so_does_one_of_operators_that_lived_through_the_restore(
    east: ClusterWorld, west: ClusterWorld
) -> None:
    east.catalog = catalog(pool(), jobs(2))
    operator = await east.replica()
    operator.engine.went_back()
    await east.moment(SOON)
    assert ready(operator).reason == "WentBack"
    await operator.crash()
    east.api.create(job_seen("y", "bob"))
    operator = await east.replica()
    await east.moment(SOON)
    assert ready(operator).reason == "WentBack"
    assert east.started() == []


async def test_a_word_of_before_the_restore_counts_no_more(
    east: ClusterWorld, west: ClusterWorld
) -> None:
    restored = await Restored.granted_since(east, west)
    operator = await restored.restore()
    await word(east, above(operator))
    await east.moment(TOLD)
    await operator.crash()
    operator = await restored.restore()
    assert ready(operator).reason == "WentBack"
    assert east.started() == []


async def test_a_word_given_before_the_operator_begins_is_enough(
    east: ClusterWorld, west: ClusterWorld
) -> None:
    restored = await Restored.granted_since(east, west)
    number = (await west.page()).version + 1000
    east.catalog = catalog(pool(above=number), jobs(2))
    operator = await restored.restore()
    assert ready(operator).true
    assert (east.job("y").token or 0) > number


async def test_a_word_leaves_the_others_what_was_granted_to_them(
    memory: SharedMemory, east: ClusterWorld, west: ClusterWorld
) -> None:
    """What the west took up may run; given back, its slot would be another's."""
    for world in (east, west):
        world.catalog = catalog(pool(), jobs(1))
    await west.replica()
    west.api.reachable.clear()
    west.api.create(job_seen("z", "zoe"))
    await west.until(lambda: bool(memory.shelf("pool").grants))
    [granted] = memory.shelf("pool").grants.values()
    assert granted.claimed
    east.api.create(job_seen("y", "bob"))
    east.catalog = catalog(pool(above=(await west.page()).version + 1000), jobs(1))
    await east.replica()
    await east.moment(SOON)
    west.api.reachable.set()
    await west.until(lambda: west.started() == ["z"])
    assert east.started() == []


async def test_a_pool_that_was_deleted_and_made_again_is_not_doubted(
    east: ClusterWorld, west: ClusterWorld
) -> None:
    """The new one shows nothing at first."""
    restored = await Restored.granted_since(east, west)
    restored.east.api.statuses["pool"] = Shown("another", 0)
    operator = await east.replica()
    await east.moment(SOON)
    assert ready(operator).true


async def test_operators_that_crash_at_any_moment_doubt_nothing(
    memory: SharedMemory, east: ClusterWorld, west: ClusterWorld
) -> None:
    """Jobs are granted, suspended by somebody, made again under their names, and deleted."""
    for world in (east, west):
        world.catalog = catalog(pool(), jobs(2))
    await west.replica()
    for number in range(25):
        operator = await east.replica()
        name = f"y-{number % 3}"
        west.api.create(job_seen(f"z-{number}", "zoe"))
        east.api.create(job_seen(name, "bob", uid=f"{name}-{number}"))
        await east.moment(0.37 * number)
        for job in list(east.api.jobs.values()):
            if number % 2:
                east.api.delete(job.uid)
            else:
                east.api.change(job.uid, suspended=True)
        for job in list(west.api.jobs.values()):
            west.api.change(job.uid, ended=True)
        await operator.crash()
        shown = operator.notices.pools.get("pool")
        assert shown is None or shown[1][0].reason != "WentBack"
        assert all(one.doubt == 0 for one in memory.shelf("pool").members.values())


class Slow(SharedMemoryBacklog):
    """Takes a second to be told of a doubt."""

    async def doubt(self, pool: str, token: int) -> None:
        await asyncio.sleep(1)
        await super().doubt(pool, token)


@pytest.mark.parametrize("settle", [0.5, 1.5])
async def test_a_word_that_comes_while_the_doubt_is_told_counts(
    east: ClusterWorld, west: ClusterWorld, settle: float
) -> None:
    restored = await Restored.granted_since(east, west)
    east.backlogs = Slow
    operator = await restored.restore(settle)
    await word(east, (await west.page()).version + 1000)
    await east.until(lambda: east.started() == ["y"])
    assert ready(operator).true
