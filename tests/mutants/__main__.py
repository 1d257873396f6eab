"""`python -m tests.mutants`: puts each mistake into a copy of the tree and sees who notices.

Mistakes in the core must be noticed by its tests, safeguards that are left out by the fault bench.
"""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial

import click

from .bench import safeguarded, shared
from .mutant import Kind, Mutant, NotFoundError
from .population import POPULATION
from .runs import ROOT, BrokenRunError, Verdict, trial
from .safeguards import SAFEGUARDS
from .shared import SHARED

PROCESSES = 2
MOST_SECONDS = 900.0
"""How long the tests may take on the core as it is."""
ALL = (*POPULATION, *SAFEGUARDS, *SHARED)
BENCHES: dict[Kind, Callable[..., Verdict]] = {Kind.SAFEGUARD: safeguarded, Kind.SHARED: shared}
"""Who judges what no test of the core can notice."""
COLUMNS = ("mutant", "the mistake", "kind", "line", "killed by", "seconds")


@click.command()
@click.option(
    "--only",
    type=click.Choice([mutant.name for mutant in ALL]),
    multiple=True,
    metavar="NAME",
    help="Try this mutant alone; may be said several times.",
)
def main(only: tuple[str, ...]) -> None:
    """Shows which test or seed notices which mistake.

    Exit code 1: a mutant survives, so that a test is missing. Exit code 2: a mutant has no place
    in the code any more, or the tests or the bench find something in the code as it is.
    """
    chosen = [mutant for mutant in ALL if not only or mutant.name in only]
    try:
        rows = [(mutant, mutant.number(ROOT), verdict) for mutant, verdict in _tried(chosen)]
    except (NotFoundError, BrokenRunError) as error:
        click.echo(f"mutants: {error}", err=True)
        sys.exit(2)
    survivors = [mutant.name for mutant, _, verdict in rows if verdict.killer is None]
    click.echo(_table(rows))
    if survivors:
        click.echo(f"no test notices: {', '.join(survivors)}", err=True)
        sys.exit(1)


def _tried(mutants: list[Mutant]) -> list[tuple[Mutant, Verdict]]:
    """Each mutant with what the tests said, in the order of the population."""
    for mutant in mutants:
        mutant.number(ROOT)
    found = {_bench(mutant).__name__: _bench(mutant) for mutant in mutants}
    judges = {name: _judge(found[name]) for name in sorted(found)}
    verdicts: dict[str, Verdict] = {}
    with ThreadPoolExecutor(PROCESSES) as pool:
        trials = {pool.submit(judges[_bench(one).__name__], one): one for one in mutants}
        try:
            for done in as_completed(trials):
                name = trials[done].name
                verdicts[name] = done.result()
                fate = verdicts[name].killer or "SURVIVES"
                click.echo(f"{len(verdicts)} of {len(mutants)}: {name}: {fate}", err=True)
        finally:
            pool.shutdown(cancel_futures=True)
    return [(mutant, verdicts[mutant.name]) for mutant in mutants]


def _bench(mutant: Mutant) -> Callable[..., Verdict]:
    return BENCHES.get(mutant.kind, trial)


def _judge(judge: Callable[..., Verdict]) -> Callable[[Mutant], Verdict]:
    """The judge, with as much time as a mutant may take; the code as it is has to pass."""
    click.echo(f"the code as it is: {judge.__name__}", err=True)
    verdict = judge(None, most_seconds=MOST_SECONDS)
    if verdict.killer is not None:
        raise BrokenRunError(f"without a mutant: {verdict.killer}")
    return partial(judge, most_seconds=verdict.seconds * 3 + 60)


def _table(rows: list[tuple[Mutant, int, Verdict]]) -> str:
    cells = [COLUMNS, *_cells(rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(COLUMNS))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)


def _cells(rows: list[tuple[Mutant, int, Verdict]]) -> Iterator[tuple[str, ...]]:
    for mutant, number, verdict in rows:
        yield (
            mutant.name,
            mutant.mistake,
            mutant.kind,
            f"{mutant.path.name}:{number}",
            verdict.killer or "NOBODY",
            f"{verdict.seconds:.0f}",
        )


if __name__ == "__main__":
    main()
