"""Virtual time: a load of Jobs that come, hold a slot and end, through the real core."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from statistics import mean

from msgspec import Struct

from kwicket.core.book import Book
from support.arc4 import Arc4
from support.builders import START, ticket
from support.rounds import finish, turn

_MEAN_HOLD = 25
_ENDS, _COMES = 0, 1


class Key(Struct, frozen=True):
    """A tenant of a published scenario, and the Jobs that it submits."""

    name: str
    runs: int
    rate: int = 0
    """How many come in a second, as a Poisson process; 0: all at the start."""


class Run(Struct, frozen=True):
    """One Job of a load; times in milliseconds."""

    job: str
    tenant: str
    at: int
    hold: int


class Served(Struct, frozen=True):
    """A Job, and when it started, in milliseconds since the load began."""

    run: Run
    at: int

    @property
    def waited(self) -> int:
        """How long it waited, in milliseconds."""
        return self.at - self.run.at


def load(seed: str, keys: Iterable[Key]) -> list[Run]:
    """The Jobs that these keys submit, drawn in the published order.

    Jobs that come at one moment are named so that they stand in the published order, which
    compared their names as text.
    """
    numbers = Arc4(seed)
    drawn = []
    for key in keys:
        at = 0
        for index in range(key.runs):
            at += _exponential(numbers, 1000 / key.rate) if key.rate and index else 0
            drawn.append((key.name, str(index), at, _exponential(numbers, _MEAN_HOLD)))
    return [
        Run(f"run-{place}", name, at, hold)
        for place, (name, _, at, hold) in enumerate(sorted(drawn), start=1)
    ]


def play(pool: Book, runs: Iterable[Run]) -> list[Served]:
    """Lets these Jobs come and end in an empty pool; in the order in which they started."""
    known = {run.job: run for run in runs}
    events = [(run.at, _COMES, run.job) for run in known.values()]
    heapify(events)
    served = []
    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            _happen(pool, now, *heappop(events)[1:], known)
        for granted in turn(pool, START + now):
            run = known[granted.lease.uid]
            served.append(Served(run, now))
            heappush(events, (now + run.hold, _ENDS, run.job))
    return served


def mean_wait(served: Iterable[Served], tenant: str) -> float:
    """How long a Job of this tenant waited, in milliseconds."""
    return mean(one.waited for one in served if one.run.tenant == tenant)


def contention(served: list[Served]) -> dict[str, float]:
    """What each tenant got while at least two had Jobs waiting; 1 is an even part of it."""
    came: dict[str, list[int]] = {}
    for at, tenant in sorted((one.run.at, one.run.tenant) for one in served):
        came.setdefault(tenant, []).append(at)
    started, counted = Counter[str](), Counter[str]()
    contenders: set[str] = set()
    for one in served:
        waiting = {t for t, moments in came.items() if bisect_right(moments, one.at) > started[t]}
        if len(waiting) > 1:
            contenders |= waiting
            counted[one.run.tenant] += 1
        started[one.run.tenant] += 1
    return {t: counted[t] * len(contenders) / counted.total() for t in contenders}


def _happen(pool: Book, now: int, kind: int, job: str, known: dict[str, Run]) -> None:
    if kind == _ENDS:
        finish(pool, job)
    else:
        pool.submit(ticket(job, known[job].tenant, submitted=START + now))


def _exponential(numbers: Arc4, average: float) -> int:
    """Whole milliseconds, at least one."""
    return max(1, math.floor(0.5 - math.log(1 - numbers.number()) * average))
