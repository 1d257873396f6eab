"""How long grants, decisions, the build, a write and a changed weight take."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median_low
from time import perf_counter_ns, process_time_ns

from msgspec import Struct

from .history import History, Kwicket
from .loads import Load, Size, reweighted, rules

SLICE = 1_000
"""How many Jobs are ranked anew between two decisions."""
AFTERWARDS = 200
"""How many steps are watched once a changed weight has been taken over."""


class Run(Struct):
    """One run of a history, in nanoseconds; each run of it takes the same steps."""

    build: int
    first: list[int]
    """The decisions that take the slots."""
    decisions: list[int]
    whole: int
    grants: int
    snapshot: int
    collection: int
    """The longest garbage collection, which is part of the step that it stopped."""
    busy: float
    """The part of the time in which the processor was ours."""


def run(size: Size, steps: int) -> Run:
    """The steady loop once, from an empty book on."""
    kwicket, history, build = _built(size)
    decisions: list[int] = []
    whole = grants = 0
    wall, cpu = perf_counter_ns(), process_time_ns()
    with _collections() as collections:
        first = history.fill()
        for _ in range(steps):
            step = history.step()
            decisions.append(step.decision)
            whole += step.whole
            grants += len(step.started)
    busy = (process_time_ns() - cpu) / (perf_counter_ns() - wall)
    snapshot = _timed(kwicket.book.snapshot)
    longest = max(collections, default=0)
    return Run(build, first, decisions, whole, grants, snapshot, longest, busy)


def pauses(size: Size) -> list[int]:
    """The nanoseconds of each call that stops the loop while a changed weight is taken over."""
    kwicket, history, _ = _built(size)
    history.fill()
    book = kwicket.book
    taken = [_timed(lambda: book.declare(reweighted(rules(size))))]
    more = [True]
    while more[-1]:
        taken.append(_timed(lambda: more.append(book.reorder(SLICE))))
        taken.append(history.step().whole)
    return taken + [history.step().whole for _ in range(AFTERWARDS)]


def worst(runs: list[list[int]]) -> int:
    """The longest of the calls, each of them taken as its median over the runs.

    All runs are the same calls in the same order: what the core does shows in each of them, what
    else the machine did does not.
    """
    calls: Iterator[tuple[int, ...]] = zip(*runs, strict=True)
    return max(median_low(call) for call in calls)


def _built(size: Size) -> tuple[Kwicket, History, int]:
    load = Load(size)
    line = list(load.line())
    kwicket = Kwicket(load)
    begin = perf_counter_ns()
    for ticket in line:
        kwicket.submit(ticket)
    while kwicket.book.reorder(SLICE):
        pass
    return kwicket, History(load, kwicket), perf_counter_ns() - begin


def _timed(call: Callable[[], object]) -> int:
    begin = perf_counter_ns()
    call()
    return perf_counter_ns() - begin


@contextmanager
def _collections() -> Iterator[list[int]]:
    """What each garbage collection takes meanwhile, in nanoseconds."""
    taken: list[int] = []

    def watch(phase: str, _: dict[str, int]) -> None:
        now = perf_counter_ns()
        if phase == "start":
            taken.append(now)
        else:
            taken[-1] = now - taken[-1]

    gc.callbacks.append(watch)
    try:
        yield taken
    finally:
        gc.callbacks.remove(watch)
