"""`kwicket simulate`: tries rules on Jobs that nobody has to run."""

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
import msgspec

from kwicket.cli.plots import Plotter, plotter
from kwicket.cli.rehearsal import Refused, Rehearsal, Wish, rehearsal
from kwicket.cli.tables import aside_lines, ratios_table, runs_table, tenants_table
from kwicket.sim.compare import Comparison, compared, measures_of
from kwicket.sim.copies import copy_of
from kwicket.sim.report import Report, plain, report_of
from kwicket.sim.run import Progress, Run, run

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("scenario", type=_FILE, required=False)
@click.option("--trace", type=_FILE, help="Take the Jobs of this trace (SWF); users are tenants.")
@click.option("--slots", type=click.IntRange(0, 1_000_000), help="Jobs at once in each Pool.")
@click.option(
    "--against",
    "others",
    metavar="OTHER.yaml|fifo",
    multiple=True,
    help="The same Jobs under other rules as well: a file with Pools, or first come, first served.",
)
@click.option(
    "--oracle", is_flag=True, help="The same Jobs as well with run times known at their start."
)
@click.option(
    "--copies",
    type=click.IntRange(0, 1000),
    default=0,
    help="Compare over so many copies with 7 % of the Jobs left out and arrivals moved.",
)
@click.option("--json", "as_json", is_flag=True, help="All figures, and every grant, as JSON.")
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    metavar="OUT.svg",
    help="Draw shares and lags over time; needs matplotlib: pip install 'kwicket[plot]'.",
)
def simulate(
    scenario: Path | None,
    trace: Path | None,
    slots: int | None,
    others: tuple[str, ...],
    oracle: bool,
    copies: int,
    as_json: bool,
    plot: Path | None,
) -> None:
    """Run the Jobs of SCENARIO, or of a trace, in virtual time, by the code that decides in a
    cluster.

    SCENARIO is a YAML file with Pools, Lanes and Limits as kubectl takes them, and a document
    `kind: Scenario` with the Jobs. Exits with 2 if anything in it can't be read, all of it named
    by line; lines of a trace that can't be are named and left out.
    """
    try:
        if copies and not (others or oracle):
            raise Refused(["kwicket simulate: --copies compares: add --against or --oracle"])
        draw = plotter() if plot else None
        ready = rehearsal(Wish(scenario, trace, slots, others, oracle))
    except Refused as refused:
        for line in refused.lines:
            click.echo(line, err=True)
        sys.exit(2)
    for note in ready.notes:
        click.echo(note, err=True)
    runs, comparisons = _runs(ready, copies, watched=plot is not None)
    reports = [report_of(one) for one in runs]
    if as_json:
        click.echo(_json(ready, runs, reports, comparisons, copies))
    else:
        _print(runs, reports, comparisons)
    if plot and draw:
        _draw(draw, runs[0], plot)


def _runs(ready: Rehearsal, copies: int, *, watched: bool) -> tuple[list[Run], list[Comparison]]:
    """The Jobs in every world, and how the first compares with the others over the copies."""
    total = len(ready.arrivals) * len(ready.worlds) * (1 + copies)
    with _progress(total) as bar:
        progress: Progress | None = bar.update if bar else None
        first, *others = ready.worlds
        runs = [run(first, ready.arrivals, progress, watched=watched)]
        runs += [run(world, ready.arrivals, progress) for world in others]
        table = []
        for seed in range(1, copies + 1):
            jobs = copy_of(ready.arrivals, seed)
            table.append([measures_of(run(world, jobs, progress)) for world in ready.worlds])
    return runs, [
        compared(world.name, [(row[0], row[place]) for row in table])
        for place, world in enumerate(others if copies else (), 1)
    ]


def _draw(draw: Plotter, first: Run, plot: Path) -> None:
    try:
        draw(first, plot)
    except OSError as error:
        click.echo(f"kwicket simulate: --plot {plot}: {error.strerror or error}", err=True)
        sys.exit(2)


def _progress(total: int) -> Any:
    """A bar on a terminal, else nothing."""
    if not sys.stderr.isatty():
        return nullcontext()
    return click.progressbar(length=total, label="Jobs started", file=sys.stderr)


def _print(runs: Sequence[Run], reports: Sequence[Report], found: Sequence[Comparison]) -> None:
    lines = [*tenants_table(reports), "", *runs_table(reports)]
    for one in runs:
        lines += ["", *aside_lines(one)] if one.aside else []
    if found:
        lines += ["", *ratios_table(found)]
    for line in lines:
        click.echo(line)


def _json(
    ready: Rehearsal,
    runs: Sequence[Run],
    reports: Sequence[Report],
    comparisons: Sequence[Comparison],
    copies: int,
) -> str:
    first, *others = (plain(*pair) for pair in zip(reports, runs, strict=True))
    grants = first.pop("grants")
    whole = first | {
        "against": others,
        "copies": {"count": copies, "ratios": comparisons},
        "badLines": ready.bad,
        "notes": ready.notes,
        "grants": grants,
    }
    return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode()
