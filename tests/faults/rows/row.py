"""A row: one fault, what is expected to happen, and how long it takes until Jobs start again.

Each row plays a few histories, in which a Job named `late` is submitted while something is wrong
and finds a free slot as soon as the operators can give it one.
"""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from faults.checks import violations
from faults.options import Fault, Options, Work
from faults.run import Record, played
from faults.store import JOBS, LEDGERS, Change

SEEDS = (1, 2)
LEADER, OTHER = "leader", "other"
"""As where a fault is: whoever grants by then in this history, and the other one."""
LATE = "late"

BEGIN = tuple(Work(f"j-{n}", "team-a", "alice", 0.1 * n, 2) for n in range(3))
"""Three short Jobs."""

type Since = Callable[[Record], float]
"""When it begins to count, in seconds of a history."""


def late_starts(record: Record) -> Change | None:
    """The start of the Job that is submitted while something is wrong."""
    return first(record, lambda change: _starts(change, LATE))


class Row(Struct, frozen=True):
    """A row of the matrix."""

    number: int
    fault: str
    happens: str
    options: Options
    since: Since
    within: float
    """Seconds that it may take."""
    until: Callable[[Record], Change | None] = late_starts
    """What shows that all is well again: as a rule, that Jobs start."""


class BrokenError(Exception):
    """A history of a row breaks an invariant, or its Job never starts."""


def recovered(row: Row) -> float:
    """The longest time that it took, in seconds; 0 if nothing was held up.

    Raises BrokenError.
    """
    return max(_recovered(row, seed) for seed in SEEDS)


def _recovered(row: Row, seed: int) -> float:
    options = _placed(replace(row.options, seed=seed))
    record = played(options)
    found = violations(record)
    start, well = late_starts(record), row.until(record)
    if found or start is None or well is None:
        raise BrokenError(f"row {row.number}, seed {seed}: {found or 'all is not well again'}")
    return max(well.at - row.since(record), 0)


def _placed(options: Options) -> Options:
    """With the names of operators for `LEADER` and `OTHER`."""
    if not any(fault.where in (LEADER, OTHER) for fault in options.faults):
        return options
    at = min(fault.at for fault in options.faults)
    record = played(replace(options, faults=()))
    writers = [change.by for change in record.kind(LEDGERS) if change.at < at]
    leader = writers[-1][0]
    names = {LEADER: leader, OTHER: "b" if leader == "a" else "a"}
    faults = tuple(replace(f, where=names.get(f.where, f.where)) for f in options.faults)
    return replace(options, faults=faults)


def at(seconds: float) -> Since:
    """From this moment on."""
    return lambda _: seconds


def first(record: Record, fits: Callable[[Change], bool]) -> Change | None:
    """The first change of its kind."""
    return next((change for change in record.changes if fits(change)), None)


def last_write(record: Record) -> float:
    """From the last write of a process that was killed."""
    killed = [change.at for change in record.changes if change.by == _killed(record)]
    return killed[-1]


def _killed(record: Record) -> str:
    fault = next(fault for fault in record.options.faults if fault.what.startswith("kill"))
    return f"{fault.where}.1"


def _starts(change: Change, name: str) -> bool:
    if change.kind != JOBS or change.before is None or change.after is None:
        return False
    before, after = change.before.body["spec"], change.after.body["spec"]
    return change.key[1] == name and before["suspend"] and not after["suspend"]


def scenario(late: float, *faults: Fault, works: tuple[Work, ...] = (), **more: object) -> Options:
    """Two operators of which one leads, four slots, three Jobs at the beginning, and `late`."""
    works = (*(works or BEGIN), Work(LATE, "team-a", "bob", late, 1))
    return replace(Options(0, jobs=4, operators=2), works=works, faults=faults, **more)
