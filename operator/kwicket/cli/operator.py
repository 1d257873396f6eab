"""`kwicket operator`: runs the operator."""

import asyncio
import os
import socket
import sys
from pathlib import Path

import click

from kwicket.app import operate
from kwicket.cli.database import beside
from kwicket.cli.logs import LEVELS, configure_logs
from kwicket.cli.options import FILE, cluster_access, endpoints
from kwicket.kube.access import AccessError, pod_namespace
from kwicket.settings import NAMESPACE, Settings, Shared
from kwicket_storage.history import DAYS


@click.command()
@cluster_access
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
    " needs none; several without it stay within all limits, and do each other's work. Either way"
    " nothing is granted by one that may not get, create and update Leases in --namespace.",
)
@endpoints
@click.option(
    "--postgres",
    type=FILE,
    help="A file with the URL of a PostgreSQL that keeps the pools, for limits over several"
    " clusters. Where that leads to a pooler, a file listen-url beside it has the URL of a direct"
    " connection. Without it: a Ledger object for each pool.",
)
@click.option("--cluster", help="With --postgres: by which name the others know this cluster.")
@click.option(
    "--cluster-lapse",
    type=float,
    metavar="SECONDS",
    help="With --postgres: after how long a silence the slots of a cluster are free. Without it:"
    " by kwicket ledger forget alone.",
)
@click.option(
    "--history-days",
    type=float,
    metavar="DAYS",
    help="With --postgres: for how long grants are kept there after their end. Without it: 30.",
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
    postgres: Path | None,
    cluster: str | None,
    cluster_lapse: float | None,
    history_days: float | None,
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
            shared=_shared(postgres, cluster, cluster_lapse, history_days),
            identity=os.environ.get("HOSTNAME") or socket.gethostname(),
        )
        asyncio.run(operate(settings))
    except (AccessError, ValueError, OSError) as error:
        click.echo(f"kwicket operator: {error}", err=True)
        sys.exit(2)


def _shared(
    file: Path | None, cluster: str | None, lapse: float | None, history: float | None
) -> Shared | None:
    if file is None:
        if cluster or lapse is not None or history is not None:
            raise ValueError("--cluster, --cluster-lapse and --history-days go with --postgres")
        return None
    days = DAYS if history is None else history
    return Shared(file, cluster or "", listen=beside(file), lapse=lapse, history=days)
