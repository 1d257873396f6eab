"""A world for each test of the engine."""

from collections.abc import AsyncIterator

import pytest

from support.world import World


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    yield made
    await made.close()
