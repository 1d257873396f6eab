"""`python -m tests.faults`: histories of operators and faults, one for each seed."""

import os
import sys
import time
from collections.abc import Iterator
from functools import partial
from multiprocessing import get_context

import click

from faults.batch import Batch, played_batch, played_loudly

EVERY = 10.0
"""Seconds between two lines of progress."""
CHUNK = 25


@click.command()
@click.option("--seeds", type=click.IntRange(1), default=200, show_default=True)
@click.option("--from", "first", type=int, default=0, show_default=True, help="The first seed.")
@click.option("--seed", type=int, help="Plays this seed alone, and prints its option set.")
@click.option("--shared", is_flag=True, help="Several clusters share their pools.")
@click.option("--log", is_flag=True, help="With --seed: prints what the operators log.")
@click.option("--processes", type=click.IntRange(1), default=os.cpu_count(), show_default=True)
@click.option("--most", type=click.IntRange(1), default=5, show_default=True, help="Failures.")
def main(
    seeds: int,
    first: int,
    seed: int | None,
    shared: bool,
    log: bool,
    processes: int,
    most: int,
) -> None:
    """Plays histories and judges them by the invariants of the design.

    A seed that breaks one is printed with its whole option set and the command that plays it
    again; after so many failures no more are played. Exit code 1 if there were any.
    """
    if seed is not None:
        sys.exit(1 if played_loudly(seed, shared=shared, log=log) else 0)
    begun, total = time.monotonic(), Batch()
    said = begun
    for batch in _batches(range(first, first + seeds), processes, shared):
        total += batch
        for failure in batch.failures:
            click.echo(failure, err=True)
        if time.monotonic() - said >= EVERY:
            said = time.monotonic()
            click.echo(total.line(said - begun))
        if len(total.failures) >= most:
            break
    click.echo(total.line(time.monotonic() - begun))
    sys.exit(1 if total.failures else 0)


def _batches(seeds: range, processes: int, shared: bool) -> Iterator[Batch]:
    """Each chunk by a process of its own, whose end is cheaper than to tidy up after histories."""
    chunks = [seeds[start : start + CHUNK] for start in range(0, len(seeds), CHUNK)]
    with get_context("fork").Pool(processes, maxtasksperchild=1) as pool:
        yield from pool.imap_unordered(partial(played_batch, shared=shared), chunks)


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The order of sets is part of a history.
        words = [sys.executable, "-m", "tests.faults", *sys.argv[1:]]
        os.execve(sys.executable, words, os.environ | {"PYTHONHASHSEED": "0"})  # noqa: S606
    main()
