"""Tokens that a failover has lost: nobody may know of them any more, and none is given twice."""

import asyncio

import pytest

from kwicket.core.state import State
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Conflict, Page
from kwicket_storage.clusters import Cluster
from kwicket_storage.shared_memory import SharedMemory, SharedMemoryLedger
from support.builders import catalog, job_seen, jobs, pool
from support.clusters import ClusterWorld


class Restamped(SharedMemoryLedger):
    """Another cluster claims a grant before the first commits, so that the page is another one."""

    def __init__(self, memory: SharedMemory, times: int) -> None:
        super().__init__(memory, Cluster("east"))
        self._shared = memory
        self._times = times

    async def commit(self, page: Page, state: State) -> Page | Conflict:
        if self._times:
            self._times -= 1
            self._shared.shelf(page.pool).stamp = self._shared.stamp()
        return await super().commit(page, state)


class Unwritten(SharedMemoryLedger):
    """Takes no write."""

    async def commit(self, page: Page, state: State) -> Page | Conflict:
        await asyncio.sleep(1)
        raise UnavailableError("read-only")


@pytest.mark.parametrize("conflicts", [0, 1, 3])
async def test_a_token_that_a_failover_lost_is_not_given_again(
    memory: SharedMemory, east: ClusterWorld, conflicts: int
) -> None:
    """Its Job and its operator are gone as well, and the page is read again and again."""
    east.catalog = catalog(pool(), jobs(1))
    dead = await east.replica()
    before = await east.page()
    east.api.create(job_seen("x", "alice"))
    await east.until(lambda: east.started() == ["x"])
    await dead.crash()
    east.api.delete("x")
    shelf = memory.shelf("pool")
    shelf.state, shelf.stamp, shelf.highest = before, memory.stamp(), 0
    shelf.grants.clear()
    for member in shelf.members.values():
        member.told = False
    await east.moment(1)
    east.api.create(job_seen("y", "alice"))
    await east.replica(Restamped(memory, conflicts))
    await east.until(lambda: east.started() == ["y"])
    lost, given = (order.token for order in east.api.written)
    assert given > lost


async def test_a_status_does_not_fall_though_a_failover_lost_what_it_shows(
    memory: SharedMemory, east: ClusterWorld
) -> None:
    """Else the next operator would take the cluster for one that went back to a backup."""
    east.catalog = catalog(pool(), jobs(1))
    dead = await east.replica()
    before = await east.page()
    east.api.create(job_seen("x", "alice"))
    await east.until(lambda: east.started() == ["x"])
    await east.moment(2)
    await dead.crash()
    shelf = memory.shelf("pool")
    shelf.state, shelf.stamp, shelf.highest = before, memory.stamp(), 0
    for member in shelf.members.values():
        member.told = False
    operator = await east.replica(Unwritten(memory, Cluster("east")))
    east.api.create(job_seen("y", "alice"))
    await east.moment(5)
    assert operator.notices.pools["pool"][1][0].reason != "WentBack"
    assert east.api.statuses["pool"].token == east.job("x").token
