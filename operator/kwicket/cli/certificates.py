"""`kwicket certificates`: makes and renews the certificate of the webhook."""

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from kwicket.app import api_session
from kwicket.cli.logs import configure_logs
from kwicket.cli.options import cluster_access
from kwicket.kube.access import AccessError, load_access
from kwicket.kube.client import Client
from kwicket.kube.renewal import Place, Renewal, RenewalError
from kwicket.ports.errors import UnavailableError


@click.command()
@click.option("--namespace", required=True, help="Where the Secret and the Service are.")
@click.option(
    "--service", required=True, help="The webhook's Service, which the certificate is for."
)
@click.option("--secret", required=True, help="The Secret that holds it; it must exist.")
@click.option(
    "--configuration", required=True, help="The name of the webhook configurations that trust it."
)
@cluster_access
def certificates(
    namespace: str,
    service: str,
    secret: str,
    configuration: str,
    kubeconfig: Path | None,
    context: str | None,
) -> None:
    """Make the webhook's certificate, or renew it if a third of its 90 days or less is left.

    Run it as often as you like: what is right already is not written. Exits with 1 when it could
    not be done, with 2 without credentials.
    """
    configure_logs("info")
    place = Place(namespace, service, secret, configuration)
    try:
        asyncio.run(_renew(place, kubeconfig, context))
    except (RenewalError, UnavailableError) as error:
        click.echo(f"kwicket certificates: {error}", err=True)
        sys.exit(1)
    except AccessError as error:
        click.echo(f"kwicket certificates: {error}", err=True)
        sys.exit(2)


async def _renew(place: Place, kubeconfig: Path | None, context: str | None) -> None:
    access = await load_access(kubeconfig, context)
    async with api_session(access) as session:
        await Renewal(Client(access, session), place).run(datetime.now(UTC))
