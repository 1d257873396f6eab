"""The history that is measured: one Job ends, one starts, one comes, and so on."""

from time import perf_counter_ns
from typing import Protocol

from msgspec import Struct

from kwicket.core.book import Book
from kwicket.core.decide import decide
from kwicket.core.leases import Lease
from kwicket.core.state import State
from kwicket.core.tickets import Ticket

from .loads import BEGIN, SLOTS, Load, rules


class Scheduler(Protocol):
    """What Kwicket and its peer can do alike. Times are milliseconds since 1970."""

    def submit(self, ticket: Ticket) -> None:
        """Puts a Job in line."""

    def end(self, uid: str, now: int) -> None:
        """A running Job has ended."""

    def start(self, now: int) -> list[Lease]:
        """The Jobs that one decision starts."""


class Kwicket:
    """A book and its decisions; each start is seen on its Job at once."""

    def __init__(self, load: Load) -> None:
        self.book = Book(rules(load.size), State(1), now=BEGIN)

    def submit(self, ticket: Ticket) -> None:
        """Puts a Job in line."""
        self.book.submit(ticket)

    def end(self, uid: str, now: int) -> None:
        """A running Job has ended."""
        self.book.forget(uid, now)

    def start(self, now: int) -> list[Lease]:
        """The Jobs that one decision starts."""
        leases = [grant.lease for grant in decide(self.book, now).grants]
        for lease in leases:
            self.book.acknowledge(lease.token)
        return leases


class Step(Struct, frozen=True):
    """What one step started, and what it took in nanoseconds."""

    started: list[Lease]
    decision: int
    whole: int
    """Release, decision and submission; not the making of the new Jobs."""


class History:
    """A load under way in a scheduler."""

    def __init__(self, load: Load, scheduler: Scheduler) -> None:
        self.load = load
        self.scheduler = scheduler
        self.now = BEGIN
        self._running: list[str] = []

    def fill(self) -> list[int]:
        """Takes the slots, as after a restart; the nanoseconds of each decision."""
        taken = []
        while len(self._running) < SLOTS:
            begin = perf_counter_ns()
            leases = self.scheduler.start(self.now)
            taken.append(perf_counter_ns() - begin)
            if not leases:
                break
            self._running += [lease.uid for lease in leases]
        return taken

    def step(self) -> Step:
        """One Job ends; for each that starts another one of its kind comes."""
        self.now += self.load.step
        ended = self._ended()
        scheduler, now = self.scheduler, self.now
        begin = perf_counter_ns()
        scheduler.end(ended, now)
        freed = perf_counter_ns()
        leases = scheduler.start(now)
        started = perf_counter_ns()
        self._running += [lease.uid for lease in leases]
        coming = [self.load.successor(lease, now) for lease in leases]
        made = perf_counter_ns()
        for ticket in coming:
            scheduler.submit(ticket)
        whole = perf_counter_ns() - made + started - begin
        return Step(leases, started - freed, whole)

    def _ended(self) -> str:
        index = self.load.ending(len(self._running))
        uid, self._running[index] = self._running[index], self._running[-1]
        self._running.pop()
        return uid


def begun(load: Load) -> tuple[Kwicket, History]:
    """Kwicket with the load's first line in it; no slot is taken yet."""
    kwicket = Kwicket(load)
    for ticket in load.line():
        kwicket.submit(ticket)
    return kwicket, History(load, kwicket)
