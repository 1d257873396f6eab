"""Histories by a seed of two clusters on a real PostgreSQL, in real time: short, and few.

Their API servers are fakes. Histories by the thousand, in virtual time, are in tests/faults/shared.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from random import Random

import asyncpg
import pytest

from kwicket.core.pools import Charging
from kwicket_storage.schema import migrate
from support.builders import catalog, job_seen, jobs, pool
from support.databases import Database
from support.postgres_world import PostgresWorld
from support.programs import Programs
from support.servers import Server, served
from support.twins import Pairs

MOST = 3
EACH = 7
"""Jobs of a cluster."""
type Worlds = tuple[PostgresWorld, PostgresWorld]
type Harm = Callable[["History"], Awaitable[None]]

TENANTS = ("alice", "bob", "carol")
VERSION = "SELECT (state ->> 'version')::bigint FROM kwicket.pools"
CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"


class History:
    """One seed: Jobs end, operators crash, and something becomes of the database."""

    def __init__(self, server: Server, worlds: Worlds, seed: int) -> None:
        self.server, self.worlds = server, worlds
        self.dice = Random(seed)  # noqa: S311 - a history, not a secret
        self.lapses: list[str] = []
        self.over = 0
        """How many Jobs have ended."""
        self._excused: set[tuple[str, str]] = set()
        for world in worlds:
            world.lapsed = self._lapsed

    async def play(self, harm: Harm, times: int = 2, last: int = 2 * EACH) -> None:
        """Until all Jobs are over, each after one start.

        Harm is done at any moments before the `last` ones have ended.
        """
        for world in self.worlds:
            world.api.create(*[job_seen(f"x-{n}", TENANTS[n % 3]) for n in range(EACH)])
            await world.replica()
        at = self.dice.sample(range(last), times)
        while self.over < 2 * EACH:
            if self.over in at:
                at.remove(self.over)
                await harm(self)
            await self.one_ends()
        tokens = [order.token for world in self.worlds for order in world.api.written]
        assert len(tokens) == len(set(tokens)) == 2 * EACH
        assert all(job.ended for world in self.worlds for job in world.api.jobs.values())

    async def one_ends(self) -> None:
        """One of those that run, as soon as any does."""
        async with asyncio.timeout(60):
            while not (running := self.running()):
                await self.moment(0.01)
        world, name = self.dice.choice(running)
        world.api.change(name, ended=True)
        self.over += 1
        await self.moment(self.dice.choice([0.0, 0.02, 0.1]))

    def running(self) -> list[tuple[PostgresWorld, str]]:
        """All Jobs that run; never more than the limit, but for those whose cluster has lapsed."""
        found = [(world, name) for world in self.worlds for name in world.started()]
        assert len({(world.name, name) for world, name in found} - self._excused) <= MOST
        return found

    def _lapsed(self, cluster: str) -> None:
        self.lapses.append(cluster)
        [world] = [one for one in self.worlds if one.name == cluster]
        self._excused |= {(cluster, name) for name in world.started()}

    async def moment(self, seconds: float) -> None:
        """Lets time pass, and looks at the limit."""
        await self.worlds[0].moment(seconds)
        await self.worlds[1].moment(0)
        self.running()


async def crash(history: History) -> None:
    """An operator dies between two awaits, and another one begins."""
    world = history.dice.choice(history.worlds)
    await world.replicas[-1].crash()
    await history.moment(history.dice.choice([0, 0.05]))
    await world.replica()


async def cut(history: History) -> None:
    """All connections are cut, the listeners' too, with whatever is under way on them."""
    await history.moment(history.dice.uniform(0, 0.02))
    connection = await asyncpg.connect(history.server.url)
    await connection.execute(CUT)
    await connection.close()


async def gone(history: History) -> None:
    """A cluster has no operator until it has lapsed; what runs there runs on."""
    world = history.dice.choice(history.worlds)
    await world.replicas[-1].crash()
    await _lapse(history, world)
    await world.replica()


async def apart(history: History) -> None:
    """A cluster's operator does not reach the database until the cluster has lapsed."""
    world = history.dice.choice(history.worlds)
    world.cut(True)
    await _lapse(history, world)
    world.cut(False)


async def _lapse(history: History, world: PostgresWorld) -> None:
    """Others may have its slots then, for a while."""
    async with asyncio.timeout(30):
        while world.name not in history.lapses:
            await history.moment(0.02)
    await history.moment(history.dice.choice([0, 0.2, 1]))


async def restart(history: History) -> None:
    """The server dies at once and starts again."""
    await asyncio.to_thread(history.server.stop)
    await history.moment(history.dice.choice([0, 0.3]))
    await asyncio.to_thread(history.server.start)


HARMS = (*[crash] * 5, *[cut] * 11, *[restart] * 4)
FAILOVERS = range(len(HARMS), len(HARMS) + 4)
SILENCES = (*[gone] * 3, *[apart] * 5)
LAPSE = 2.0


@pytest.fixture(scope="module")
def server(programs: Programs) -> Iterator[Server]:
    """One that may be stopped and started."""
    folder = programs.folder / "histories"
    folder.mkdir()
    with served(programs, folder) as made:
        yield made


@asynccontextmanager
async def clusters(url: str, charging: Charging = Charging.STARTS) -> AsyncIterator[Worlds]:
    async with PostgresWorld.at(url, "east") as east, PostgresWorld.at(url, "west") as west:
        for world in (east, west):
            world.catalog = catalog(pool(charging=charging), jobs(MOST))
        yield east, west


@pytest.mark.parametrize(("seed", "harm"), [*enumerate(HARMS)])
async def test_whatever_ends_each_job_runs_once_and_the_limit_holds(
    server: Server, seed: int, harm: Harm
) -> None:
    database = await Database.made(server.url)
    await migrate(database.url)
    charging = Charging.TIME if seed % 2 else Charging.STARTS
    async with clusters(database.url, charging) as worlds:
        history = History(server, worlds, seed)
        await history.play(harm)
        await _all_have_ended(history, database)


async def _all_have_ended(history: History, database: Database) -> None:
    """As the history in the database says it: of a start that is short, too, not that it was
    given back.
    """
    ended = "SELECT count(*) AS number FROM kwicket.grants WHERE outcome = 'Ended'"
    async with asyncio.timeout(20):
        while [row["number"] for row in await database.told(ended)] != [2 * EACH]:
            await history.moment(0.05)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clusters may lapse soon: signs of life come often, and no grant is believed for long."""
    for name, seconds in (("sharing.BEAT", 0.1), ("turn.BEAT", 0.1), ("upheld.FRESH", 0.1)):
        monkeypatch.setattr(f"kwicket.engine.{name}", seconds)


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(("seed", "harm"), [*enumerate(SILENCES)])
async def test_whoever_lapses_each_job_runs_once_and_the_limit_holds_for_the_others(
    server: Server, seed: int, harm: Harm
) -> None:
    database = await Database.made(server.url)
    await migrate(database.url)
    async with clusters(database.url) as worlds:
        for world in worlds:
            world.lapse = LAPSE
        history = History(server, worlds, seed)
        await history.play(harm, times=1)
        assert history.lapses


@pytest.mark.parametrize("seed", FAILOVERS)
async def test_24_whatever_a_failover_loses_each_job_runs_once_and_the_limit_holds(
    pairs: Pairs, seed: int
) -> None:
    """To a standby that lacks what was committed in the last moments: at least a grant."""
    both = pairs({})

    async def fail_over(history: History) -> None:
        await both.copy()
        known = await both.told(VERSION)
        await history.one_ends()
        async with asyncio.timeout(20):
            while await both.told(VERSION) == known:
                await history.moment(0.01)
        await history.moment(history.dice.choice([0, 0.05, 0.3]))
        await asyncio.to_thread(both.take_over)

    async with clusters(both.url) as worlds:
        history = History(both.primary, worlds, seed)
        await history.play(fail_over, times=1, last=2 * EACH - MOST - 2)
