"""Rows 23 and 28 of the fault matrix: real operators whose database goes away and comes back."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from e2e import load
from e2e.clusters.sites import NAMESPACE, Site, sharing, working
from e2e.observer import Observer
from e2e.recoveries import Recovered
from e2e.statuses import condition, shown
from support.databases import Database
from support.servers import Server
from support.twins import url

POOL = "tools"
RUNS = ["sleep", "12"]
AWAY = 15
"""Seconds for which the database stays away once the slot is free: nothing may start in it."""


@pytest.fixture
async def pool(sites: dict[str, Site]) -> AsyncIterator[str]:
    """A Pool with one slot, which both share."""
    async with sharing(sites, POOL, 1):
        yield POOL


@pytest.fixture
def standby(server: Server) -> Iterator[Server]:
    """It has all that the primary has committed."""
    folder = server.folder.parent / "standby"
    folder.mkdir()
    made = server.standby(folder)
    made.start()
    server.set({"synchronous_standby_names": "standby"})
    server.reload()
    yield made
    made.stop()


async def says(sites: Mapping[str, Site], wanted: str) -> None:
    """Returns once the Pool says so in each."""
    for site in sites.values():
        await condition(site.api, "pools", POOL, wanted)


async def one_runs_and_one_waits(sites: dict[str, Site], observer: Observer) -> None:
    """In east, and in west."""
    for site, command in ((sites["east"], RUNS), (sites["west"], ["true"])):
        job = load.labelled_job(site.name, "alice", command, pool=POOL)
        await load.create_jobs(site.api, NAMESPACE, [job])
        if site.name == "east":
            await observer.until(lambda seen: "east" in seen.started)
    await shown(sites["west"].api, POOL, waiting=1)


@pytest.mark.timeout(300)
async def test_28_without_the_database_nothing_starts_what_runs_goes_on_and_the_pool_says_why(
    sites: dict[str, Site], pool: str, server: Server, recovered: Recovered
) -> None:
    async with (
        Observer.watching(sites["east"].api, NAMESPACE) as east,
        Observer.watching(sites["west"].api, NAMESPACE) as west,
    ):
        with working(sites):
            await one_runs_and_one_waits(sites, east)
            server.stop()
            await says(sites, "LedgerUnavailable")
            await east.until(lambda seen: "east" in seen.complete)
            await asyncio.sleep(AWAY)
            assert not west.started
            assert len(east.pods["east"]) == 1
            server.start()
            back = time.monotonic()
            await west.until(lambda seen: "west" in seen.started)
            recovered("28", "the shared database is away for a while", time.monotonic() - back)
            await says(sites, "Serving")


@pytest.mark.timeout(300)
async def test_23_a_failover_to_a_standby_that_has_all_loses_no_grant_and_no_slot(
    sites: dict[str, Site],
    pool: str,
    database: Database,
    server: Server,
    standby: Server,
    recovered: Recovered,
) -> None:
    for site in sites.values():
        site.url.write_text(_either(site.url, server, standby))
    async with (
        Observer.watching(sites["east"].api, NAMESPACE) as east,
        Observer.watching(sites["west"].api, NAMESPACE) as west,
    ):
        with working(sites):
            await one_runs_and_one_waits(sites, east)
            server.stop()
            standby.promote()
            over = time.monotonic()
            await east.until(lambda seen: "east" in seen.succeeded)
            assert not west.started
            ended = time.monotonic()
            await west.until(lambda seen: "west" in seen.started)
            recovered(
                "23",
                "a failover to a synchronous standby, over before a slot is free",
                time.monotonic() - max(over, ended),
            )
    [first], [second] = east.tokens["east"], west.tokens["west"]
    assert first < second


def _either(file: Path, *servers: Server) -> str:
    """The URL that is in this file, of all these servers."""
    parts = urlsplit(file.read_text())
    return url(*servers, user=parts.netloc.rpartition("@")[0], database=parts.path[1:])
