"""`python -m tests.bench.handover`: from a slot freed in one cluster to the start in another.

Two engines on one PostgreSQL, which writes to its disk; their API servers are fakes that answer at
once: what a real one takes for a watch event and a patch comes on top.
"""

import asyncio
import time

import click

from kwicket_storage.schema import migrate
from support.builders import catalog, job_seen, jobs, pool
from support.databases import Database
from support.handovers import summary
from support.postgres import running
from support.postgres_world import PostgresWorld
from support.servers import SETTINGS


@click.command()
@click.option("--handovers", type=click.IntRange(2), default=200, show_default=True)
@click.option("--waiting", type=click.IntRange(0), default=0, show_default=True, help="Jobs.")
@click.option("--json", "as_json", is_flag=True)
def main(handovers: int, waiting: int, as_json: bool) -> None:
    """One slot goes to and fro between two clusters."""
    with running(settings={**SETTINGS, "fsync": "on"}) as server:
        seconds = asyncio.run(_measured(server.url, handovers, waiting))
    click.echo(summary(seconds, as_json=as_json))


async def _measured(url: str, handovers: int, waiting: int) -> list[float]:
    database = await Database.made(url)
    await migrate(database.url)
    async with (
        PostgresWorld.at(database.url, "east") as east,
        PostgresWorld.at(database.url, "west") as west,
    ):
        for world in (east, west):
            world.catalog = catalog(pool(), jobs(1))
            await world.replica()
        east.api.create(*[job_seen(f"w-{n}", "zoe") for n in range(waiting)])
        east.api.create(job_seen("x-0", "alice"))
        await east.until(lambda: east.started() == ["x-0"])
        return [await _handover(n, (east, west)) for n in range(handovers)]


async def _handover(number: int, worlds: tuple[PostgresWorld, PostgresWorld]) -> float:
    """The Job that runs ends in one cluster; how long until the next one runs in the other."""
    here, there = worlds[number % 2], worlds[1 - number % 2]
    following = f"x-{number + 1}"
    there.api.create(job_seen(following, "alice"))
    await there.moment(0.3)
    freed = time.perf_counter()
    here.api.change(f"x-{number}", ended=True)
    await there.until(lambda: there.started() == [following])
    return time.perf_counter() - freed


if __name__ == "__main__":
    main()
