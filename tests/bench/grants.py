"""`python -m tests.bench.grants`: measures the decision and prints the figures."""

import importlib.util
import json
from collections.abc import Callable
from functools import partial
from itertools import product

import click

from .figures import STEPS, Comparison, measure
from .loads import Size
from .report import Report, plain, table

WAITING = (1_000, 10_000, 100_000)
TENANTS = (100, 1_000)
LANES = (1, 10, 100)
PEER = "wicket"

type Say = Callable[[str], None]


def _listed(values: tuple[int, ...]) -> str:
    return ", ".join(map(str, values))


@click.command()
@click.option(
    "--waiting",
    type=click.IntRange(1, 1_000_000),
    multiple=True,
    help=f"Jobs that wait; may be said several times.  [default: {_listed(WAITING)}]",
)
@click.option(
    "--tenants",
    type=click.IntRange(1, 1_000_000),
    multiple=True,
    help="Tenants that they belong to, each with as many; may be said several times."
    f"  [default: {_listed(TENANTS)}]",
)
@click.option(
    "--lanes",
    type=click.IntRange(1, 1_000),
    multiple=True,
    help="Lanes, each with limits of its own if there are several; may be said several times."
    f"  [default: 1; without --waiting and --tenants {_listed(LANES)}]",
)
@click.option(
    "--repeats",
    type=click.IntRange(1, 100),
    default=5,
    show_default=True,
    help="Runs of each size; figures are medians of them.",
)
@click.option(
    "--grants",
    type=click.IntRange(1, 10_000_000),
    default=STEPS,
    show_default=True,
    help="Grants of each run.",
)
@click.option(
    "--peer",
    type=click.Choice([PEER]),
    help="Run the same history through this PyPI package too, where it can bear it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object.")
def main(
    waiting: tuple[int, ...],
    tenants: tuple[int, ...],
    lanes: tuple[int, ...],
    repeats: int,
    grants: int,
    peer: str | None,
    as_json: bool,
) -> None:
    """The decision on the real core: microseconds a grant, pauses, bytes a waiting Job.

    One Job ends, one decision starts another, one comes, and so on, at a line that stays as long
    as it is. Half of the Jobs are past fullAfter; the weights are FairShare 1000, Trait 10 and Age
    10; the pool has a limit of 128 Jobs. With several lanes each has a limit of its own, and each
    tenant may run one Job in a lane and three in the pool.

    Without options the whole table is measured, which takes some minutes.
    """
    sizes = _sizes(waiting, tenants, lanes)
    compare = _comparison(sizes) if peer else None
    report = Report(repeats, grants, [], [])
    for number, size in enumerate(sizes, start=1):
        say = partial(_say, f"{number} of {len(sizes)}: {size}")
        report.figures.append(measure(size, repeats=repeats, steps=grants, say=say))
        if compare:
            report.peer += compare(size, repeats, say)
    click.echo(json.dumps(plain(report), indent=2) if as_json else table(report))


def _sizes(
    waiting: tuple[int, ...], tenants: tuple[int, ...], lanes: tuple[int, ...]
) -> list[Size]:
    """What was asked for, or the sizes of the table."""
    lanes = lanes or (LANES[:1] if waiting or tenants else LANES)
    sizes = [Size(*size) for size in product(waiting or WAITING, tenants or TENANTS, lanes)]
    fitting = [size for size in sizes if size.tenants <= size.waiting]
    if not fitting or (tenants and len(fitting) < len(sizes)):
        raise click.BadParameter(
            "each tenant has at least one waiting Job: name no more tenants than Jobs.",
            param_hint="--tenants",
        )
    return fitting


def _comparison(sizes: list[Size]) -> Callable[[Size, int, Say], list[Comparison]]:
    """How a size is compared with the peer, which need not be there otherwise."""
    if importlib.util.find_spec(PEER) is None:
        raise click.ClickException(f"--peer {PEER}: install it first, with `pip install {PEER}`.")
    from . import peer

    if not any(peer.bears(size) for size in sizes):
        raise click.BadParameter(
            f"{PEER} has no lanes and is measured with up to {peer.MOST:,} waiting Jobs.",
            param_hint="--peer",
        )
    return lambda size, repeats, say: (
        [peer.compare(size, repeats=repeats, say=say)] if peer.bears(size) else []
    )


def _say(size: str, step: str) -> None:
    click.echo(f"{size}: {step}", err=True)


if __name__ == "__main__":
    main()
