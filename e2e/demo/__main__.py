"""`python -m e2e.demo`: shows on real Jobs that carol, who submits last, starts third."""

import asyncio
import os
import sys
import termios
import tty
from pathlib import Path

import click
from rich.console import Console

from e2e import operators
from e2e.demo.picture import draw
from e2e.demo.screen import Screen, orders, timeline
from e2e.demo.story import Bar, Story
from e2e.plane import Plane, PlaneError

ALICE = [f"alice-{number}" for number in range(1, 7)]
EXPECTED = [ALICE[0], "bob-1", "carol-1", ALICE[1], "bob-2", *ALICE[2:]]


@click.command()
@click.option("--dir", "folder", type=click.Path(path_type=Path), default=".plane-demo")
@click.option("--svg", type=click.Path(path_type=Path), help="Also draw the run into this file.")
def main(folder: Path, svg: Path | None) -> None:
    """One Pool with one slot: alice submits 6 Jobs, bob 2, carol 1. Who starts when?

    The plane is the demo's own, so that it never stops one that somebody else works on.
    On a terminal the plane stays up afterwards until a key is pressed; KEEP=0 stops it at once.
    Exits with 1 if the order is not the fair one.
    """
    console = Console()
    try:
        plane = Plane.up(folder.absolute(), say=console.print)
    except PlaneError as error:
        click.echo(str(error), err=True)
        sys.exit(error.exit_code)
    try:
        story = Story(plane, console.print)
        account = asyncio.run(story.prepare())
        with operators.running(account, story.log):
            bars = _run(story, console)
            if svg is not None:
                draw(bars, svg)
            fair = _judge(bars, console)
            if _keeps(console):
                _wait_for_key(plane, console)
    finally:
        console.print("stopping the plane")
        plane.down()
    sys.exit(0 if fair else 1)


def _run(story: Story, console: Console) -> list[Bar]:
    with Screen(console) as screen:
        return asyncio.run(story.tell(screen.show))


def _judge(bars: list[Bar], console: Console) -> bool:
    if not console.is_terminal:
        console.print(timeline(bars))
    console.print(orders(bars))
    order = [bar.job for bar in bars]
    if order != EXPECTED:
        console.print(f"[red]not the fair order, which is {' '.join(EXPECTED)}")
        return False
    console.print("carol submitted last, 9th of 9, and started 3rd: each tenant gets its turn.")
    return True


def _keeps(console: Console) -> bool:
    return console.is_terminal and sys.stdin.isatty() and os.environ.get("KEEP") != "0"


def _wait_for_key(plane: Plane, console: Console) -> None:
    console.print(
        "\nThe plane and the operator are still up. Go on in another terminal:\n\n",
        f"  export KUBECONFIG={plane.kubeconfig('admin')}\n",
        f"  {plane.bin('kubectl')} get kwicket\n",
        f"  {plane.bin('kubectl')} get events -n demo\n",
        "\nPress any key to stop it.",
        sep="",
    )
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        sys.stdin.read(1)
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


if __name__ == "__main__":
    main()
