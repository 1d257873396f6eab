"""`python -m tests.fuzz`: random histories through the core and the reference, side by side."""

import sys
import time

import click

from support.seeded import Disagreement, play, shrunk, watch

EVERY = 500
PATIENCE = 10
"""How many seconds a history may take."""


@click.command()
@click.option("--histories", type=click.IntRange(1), default=1000, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the first history.")
@click.option("--steps", type=click.IntRange(1), default=60, show_default=True, help="In each.")
def main(histories: int, seed: int, steps: int) -> None:
    """Stops at the first history that the two do not agree on, and prints it made small."""
    watch(PATIENCE)
    begun = time.monotonic()
    for number in range(seed, seed + histories):
        try:
            play(number, steps)
        except Disagreement as found:
            watch(1)
            click.echo(f"seed {number}, made small:\n{shrunk(found)}", err=True)
            sys.exit(1)
        done = number - seed + 1
        if done % EVERY == 0 or done == histories:
            rate = done / (time.monotonic() - begun)
            click.echo(f"{done} histories of {steps} steps, {rate:.0f} a second: all agree")


if __name__ == "__main__":
    main()
