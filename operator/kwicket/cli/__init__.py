"""The commands: the only room that prints."""

import click

from kwicket import __version__
from kwicket.cli.certificates import certificates
from kwicket.cli.check import check
from kwicket.cli.ledger import ledger
from kwicket.cli.operator import operator
from kwicket.cli.simulate import simulate
from kwicket.cli.webhook import webhook


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kwicket")
def main() -> None:
    """Fair Job admission for Kubernetes: which waiting Job may start now?"""


main.add_command(certificates)
main.add_command(check)
main.add_command(ledger)
main.add_command(operator)
main.add_command(simulate)
main.add_command(webhook)
