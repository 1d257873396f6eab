"""`kwicket check`: whether an installation works."""

import asyncio
import sys
from pathlib import Path

import click

from kwicket.app import api_session
from kwicket.kube.access import AccessError, load_access
from kwicket.kube.checks import Checks
from kwicket.kube.client import Client
from kwicket.ports.errors import UnavailableError


@click.command()
@click.option(
    "--namespace",
    default="default",
    show_default=True,
    help="Where Jobs are tried; none is stored.",
)
@click.option(
    "--webhook/--no-webhook",
    default=True,
    show_default=True,
    help="Whether the webhook should be there.",
)
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The cluster and the identity to use. Without it: the service account of the pod.",
)
@click.option("--context", help="The context of the kubeconfig; its current one if left out.")
def check(namespace: str, webhook: bool, kubeconfig: Path | None, context: str | None) -> None:
    """Say of each part of an installation whether it works, and what to do if not.

    Exits with 0 if all do, with 1 if one does not, with 2 without credentials.
    """
    try:
        all_hold = asyncio.run(_check(namespace, webhook, kubeconfig, context))
    except (AccessError, UnavailableError) as error:
        click.echo(f"kwicket check: {error}", err=True)
        sys.exit(2 if isinstance(error, AccessError) else 1)
    sys.exit(0 if all_hold else 1)


async def _check(
    namespace: str, webhook: bool, kubeconfig: Path | None, context: str | None
) -> bool:
    access = await load_access(kubeconfig, context)
    all_hold = True
    async with api_session(access) as session:
        async for finding in Checks(Client(access, session), namespace, webhook).run():
            fate = "ok" if finding.wrong is None else f"FAILED: {finding.wrong}"
            click.echo(f"{finding.what}: {fate}")
            all_hold &= finding.wrong is None
    return all_hold
