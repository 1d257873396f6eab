"""A shift: Jobs that come, take their slots and end after their run time, in virtual time."""

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from typing import Any

from msgspec import Struct

from kwicket.core.book import Book
from kwicket.core.decide import next_opening
from support.builders import START, ticket
from support.rounds import turn

SECOND = 1000


class Work(Struct, frozen=True):
    """A Job and how long it runs; times in seconds since the shift began."""

    name: str
    tenant: str
    runs: int
    at: int = 0
    lane: str = ""
    width: int = 1


def works(tenant: str, count: int, runs: int, *, spread: int = 1, **fields: Any) -> list[Work]:
    """Jobs `tenant-1`, `tenant-2`, …, which run `runs` seconds or up to `spread - 1` longer."""
    names = range(1, count + 1)
    return [Work(f"{tenant}-{n}", tenant, runs + n * 7 % spread, **fields) for n in names]


def serve(pool: Book, jobs: Iterable[Work]) -> dict[str, int]:
    """When each Job started, by name, in seconds since the shift began; all are served."""
    known = {job.name: job for job in jobs}
    events = [(job.at, job.name) for job in known.values()]
    heapify(events)
    started: dict[str, int] = {}
    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            _happen(pool, known.get(heappop(events)[1]), now, started)
        while granted := turn(pool, START + now * SECOND):
            for one in granted:
                started[one.lease.uid] = now
                heappush(events, (now + known[one.lease.uid].runs, one.lease.uid))
        opens = next_opening(pool, START + now * SECOND)
        if opens is not None:
            heappush(events, (-((START - opens) // SECOND), ""))
    return started


def makespan(started: dict[str, int], jobs: Iterable[Work]) -> int:
    """When the last of these Jobs had ended, in seconds since the shift began."""
    return max(started[job.name] + job.runs for job in jobs)


def utilisation(started: dict[str, int], jobs: list[Work], pods: int) -> float:
    """The part of all pod-seconds that was used until the last Job had ended."""
    return sum(job.width * job.runs for job in jobs) / pods / makespan(started, jobs)


def _happen(pool: Book, job: Work | None, now: int, started: dict[str, int]) -> None:
    """A Job comes or ends; None: nothing happens but time."""
    if job is None:
        return
    if job.name in started:
        pool.forget(job.name, START + now * SECOND)
    else:
        fields = {"lane": job.lane, "width": job.width}
        pool.submit(ticket(job.name, job.tenant, submitted=START + job.at * SECOND, **fields))
