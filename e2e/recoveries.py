"""`python -m e2e.recoveries`: writes what the tests have measured into docs/reliability.md.

Each run of the tests keeps in build/recoveries.json how long each fault of the matrix has lasted,
beside what earlier runs of other tests have kept there.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import click
import msgspec

ROOT = Path(__file__).parents[1]
FILE = ROOT / "build" / "recoveries.json"
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = (
    "<!-- measured by the cluster tests: begin -->",
    "<!-- measured by the cluster tests: end -->",
)
HEAD = ("| row | what befalls a running operator | recovered in | test |", "|---|---|---|---|")


class Recovery(msgspec.Struct, frozen=True):
    """How long a fault of the matrix has lasted, as an observer of the API saw it."""

    row: str
    """Of the fault matrix; several as in 28/29."""
    what: str
    seconds: float
    test: str


type Recovered = Callable[[str, str, float], None]
"""Notes a row, what befalls an operator, and for how many seconds."""


def keep(file: Path, noted: Iterable[Recovery]) -> None:
    """Adds what was measured to the file; what it has of the same row and fault is replaced."""
    known = {(one.row, one.what): one for one in (*kept(file), *noted)}
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(msgspec.json.encode(list(known.values()))))


def kept(file: Path) -> list[Recovery]:
    """What was measured so far."""
    return msgspec.json.decode(file.read_bytes(), type=list[Recovery]) if file.exists() else []


def table(recoveries: Iterable[Recovery]) -> str:
    """Rows of Markdown, in the order of the matrix."""
    lines = [
        f"| {one.row} | {one.what} | {one.seconds:.1f} s | `{one.test}` |"
        for one in sorted(recoveries, key=lambda one: (int(one.row.split("/")[0]), one.what))
    ]
    return "\n".join((*HEAD, *lines))


def written(page: str, recoveries: Iterable[Recovery]) -> str:
    """The page with this table between its marks. Raises ValueError without them."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the marks {BEGIN} and {END} are not there")
    return f"{before}{BEGIN}\n{table(recoveries)}\n{END}{after}"


@click.command()
def main() -> None:
    """Put what the last runs of the cluster tests have measured into docs/reliability.md."""
    PAGE.write_text(written(PAGE.read_text(), kept(FILE)))
    click.echo(f"{PAGE.relative_to(ROOT)} has the figures of {FILE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
