"""`kwicket webhook`: answers admission reviews."""

import asyncio
import sys
from pathlib import Path

import click

from kwicket.app import admit
from kwicket.cli.logs import LEVELS, configure_logs
from kwicket.cli.options import FILE, cluster_access, endpoints
from kwicket.kube.access import AccessError
from kwicket.kube.webhook.certificates import CertificateError
from kwicket.settings import WebhookSettings


@click.command()
@click.option(
    "--certificate",
    type=FILE,
    required=True,
    help="The server's certificate (PEM), and what leads from it to the authority's.",
)
@click.option(
    "--key",
    type=FILE,
    required=True,
    help="Its private key (PEM). Both files are read again when they change.",
)
@click.option(
    "--listen",
    metavar="HOST:PORT",
    default="0.0.0.0:8443",
    show_default=True,
    help="Where reviews are answered, by TLS.",
)
@endpoints
@cluster_access
@click.option(
    "--log-level",
    type=click.Choice(LEVELS),
    default="info",
    show_default=True,
    help="How much is logged, as JSON lines on standard output.",
)
def webhook(
    certificate: Path,
    key: Path,
    listen: str,
    probes: str | None,
    metrics: str | None,
    kubeconfig: Path | None,
    context: str | None,
    log_level: str,
) -> None:
    """Answer the API server's reviews of Jobs, Pools, Lanes and Limits.

    POST /mutate-jobs suspends Jobs with a tenant and gives them their token, where the API server
    has no MutatingAdmissionPolicy. /validate-jobs and /validate-objects say in words what is wrong.
    Ended by SIGTERM or SIGINT, it finishes the reviews under way.

    Exits with 0 when ended so, with 2 when it can't begin: no credentials, no certificate, a bad
    option, or an address that is taken.
    """
    configure_logs(log_level)
    try:
        settings = WebhookSettings(
            certificate=certificate,
            key=key,
            listen=listen,
            probes=probes,
            metrics=metrics,
            kubeconfig=kubeconfig,
            context=context,
        )
        asyncio.run(admit(settings))
    except (AccessError, CertificateError, ValueError, OSError) as error:
        click.echo(f"kwicket webhook: {error}", err=True)
        sys.exit(2)
