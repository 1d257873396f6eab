"""`python -m tests.bench.postgres`: measures the ledger in PostgreSQL and prints the figures."""

import asyncio
import json
import os
from itertools import product

import click
from msgspec import to_builtins

from kwicket.core.decide import MOST_GRANTS
from kwicket_storage.schema import migrate
from support.postgres import running
from support.servers import Server

from . import peer
from .deciding import decide
from .measure import Figures, Size, measure, prepare

OPERATORS, POOLS, TENANTS = (1, 4, 8), (10, 1), (100, 1_000)
WAITING = 1_000
TARGET = 5_000.0
"""Grants a second on one pool, on two idle cores."""


@click.command()
@click.option("--operators", type=click.IntRange(1, 64), multiple=True, default=OPERATORS)
@click.option("--pools", type=click.IntRange(1, 1_000), multiple=True, default=POOLS)
@click.option("--tenants", type=click.IntRange(16, 100_000), multiple=True, default=TENANTS)
@click.option("--seconds", type=click.FloatRange(0.5, 600), default=5.0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object.")
def main(
    operators: tuple[int, ...],
    pools: tuple[int, ...],
    tenants: tuple[int, ...],
    seconds: float,
    as_json: bool,
) -> None:
    """Grants a second in batches of 16, with fsync on, from several operators at once.

    Each operator is a process in which 1,000 Jobs wait in each pool. It decides and commits in one
    pool after the other, and takes over the page that is there after a conflict. A commit writes 16
    grants and the end of its 16 before. What clusters tell each other beside the page is left out.
    Wicket's store commits one grant at a time, and here decides nothing.
    """
    sizes = [Size(*size, WAITING) for size in product(operators, pools, tenants)]
    with running(settings={"fsync": "on", "max_connections": "200"}) as server:
        asyncio.run(migrate(server.url))
        rows = [_row(server, size, seconds) for size in sizes]
    report = {"cores": os.cpu_count(), "batch": MOST_GRANTS, "seconds": seconds, "target": TARGET}
    if as_json:
        click.echo(json.dumps({**report, "sizes": rows}, indent=2))


def _row(server: Server, size: Size, seconds: float) -> dict[str, object]:
    prepare(server.url, size)
    ours = measure(server, size, seconds, decide)
    theirs = _peer(server, size, seconds)
    row = {
        **to_builtins(size),
        "kwicket": to_builtins(ours),
        "wicket": to_builtins(theirs),
        "ratio": round(ours.grants_per_second / max(theirs.grants_per_second, 0.1), 1),
    }
    click.echo(json.dumps(row), err=True)
    return row


def _peer(server: Server, size: Size, seconds: float) -> Figures:
    peer.prepare(server.url, size.pools, size.operators)
    return measure(server, size, seconds, peer.decide)


if __name__ == "__main__":
    main()
