"""One limit over two clusters, by operators that never speak to each other but by the database."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import asyncpg
import pytest

from e2e import load
from e2e.clusters.census import Census
from e2e.clusters.diary import Diary
from e2e.clusters.sites import NAMESPACE, Site, sharing, working
from e2e.observer import Observer
from e2e.plane.api import Object
from e2e.plane.components import SERVER
from support.databases import Database

POOL, LIMIT = "licences", 5
SHARES = {"east": {"alice": 90, "bob": 10}, "west": {"bob": 40, "carol": 60}}
"""200 Jobs of three tenants, unevenly."""
KEPT = {"east": 2, "west": LIMIT - 2}
"""How many run on while east's API server goes away."""
AWAY = 30.0
"""Seconds for which it is away, at least."""
WAITING = (
    "SELECT count(*) FROM kwicket.tickets WHERE pool = $1 AND cluster LIKE $2 AND gone IS NULL"
)


@pytest.fixture
async def pool(sites: dict[str, Site]) -> AsyncIterator[str]:
    """A Pool that both declare, with room for nothing yet; its page is in the database, and no
    Ledger is made.
    """
    async with sharing(sites, POOL, 0):
        yield POOL


@pytest.fixture
def diary(sites: dict[str, Site], tmp_path: Path) -> Diary:
    """What the Jobs of both write themselves."""
    folder = tmp_path / "diary"
    folder.mkdir()
    return Diary(folder, sites)


@pytest.mark.timeout(600)
async def test_one_limit_one_turn_and_no_job_lost_whoever_is_killed(
    sites: dict[str, Site], pool: str, database: Database, diary: Diary
) -> None:
    east, west = sites["east"], sites["west"]
    with working(sites) as operators:
        async with (
            Observer.watching(east.api, NAMESPACE) as in_east,
            Observer.watching(west.api, NAMESPACE) as in_west,
            asyncio.TaskGroup() as group,
        ):
            seen = {"east": in_east, "west": in_west}
            for site in sites.values():
                await load.create_jobs(site.api, NAMESPACE, _jobs(site.name, diary))
            census = Census([site.api for site in sites.values()], NAMESPACE)
            counting = group.create_task(census.run())
            await _until_waiting(database, 200)
            await _fill(sites, diary, census)
            await _until(seen, 40)
            order = _granted(seen)
            operators["west"].kill()
            await asyncio.sleep(3)
            operators["west"] = west.operator()
            await _until(seen, 80)
            await _keep(diary, KEPT)
            counting.cancel()
            await _without_east(east, west, diary, database)
            counting = group.create_task(census.run())
            await _until(seen, 200, seconds=240)
            counting.cancel()
        _check_turn(order)
        _check_tokens(seen)
        assert diary.peak == census.peak == LIMIT
        assert census.rounds > 50
        everybody = [f"{name} {job}" for name, one in seen.items() for job in one.complete]
        assert sorted(diary.ran) == sorted(diary.ended) == sorted(everybody)
        assert len(everybody) == 200
        assert all(len(pods) == 1 for one in seen.values() for pods in one.pods.values())


async def _fill(sites: dict[str, Site], diary: Diary, census: Census) -> None:
    """Raises the limit, and returns once as many run as it allows: the first ones go on until all
    have been counted.
    """
    for name in sites:
        diary.keep(name, LIMIT)
    for site in sites.values():
        await load.limit(site.api, POOL, LIMIT)
    await _soon(lambda: census.peak == LIMIT)
    rounds = census.rounds
    await _soon(lambda: census.rounds > rounds + 20)
    assert len(diary.ran) == LIMIT
    for name in sites:
        diary.let_go(name)


async def _keep(diary: Diary, kept: dict[str, int]) -> None:
    """Returns once so many Jobs of each cluster run, until they are let go."""
    for name, count in kept.items():
        diary.keep(name, count)
    await _soon(lambda: all(diary.kept(name) == count for name, count in kept.items()))


async def _without_east(east: Site, west: Site, diary: Diary, database: Database) -> None:
    """East's API server is away for half a minute, while what runs there goes on, and west, which
    goes on to start Jobs, knows nothing of it but what is in the database.
    """
    census, began = Census([west.api], NAMESPACE), time.monotonic()
    with east.plane.without(SERVER):
        async with asyncio.TaskGroup() as group:
            counting = group.create_task(census.run())
            await _until_waiting(database, 0, "east")
            before = len(diary.ended)
            diary.let_go("west")
            await _soon(lambda: len(diary.ended) >= before + 10)
            diary.keep("west", LIMIT)
            await _soon(lambda: diary.kept("west") == KEPT["west"])
            await asyncio.sleep(max(began + AWAY - time.monotonic(), 0))
            counting.cancel()
        assert {name: diary.kept(name) for name in KEPT} == KEPT
        assert census.peak == KEPT["west"]
    diary.let_go("east")
    diary.let_go("west")


def _jobs(cluster: str, diary: Diary) -> list[Object]:
    return [
        load.labelled_job(name := f"{tenant}-{n}", tenant, diary.work(cluster, name), pool=POOL)
        for tenant, count in SHARES[cluster].items()
        for n in range(count)
    ]


def _granted(seen: dict[str, Observer]) -> list[str]:
    """The tenants of all grants of both clusters, in the order of their tokens."""
    by_token = {
        held[0]: job.partition("-")[0]
        for observer in seen.values()
        for job, held in observer.tokens.items()
    }
    return [by_token[token] for token in sorted(by_token)]


async def _until_waiting(database: Database, count: int, cluster: str = "%") -> None:
    """Returns once so many tickets stand in the database, of one cluster or all."""
    connection = await asyncpg.connect(database.url)
    try:
        async with asyncio.timeout(120):
            while await connection.fetchval(WAITING, POOL, cluster) != count:  # noqa: ASYNC110 - no event
                await asyncio.sleep(0.1)
    finally:
        await connection.close()


async def _soon(so: Callable[[], bool]) -> None:
    """Returns once it is so."""
    async with asyncio.timeout(60):
        while not so():  # noqa: ASYNC110 - files have no event
            await asyncio.sleep(0.05)


async def _until(seen: dict[str, Observer], count: int, seconds: float = 120) -> None:
    """Returns once so many Jobs are complete in both together."""
    async with asyncio.timeout(seconds):
        while sum(len(one.complete) for one in seen.values()) < count:  # noqa: ASYNC110 - two events
            await asyncio.sleep(0.1)


def _check_turn(order: list[str]) -> None:
    """Of the first grants, each of the three tenants got a third, wherever its Jobs are."""
    first = order[:30]
    assert {tenant: first.count(tenant) for tenant in ("alice", "bob", "carol")} == {
        "alice": 10,
        "bob": 10,
        "carol": 10,
    }


def _check_tokens(seen: dict[str, Observer]) -> None:
    """Each grant has a token of its own, above those of all that were granted before, anywhere."""
    grants = [grant for one in seen.values() for grant in one.grants]
    assert len({token for _, token in grants}) == len(grants) == 200
    moments = [moment for moment, _ in sorted(grants, key=lambda grant: grant[1])]
    assert moments == sorted(moments)
