"""Command line of the test plane: `python -m e2e.plane`."""

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import get_args

import click

from e2e.plane import build as binaries
from e2e.plane import faults
from e2e.plane.errors import PlaneError
from e2e.plane.layout import NodeKind
from e2e.plane.node import host
from e2e.plane.plane import EMULATED, Plane

folder = click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".plane"),
    show_default=True,
    help="Folder of the plane; each plane needs its own.",
)


def _say(text: str) -> None:
    click.echo(text, err=True)


def in_one_sentence[**P](command: Callable[P, None]) -> Callable[P, None]:
    """End the program with the error's sentence and exit code instead of a traceback."""

    @wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except PlaneError as error:
            _say(str(error))
            sys.exit(error.exit_code)

    return guarded


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """A real Kubernetes control plane on loopback, for tests.

    etcd, kube-apiserver, kube-controller-manager and kube-scheduler, with a node agent
    that runs each container's command as a local process, or with a real node. Needs Linux
    and Go 1.26.
    """


nodes = click.option(
    "--node",
    type=click.Choice(get_args(NodeKind.__value__)),
    default="agent",
    show_default=True,
    help="agent: pods' commands run as local processes. real: kubelet and containerd, as root.",
)


@main.command()
@in_one_sentence
def build() -> None:
    """Build the binaries only: minutes the first time, nothing when they are fresh.

    Those of a real node are among them where this machine can be one.
    """
    lacking = host.lacking()
    binaries.build(_say, binaries.needed("agent" if lacking else "real"))
    if lacking:
        _say(f"not built for a real node: {lacking}")
    _say(f"binaries are in {binaries.BIN}")


@main.command()
@folder
@click.option("--emulate", type=click.Choice(EMULATED), help="Behave as this Kubernetes version.")
@nodes
@in_one_sentence
def up(folder: Path, emulate: str | None, node: NodeKind) -> None:
    """Start a plane, leave it running, print the admin kubeconfig's path as the last line."""
    plane = Plane.up(folder, emulate, _say, node)
    click.echo(plane.kubeconfig("admin"))


@main.command()
@folder
@in_one_sentence
def down(folder: Path) -> None:
    """Stop exactly what `up` started, also after a crash half way; logs stay."""
    Plane(folder).down()


@main.command()
@click.argument("who")
@folder
@in_one_sentence
def kubeconfig(who: str, folder: Path) -> None:
    """Print the path of a kubeconfig for WHO.

    WHO is admin, alice, bob, or a service account NAMESPACE/NAME, for which a token is minted.
    """
    click.echo(Plane(folder).kubeconfig(who))


@main.command()
@click.argument("archive", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@folder
@in_one_sentence
def load(archive: Path, folder: Path) -> None:
    """Put the image of the OCI ARCHIVE on the plane's real node."""
    Plane(folder).load(archive)


@main.command()
@click.argument("name")
@click.argument("fault", type=click.Choice(faults.FAULTS))
@folder
@in_one_sentence
def node(name: str, fault: str, folder: Path) -> None:
    """Do something to node NAME.

    die: the machine goes off, with its containers. silence: containers run on, nothing is
    reported. return: the node is back and reports what has happened meanwhile.
    """
    Plane(folder).node(name, fault)


if __name__ == "__main__":
    main(prog_name="python -m e2e.plane")
