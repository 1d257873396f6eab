"""A Pool that is deleted in one of the clusters that share it."""

import pytest

from kwicket.core.catalog import Catalog
from kwicket.engine.parting import EVERY
from kwicket.engine.sent import LONGEST_WAY
from kwicket.ports.errors import UnavailableError
from kwicket_storage.shared_memory import SharedMemory, SharedMemoryBacklog
from support.builders import catalog, job_seen, jobs, pool
from support.clusters import ClusterWorld

ENOUGH = LONGEST_WAY + 2 * EVERY


async def begin(*worlds: ClusterWorld) -> None:
    for world in worlds:
        world.catalog = catalog(pool(), jobs(1))
        await world.replica()


def members(memory: SharedMemory) -> set[str]:
    return set(memory.shelf("pool").members)


async def test_its_jobs_wait_no_longer_for_the_others(
    memory: SharedMemory, east: ClusterWorld, west: ClusterWorld
) -> None:
    await begin(east, west)
    east.api.create(job_seen("x", "alice"))
    await east.until(lambda: east.started() == ["x"])
    west.api.create(*[job_seen(f"y-{n}", "bob") for n in range(3)])
    await west.moment()
    await west.declare(Catalog())
    for number in range(3):
        east.api.create(job_seen(f"x-{number}", "alice"))
        east.api.change(east.started()[0], ended=True)
        await east.until(lambda: len(east.started()) == 1, seconds=1)
    await east.moment(ENOUGH)
    assert members(memory) == {"east"}


@pytest.mark.parametrize("down", [False, True], ids=["while it leads", "while it is down"])
async def test_what_runs_there_holds_its_slot_until_it_has_ended(
    memory: SharedMemory, east: ClusterWorld, west: ClusterWorld, down: bool
) -> None:
    await begin(east, west)
    west.api.create(job_seen("y", "bob"))
    await west.until(lambda: west.started() == ["y"])
    await west.moment()
    if down:
        await west.replicas[-1].crash()
    await west.declare(Catalog())
    if down:
        await west.replica()
    east.api.create(job_seen("x", "alice"))
    await east.moment(10 * ENOUGH)
    assert east.started() == []
    west.api.change("y", ended=True)
    await east.until(lambda: east.started() == ["x"], seconds=ENOUGH)
    await east.moment(EVERY)
    assert members(memory) == {"east"}


async def test_what_ended_there_while_nobody_looked_holds_no_slot(
    memory: SharedMemory, east: ClusterWorld, west: ClusterWorld
) -> None:
    await begin(east, west)
    west.api.create(job_seen("y", "bob"))
    await west.until(lambda: west.started() == ["y"])
    await west.moment()
    await west.replicas[-1].crash()
    await west.declare(Catalog())
    west.api.delete("y")
    await west.replica()
    east.api.create(job_seen("x", "alice"))
    await east.until(lambda: east.started() == ["x"], seconds=ENOUGH)
    await east.moment(EVERY)
    assert members(memory) == {"east"}


async def test_an_administrator_may_have_it_forgotten_though_something_runs(
    memory: SharedMemory, east: ClusterWorld, west: ClusterWorld
) -> None:
    """It does not come back by itself."""
    east.lapse = 3_600
    await begin(east, west)
    west.api.create(job_seen("y", "bob"))
    await west.until(lambda: west.started() == ["y"])
    await west.declare(Catalog())
    east.api.create(job_seen("x", "alice"))
    await east.moment(3_600 + 2 * ENOUGH)
    assert east.started() == ["x"]
    await east.moment(ENOUGH)
    assert members(memory) == {"east"}


async def test_who_loses_the_lead_meanwhile_goes_on_when_it_has_it_again(
    memory: SharedMemory, east: ClusterWorld, west: ClusterWorld
) -> None:
    await begin(east, west)
    await west.declare(Catalog())
    leadership = west.replicas[-1].leadership
    leadership.follow()
    await west.moment(1)
    leadership.lead()
    await west.moment(ENOUGH)
    assert members(memory) == {"east"}


async def test_a_pool_that_is_declared_again_is_shared_again(
    memory: SharedMemory, east: ClusterWorld, west: ClusterWorld
) -> None:
    await begin(east, west)
    west.api.create(job_seen("y", "bob"))
    await west.until(lambda: west.started() == ["y"])
    declared = west.catalog
    await west.declare(Catalog())
    await west.moment(1)
    await west.declare(declared)
    await west.moment(ENOUGH)
    assert members(memory) == {"east", "west"}
    west.api.create(job_seen("z", "bob"))
    west.api.change("y", ended=True)
    await west.until(lambda: west.started() == ["z"], seconds=2)


class Unreached(SharedMemoryBacklog):
    """Does not say at first which pools are shared."""

    asked = 0

    async def shared(self) -> tuple[str, ...]:
        Unreached.asked += 1
        if Unreached.asked == 1:
            raise UnavailableError("the server is gone")
        return await super().shared()

    async def leave(self, pool: str) -> bool:
        raise AssertionError("it is declared")


async def test_a_pool_that_is_declared_after_the_leader_began_is_not_parted_from(
    memory: SharedMemory, east: ClusterWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It shares it by the time that the database says which pools it shares."""
    monkeypatch.setattr(Unreached, "asked", 0)
    east.backlogs = Unreached
    east.catalog = Catalog()
    await east.replica()
    await east.declare(catalog(pool(), jobs(1)))
    await east.moment(10 * ENOUGH)
    assert Unreached.asked == 2
    assert members(memory) == {"east"}
