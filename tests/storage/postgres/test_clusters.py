"""Engines of two clusters on a real PostgreSQL, over API servers that are fakes."""

from collections.abc import AsyncIterator
from random import Random

import pytest

from kwicket_storage.schema import migrate
from support.builders import catalog, job_seen, jobs, pool
from support.databases import Database
from support.postgres_world import PostgresWorld

MOST = 3


@pytest.fixture
async def worlds(empty: Database) -> AsyncIterator[tuple[PostgresWorld, PostgresWorld]]:
    await migrate(empty.url)
    async with (
        PostgresWorld.at(empty.url, "east") as east,
        PostgresWorld.at(empty.url, "west") as west,
    ):
        for world in (east, west):
            world.catalog = catalog(pool(), jobs(MOST))
        yield east, west


def running(*worlds: PostgresWorld) -> int:
    return sum(len(world.started()) for world in worlds)


async def test_a_slot_freed_in_one_cluster_starts_a_job_in_the_other(
    worlds: tuple[PostgresWorld, PostgresWorld],
) -> None:
    east, west = worlds
    for world in worlds:
        await world.replica()
    east.api.create(*[job_seen(f"x-{n}", "alice") for n in range(MOST)])
    await east.until(lambda: running(east) == MOST)
    west.api.create(job_seen("y", "bob"))
    await west.moment(1)
    assert west.started() == []
    east.api.change("x-0", ended=True)
    await west.until(lambda: west.started() == ["y"], seconds=20)


@pytest.mark.parametrize("seed", range(3))
async def test_whoever_crashes_no_limit_is_exceeded_and_no_job_is_lost(
    worlds: tuple[PostgresWorld, PostgresWorld], seed: int
) -> None:
    dice = Random(seed)  # noqa: S311 - a history, not a secret
    for world in worlds:
        tenants = ("alice", "bob", "carol")
        world.api.create(*[job_seen(f"x-{n}", tenants[n % 3]) for n in range(10)])
        await world.replica()
    while any(not job.ended for world in worlds for job in world.api.jobs.values()):
        world = dice.choice(worlds)
        if dice.random() < 0.2:
            await world.replicas[-1].crash()
            await world.replica()
        elif world.started():
            world.api.change(dice.choice(world.started()), ended=True)
        await world.moment(dice.choice([0.01, 0.1]))
        assert running(*worlds) <= MOST
    tokens = [order.token for world in worlds for order in world.api.written]
    assert len(tokens) == len(set(tokens)) == 20
