"""`python -m tests.faults.table`: the rows of the fault matrix in the model, in Markdown."""

import os
import sys
from pathlib import Path

import click

from faults.batch import quiet
from faults.rows.matrix import ROWS
from faults.rows.row import Row, recovered

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN = "<!-- simulated: made by `python -m tests.faults.table --write` -->"
END = "<!-- end of simulated -->"
HEAD = "| row | fault | what happens | recovered in (simulated) |\n|---|---|---|---|"


def table() -> str:
    """All rows with their times, played now."""
    return "\n".join([HEAD, *(_line(row) for row in ROWS)])


def section(page: str) -> str:
    """What a page has between the two markers. Raises ValueError if it lacks one."""
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    return page[begin:end].strip()


def rewritten(page: str, made: str) -> str:
    """The page with this table between its markers."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{rest.partition(END)[2]}"


def _line(row: Row) -> str:
    return f"| {row.number} | {row.fault} | {row.happens} | {_words(recovered(row))} |"


def _words(seconds: float) -> str:
    """Rounded up, since a figure is what is waited for at most."""
    return "at once" if seconds < 1 else f"{int(seconds) + 1} s"


@click.command()
@click.option("--write", is_flag=True, help="Puts the table into docs/reliability.md.")
def main(write: bool) -> None:
    """Plays each row of the fault matrix and prints how long it took to recover."""
    quiet()
    made = table()
    if write:
        PAGE.write_text(rewritten(PAGE.read_text(), made))
    click.echo(made)


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The order of sets is part of a history.
        words = [sys.executable, "-m", "tests.faults.table", *sys.argv[1:]]
        os.execve(sys.executable, words, os.environ | {"PYTHONHASHSEED": "0"})  # noqa: S606
    main()
