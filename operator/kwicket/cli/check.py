"""`kwicket check`: whether an installation works."""

import asyncio
import sys
from pathlib import Path

import click

from kwicket.app import api_session
from kwicket.cli.database import findings
from kwicket.cli.options import FILE, cluster_access
from kwicket.kube.access import AccessError, load_access
from kwicket.kube.checks import Checks, Finding, Meant
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
    "--enforced/--not-enforced",
    default=True,
    show_default=True,
    help="Whether the policies should be in force.",
)
@click.option(
    "--mutated/--not-mutated",
    default=True,
    show_default=True,
    help="Whether a policy or the webhook should suspend new Jobs.",
)
@click.option(
    "--webhook/--no-webhook",
    default=True,
    show_default=True,
    help="Whether the webhook should be there.",
)
@click.option(
    "--operator/--no-operator",
    default=True,
    show_default=True,
    help="Whether the operator should be there.",
)
@click.option(
    "--postgres",
    type=FILE,
    help="A file with the URL of the PostgreSQL that should keep the pools, and maybe a file"
    " listen-url beside it.",
)
@cluster_access
def check(
    namespace: str,
    enforced: bool,
    mutated: bool,
    webhook: bool,
    operator: bool,
    postgres: Path | None,
    kubeconfig: Path | None,
    context: str | None,
) -> None:
    """Say of each part of an installation whether it works, and what to do if not.

    What does not hold because it is not meant to is a warning. Exits with 0 if all works that
    should, with 1 if something does not, with 2 without credentials.
    """
    meant = Meant(enforced=enforced, mutated=mutated, webhook=webhook, operator=operator)
    try:
        all_hold = asyncio.run(_check(namespace, meant, kubeconfig, context, postgres))
    except (AccessError, UnavailableError) as error:
        click.echo(f"kwicket check: {error}", err=True)
        sys.exit(2 if isinstance(error, AccessError) else 1)
    sys.exit(0 if all_hold else 1)


async def _check(
    namespace: str,
    meant: Meant,
    kubeconfig: Path | None,
    context: str | None,
    database: Path | None,
) -> bool:
    access = await load_access(kubeconfig, context)
    all_hold = True
    async with api_session(access) as session:
        async for finding in Checks(Client(access, session), namespace, meant).run():
            click.echo(f"{finding.what}: {_fate(finding)}")
            all_hold &= finding.wrong is None
    if database is not None:
        async for finding in findings(database):
            click.echo(f"{finding.what}: {_fate(finding)}")
            all_hold &= finding.wrong is None
    return all_hold


def _fate(finding: Finding) -> str:
    if finding.wrong is not None:
        return f"FAILED: {finding.wrong}"
    return "ok" if finding.warning is None else f"WARNING: {finding.warning}"
