"""Command line of the image: `python -m e2e.image`."""

import sys
from pathlib import Path

import click

from e2e.image import kwicket
from kwicket import __version__

NAME = f"kwicket:{__version__}"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--name", default=NAME, show_default=True, help="Repository and tag.")
def main(target: Path, name: str) -> None:
    """Write Kwicket's image to TARGET, an OCI archive, without Docker. Needs Linux and ldd.

    It holds the Python of this environment, the packages of requirements/runtime.txt, by their
    hashes, and Kwicket from this folder.
    """
    try:
        kwicket.write(target, name)
    except kwicket.ImageError as error:
        click.echo(str(error), err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
