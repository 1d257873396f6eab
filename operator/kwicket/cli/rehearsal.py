"""What a simulation is asked for, made ready: the Jobs, and the sets of rules they run under."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from kwicket.cli.documents import Problem
from kwicket.cli.scenario import Scenario, misplaced, read_scenario
from kwicket.cli.tables import numbers
from kwicket.core.catalog import Catalog
from kwicket.core.reasons import Reason
from kwicket.sim.arrivals import Arrival
from kwicket.sim.trace import BadLine, Trace, read_trace
from kwicket.sim.worlds import Left, World, first_come, limited, placed, plain, settled

FIFO = "fifo"
ORACLE = "oracle"


class Wish(Struct, frozen=True):
    """What the command was told."""

    scenario: Path | None = None
    trace: Path | None = None
    slots: int | None = None
    others: tuple[str, ...] = ()
    oracle: bool = False


class Rehearsal(Struct, frozen=True):
    """Ready to run. The first world is the one that the others are compared with."""

    worlds: tuple[World, ...]
    arrivals: tuple[Arrival, ...]
    notes: tuple[str, ...] = ()
    """What whoever reads the figures should know."""
    bad: tuple[BadLine, ...] = ()
    """The lines of the trace that are left out."""


class Refused(Exception):  # it is an answer, said in `lines`
    """It can't be made ready; the lines say why, and where."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


def rehearsal(wish: Wish) -> Rehearsal:
    """All files read and checked. Raises Refused with everything that is wrong in them."""
    if wish.scenario is None and wish.trace is None:
        raise _refused("say which Jobs: SCENARIO.yaml, or --trace FILE.swf --slots N")
    if wish.scenario is None and wish.slots is None:
        raise _refused("say how many Jobs of the trace run at once: --slots N")
    scenario = read_scenario(wish.scenario) if wish.scenario else None
    others = {name: read_scenario(_path(name)) for name in wish.others if name != FIFO}
    files = [file for file in (scenario, *others.values()) if file is not None]
    _refuse(problem for file in files for problem in _problems_of(file))
    if scenario is not None:
        _refuse(_problems_with_jobs(scenario, wish.trace))
    trace = _trace(wish.trace) if wish.trace else Trace(())
    arrivals = trace.arrivals if wish.trace or scenario is None else scenario.arrivals()
    worlds, notes = _worlds(wish, scenario, others, arrivals)
    _refuse(_misplaced(wish, worlds, scenario, trace))
    if wish.trace:
        notes = [*_notes_on(wish.trace, trace), *notes]
    if any(other.scenario for other in others.values()):
        notes.append("The Scenario in a file after --against is not used: its rules are.")
    return Rehearsal(worlds, arrivals, tuple(notes), trace.bad)


def _path(name: str) -> Path:
    path = Path(name)
    if not path.is_file():
        raise _refused(
            f"--against {name}: there is no such file, and the only other word is {FIFO}"
        )
    return path


def _trace(path: Path) -> Trace:
    trace = read_trace(path.read_bytes().decode(errors="replace").splitlines())
    if not trace.arrivals:
        raise Refused([*_notes_on(path, trace), f"{path}: no line of it is a Job that can run"])
    return trace


def _worlds(
    wish: Wish,
    scenario: Scenario | None,
    others: dict[str, Scenario],
    arrivals: Sequence[Arrival],
) -> tuple[tuple[World, ...], list[str]]:
    notes: list[str] = []

    def ready(catalog: Catalog) -> Catalog:
        taken, said = settled(catalog, arrivals)
        notes.extend(note for note in said if note not in notes)
        return limited(taken, wish.slots) if wish.slots is not None else taken

    main = ready(scenario.catalog if scenario else plain())
    worlds = [World(_shown(wish, wish.scenario) if wish.scenario else "default", main)]
    for name in wish.others:
        if name == FIFO:
            worlds.append(World(FIFO, first_come(main)))
        else:
            worlds.append(World(_shown(wish, Path(name)), ready(others[name].catalog)))
    if wish.oracle:
        worlds.append(World(ORACLE, main, oracle=True))
    return tuple(worlds), notes


def _shown(wish: Wish, path: Path) -> str:
    """The name of a file, with its folders only if another one has that name too."""
    files = {Path(name) for name in wish.others} | ({wish.scenario} if wish.scenario else set())
    return str(path) if sum(file.name == path.name for file in files) > 1 else path.name


def _problems_of(file: Scenario) -> Iterator[Problem]:
    yield from file.problems
    if not file.problems and not file.catalog.pools:
        yield Problem(file.file, 1, 0, "it declares no Pool")


def _problems_with_jobs(scenario: Scenario, trace: Path | None) -> Iterator[Problem]:
    if trace is None and scenario.scenario is None:
        yield Problem(scenario.file, 1, 0, "it has no Jobs: add a document kind: Scenario")
    elif trace is None and not scenario.jobs:
        yield Problem(scenario.file, 1, 0, "its Scenario has no Jobs")
    if trace is not None and scenario.scenario is not None:
        yield scenario.scenario.problem(("kind",), f"the Jobs are those of {trace}: leave this out")


def _misplaced(
    wish: Wish, worlds: Sequence[World], scenario: Scenario | None, trace: Trace
) -> Iterator[Problem]:
    """Jobs that a world has no pool for: entries of the scenario, or the trace's as a whole."""
    for world in worlds:
        if scenario is not None:
            yield from misplaced(world, scenario.jobs)
        for left in placed(world, trace.arrivals[:1]):
            if isinstance(left, Left) and left.aside.reason is not Reason.TOO_WIDE:
                why = f"its Jobs, under the rules of {world.name}: {left.aside.sentence}"
                yield Problem(str(wish.trace), 1, 0, why)


def _notes_on(path: Path, trace: Trace) -> Iterator[str]:
    """How many lines are left out, why, and which."""
    lines: dict[str, list[int]] = {}
    for bad in trace.bad:
        lines.setdefault(bad.why, []).append(bad.line)
    if trace.bad:
        yield f"{path}: {len(trace.bad)} lines left out, which are no Jobs that can run"
    for why, found in lines.items():
        yield f"{path}: {len(found)} left out: {why}: line {numbers(found)}"


def _refuse(problems: Iterator[Problem]) -> None:
    found = [str(problem) for problem in problems]
    if found:
        count = f"{len(found)} problems" if len(found) > 1 else "1 problem"
        raise Refused([*found, f"kwicket simulate: {count}, nothing was run"])


def _refused(why: str) -> Refused:
    return Refused([f"kwicket simulate: {why}"])
