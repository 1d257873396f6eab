"""Options that several commands have, with the same words."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
"""A file that is there."""

type _Command = Callable[..., Any]


def cluster_access(command: _Command) -> _Command:
    """`--kubeconfig` and `--context`: which cluster, and as whom."""
    context = click.option(
        "--context", help="The context of the kubeconfig; its current one if left out."
    )
    kubeconfig = click.option(
        "--kubeconfig",
        type=FILE,
        help="The cluster and the identity to use. Without it: the service account of the pod.",
    )
    return kubeconfig(context(command))


def endpoints(command: _Command) -> _Command:
    """`--probes` and `--metrics`: where a process tells how it is."""
    metrics = click.option(
        "--metrics",
        metavar="HOST:PORT",
        help="Where /metrics listens, such as 0.0.0.0:8081; whoever reaches it may read. Without"
        " it: nowhere.",
    )
    probes = click.option(
        "--probes",
        metavar="HOST:PORT",
        help="Where /healthz and /readyz listen, such as 0.0.0.0:8080. Without it: nowhere.",
    )
    return probes(metrics(command))
