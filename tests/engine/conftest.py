"""A world for each test of the engine, and worlds of two clusters that share a ledger."""

from collections.abc import AsyncIterator

import pytest

from kwicket_storage.shared_memory import SharedMemory
from support.clusters import ClusterWorld
from support.fakes import FakeClock
from support.world import World


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    yield made
    await made.close()


@pytest.fixture
def memory() -> SharedMemory:
    """What the clusters share."""
    return SharedMemory(FakeClock())


@pytest.fixture
async def east(memory: SharedMemory) -> AsyncIterator[ClusterWorld]:
    made = ClusterWorld(memory, "east")
    yield made
    await made.close()


@pytest.fixture
async def west(memory: SharedMemory) -> AsyncIterator[ClusterWorld]:
    made = ClusterWorld(memory, "west")
    yield made
    await made.close()
