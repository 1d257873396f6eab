"""`python -m e2e.bench.handover`: from a pod's end in one cluster to the next start in another.

Two planes with an operator each, one PostgreSQL that writes to its disk, and a Pool with one slot
that two tenants take in turn, each in a cluster of its own. A slot is free once the Job's pod has
ended, some time before the Job controller calls the Job complete. Both moments are those at which
one process saw them in watches of the API servers.
"""

import asyncio
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import click

from e2e import load
from e2e.clusters.sites import NAMESPACE, Installed, Site, installed, opened, working
from e2e.observer import Observer
from kwicket_storage.schema import migrate
from support.databases import Database
from support.handovers import summary
from support.postgres import running
from support.servers import SETTINGS

POOL = "licences"
TENANTS = {"east": "alice", "west": "bob"}
WORK = ["sh", "-c", "sleep 0.2"]


@click.command()
@click.option("--jobs", type=click.IntRange(2), default=50, show_default=True, help="Of each.")
@click.option("--json", "as_json", is_flag=True)
def main(jobs: int, as_json: bool) -> None:
    """How long a slot that is freed in one cluster stands empty until the other has taken it."""
    with tempfile.TemporaryDirectory(prefix="kwicket-handover-") as made, ExitStack() as stack:
        folder = Path(made)
        planes = {}
        for name in TENANTS:
            click.echo(f"{name}: a plane", err=True)
            (folder / name).mkdir()
            planes[name] = stack.enter_context(installed(folder / name))
        server = stack.enter_context(running(settings={**SETTINGS, "fsync": "on"}))
        seconds = asyncio.run(_measured(server.url, planes, folder, jobs))
    click.echo(summary(seconds, as_json=as_json))


async def _measured(
    server: str, planes: Mapping[str, Installed], folder: Path, jobs: int
) -> list[float]:
    database = await Database.made(server)
    await migrate(database.url)
    url = folder / "url"
    url.write_text(await database.member("kwicket_operator"))
    async with opened(planes, url, folder) as sites:
        with working(sites):
            return await _handovers(sites, jobs)


async def _handovers(sites: Mapping[str, Site], jobs: int) -> list[float]:
    east, west = sites.values()
    async with (
        Observer.watching(east.api, NAMESPACE) as in_east,
        Observer.watching(west.api, NAMESPACE) as in_west,
    ):
        for site in sites.values():
            await load.make_pool(site.api, POOL, 1)
            tenant = TENANTS[site.name]
            named = [f"{tenant}-{number}" for number in range(jobs)]
            waiting = [load.labelled_job(name, tenant, WORK, pool=POOL) for name in named]
            await load.create_jobs(site.api, NAMESPACE, waiting)
        for observer in (in_east, in_west):
            await observer.until(lambda one: len(one.complete) == jobs, seconds=600)
        return _between(in_east, in_west)


def _between(*observers: Observer) -> list[float]:
    """The seconds to each start that followed an end in another cluster."""
    held = sorted((one.tokens[job][0], job, one) for one in observers for job in one.tokens)
    return [
        there.started[following] - here.succeeded[job]
        for (_, job, here), (_, following, there) in pairwise(held)
        if here is not there
    ]


if __name__ == "__main__":
    main()
