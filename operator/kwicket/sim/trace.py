"""Traces in the Standard Workload Format: one line a Job, its user is the tenant.

Read are the columns id, submit time, run time and user; each Job takes one slot, however many
processors it had. Columns after the 18th are not looked at, nor is what the columns between say.
"""

import re
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from kwicket.sim.arrivals import Arrival

COLUMNS = 18
UNKNOWN = "unknown"
"""The tenant of Jobs whose user is -1."""

_SECONDS = re.compile(r"([0-9]{1,12})(?:\.([0-9]{1,9}))?")
_USER = re.compile(r"-?[0-9]{1,12}")


class BadLine(Struct, frozen=True):
    """A line that is no Job that can run, by its number from 1, and why."""

    line: int
    why: str


class Trace(Struct, frozen=True):
    """The Jobs of a trace by the time they came, the first at 0; and the lines left out."""

    arrivals: tuple[Arrival, ...]
    bad: tuple[BadLine, ...] = ()


def read_trace(lines: Iterable[str]) -> Trace:
    """The trace that these lines are."""
    arrivals: list[Arrival] = []
    bad: list[BadLine] = []
    first_seen: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        columns = line.split()
        if not columns or columns[0].startswith(";"):
            continue
        read = _arrival(columns)
        if isinstance(read, str):
            bad.append(BadLine(number, read))
        elif first_seen.setdefault(read.name, number) != number:
            bad.append(BadLine(number, "has the id of a line before it"))
        else:
            arrivals.append(read)
    return Trace(_from_zero(arrivals), tuple(bad))


def _arrival(columns: list[str]) -> Arrival | str:
    """The Job of a line, or why it is none."""
    if len(columns) < COLUMNS:
        return f"has {len(columns)} columns, not {COLUMNS}"
    ident, submit, run, user = columns[0], columns[1], columns[3], columns[11]
    at, runs = _milliseconds(submit), _milliseconds(run)
    if not _USER.fullmatch(ident):
        return "its id (column 1) is no number"
    if at is None:
        return f"its submit time (column 2) is {_unread(submit)}"
    if runs is None:
        return f"its run time (column 4) is {_unread(run)}"
    if not _USER.fullmatch(user):
        return "its user (column 12) is no number"
    tenant = UNKNOWN if user.startswith("-") else user
    return Arrival(name=ident, tenant=tenant, at=at, runs=runs)


def _milliseconds(text: str) -> int | None:
    found = _SECONDS.fullmatch(text)
    if found is None:
        return None
    whole, decimals = found.groups()
    return int(whole) * 1000 + int((decimals or "")[:3].ljust(3, "0"))


def _unread(text: str) -> str:
    return "unknown" if text.startswith("-1") else "no number of seconds"


def _from_zero(arrivals: list[Arrival]) -> tuple[Arrival, ...]:
    """In the order in which they came; of one moment, as they stand in the trace."""
    begin = min((arrival.at for arrival in arrivals), default=0)
    ordered = sorted(arrivals, key=lambda arrival: arrival.at)
    return tuple(replace(arrival, at=arrival.at - begin) for arrival in ordered)
