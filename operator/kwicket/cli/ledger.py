"""`kwicket ledger`: the PostgreSQL that clusters share their pools in."""

import asyncio
import sys
from collections.abc import Coroutine
from pathlib import Path

import click

from kwicket.app import api_session
from kwicket.cli.moves import Move
from kwicket.cli.options import FILE, cluster_access
from kwicket.kube.access import AccessError, load_access
from kwicket.kube.client import Client
from kwicket.kube.identity import asked_identity
from kwicket.ports.errors import UnavailableError
from kwicket_storage.advice import unavailable
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections
from kwicket_storage.memberships import Memberships, forgotten
from kwicket_storage.migrations import SchemaError
from kwicket_storage.schema import look, migrate
from kwicket_storage.servers import UNREACHED

KINDS = ("kubernetes", "postgres")
SILENT = 90.0
"""Seconds of silence below which a cluster is not forgotten: what it sent has arrived by then."""

_URL = click.option(
    "--postgres",
    "url",
    required=True,
    type=FILE,
    help="A file with the URL of the PostgreSQL.",
)


@click.group()
def ledger() -> None:
    """Set up, move and mend the ledger that several clusters share."""


@ledger.command("migrate")
@_URL
def migrate_(url: Path) -> None:
    """Make the schema, or bring it up to date; again and again without harm.

    The user of the URL must be able to make roles and a schema the first time. Grant
    kwicket_operator to the user that operators come as, kwicket_worker to those of workers.
    """

    async def work() -> None:
        applied = await migrate(url)
        for one in applied:
            click.echo(f"applied {one.number:04} {one.name}")
        if not applied:
            click.echo("the schema is up to date")

    _run("migrate", work())


@ledger.command()
@_URL
@click.option("--pool", required=True, help="The pool that the cluster shares.")
@click.option("--cluster", required=True, help="The cluster that is gone.")
def forget(url: Path, pool: str, cluster: str) -> None:
    """Free what a cluster holds in a pool that gives no sign of life and never will again.

    Or one that has moved away, by kwicket ledger copy; no other cluster need be there for it.

    Its Jobs may still run: see that they don't, or that their tokens are checked. If it comes back,
    it joins again, and what still runs there takes its slots again.
    """

    async def work() -> None:
        connections = Connections(url)
        try:
            done = await forgotten(connections, pool, cluster, SILENT)
        finally:
            await connections.close()
        if not done:
            raise click.ClickException(
                f"{cluster} does not share {pool}, or gave a sign of life within {SILENT:.0f} s,"
                " or no operator of another cluster was there all that time: start one, and wait"
            )
        click.echo(f"pool {pool}: {cluster} is forgotten, and its slots are free")

    _run("forget", work())


@ledger.command()
@_URL
@click.option("--from", "source", required=True, type=click.Choice(KINDS), help="The ledger now.")
@click.option("--to", "target", required=True, type=click.Choice(KINDS), help="The ledger then.")
@click.option("--cluster", required=True, help="By which name the others know this cluster.")
@click.option(
    "--pool",
    "pools",
    multiple=True,
    help="One to copy; may be given again. Without it: each Pool that has a Ledger, or that this"
    " cluster shares.",
)
@cluster_access
def copy(
    url: Path,
    source: str,
    target: str,
    cluster: str,
    pools: tuple[str, ...],
    kubeconfig: Path | None,
    context: str | None,
) -> None:
    """Copy pools of this cluster from one kind of ledger to the other.

    With no operator at work: scale it to 0 before. It takes some 75 s to see that none is, and that
    nothing is on its way. A pool that is there already, since another cluster brought it, keeps its
    turn; its tokens go on above those of both. On the way back from postgres the cluster shares the
    pool no more, and what is of other clusters stays there.
    """
    if source == target:
        raise click.UsageError("--from and --to are the same")

    async def work() -> None:
        access = await load_access(kubeconfig, context)
        await look(url)
        connections = Connections(url)
        try:
            async with api_session(access) as session:
                client, name = Client(access, session), Cluster(cluster)
                members = Memberships(connections, name, await asked_identity(client))
                move = Move(client, connections, name, members)
                await move.wait()
                await (move.there(pools) if target == "postgres" else move.back(pools))
        finally:
            await connections.close()

    _run("copy", work())


def _run(name: str, work: Coroutine[None, None, None]) -> None:
    """Exits with 1 if it can't be done, with 2 without credentials."""
    try:
        asyncio.run(work)
    except AccessError as error:
        click.echo(f"kwicket ledger {name}: {error}", err=True)
        sys.exit(2)
    except (SchemaError, UnavailableError, ValueError, *UNREACHED) as error:
        said = unavailable(error) if isinstance(error, UNREACHED) else error
        click.echo(f"kwicket ledger {name}: {said}", err=True)
        sys.exit(1)
