"""`kwicket operator`: runs the operator."""

import asyncio
import os
import socket
import sys
from pathlib import Path

import click

from kwicket.app import operate
from kwicket.cli.logs import LEVELS, configure_logs
from kwicket.kube.access import AccessError, pod_namespace
from kwicket.settings import NAMESPACE, Settings


@click.command()
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The cluster and the identity to use. Without it: the service account of the pod.",
)
@click.option("--context", help="The context of the kubeconfig; its current one if left out.")
@click.option(
    "--namespace",
    help="Where Kwicket is installed. Without it: the pod's, outside of a cluster kwicket-system.",
)
@click.option(
    "--leader-election/--no-leader-election",
    "election",
    default=True,
    show_default=True,
    help="Whether to wait for the Lease, up to 15 s after one that was killed. A single operator"
    " needs none; several without it stay within all limits, and do each other's work.",
)
@click.option(
    "--probes",
    metavar="HOST:PORT",
    help="Where /healthz and /readyz listen, such as 0.0.0.0:8080. Without it: nowhere.",
)
@click.option(
    "--metrics",
    metavar="HOST:PORT",
    help="Where /metrics listens, such as 0.0.0.0:8081; whoever reaches it may read. Without it:"
    " nowhere.",
)
@click.option(
    "--log-level",
    type=click.Choice(LEVELS),
    default="info",
    show_default=True,
    help="How much is logged, as JSON lines on standard output; info has a line a decision.",
)
def operator(
    kubeconfig: Path | None,
    context: str | None,
    namespace: str | None,
    election: bool,
    probes: str | None,
    metrics: str | None,
    log_level: str,
) -> None:
    """Start waiting Jobs, fairly and within limits, until ended by SIGTERM or SIGINT.

    Exits with 0 when ended so, with 2 when it can't begin: no credentials, a bad option, or an
    address that is taken.
    """
    configure_logs(log_level)
    try:
        settings = Settings(
            kubeconfig=kubeconfig,
            context=context,
            namespace=namespace or (kubeconfig is None and pod_namespace()) or NAMESPACE,
            election=election,
            probes=probes,
            metrics=metrics,
            identity=os.environ.get("HOSTNAME") or socket.gethostname(),
        )
        asyncio.run(operate(settings))
    except (AccessError, ValueError, OSError) as error:
        click.echo(f"kwicket operator: {error}", err=True)
        sys.exit(2)
