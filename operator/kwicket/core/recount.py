"""A recount: what the counters of a book must be, counted anew from the Jobs that it holds.

And what its gates must say by these counters, and by its reservations.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from kwicket.core.book import Book
from kwicket.core.gates import Gate
from kwicket.core.leases import Lease
from kwicket.core.limits import Count, Jobs, Limit, Pods
from kwicket.core.tickets import Ticket

type Figure = tuple[str, str]
"""What is counted, and for which tenant; empty for all together."""

WAITING, RUNNING = "waiting Jobs", "Jobs that hold a slot"


class Recount:
    """Of a book as it is when this is made; what is counted afterwards is a copy of then."""

    def __init__(self, book: Book) -> None:
        self._limits = [one for one in book.rules.limits if isinstance(one.bound, Jobs | Pods)]
        self._said = dict(_said(book, self._limits))
        self._counted = Counter[Figure]()
        for figure, said, counted in _gates(book):
            self._said[figure], self._counted[figure] = said, counted
        jobs: list[Lease | Ticket] = [*book.leases(), *book.tickets()]
        self.uids = [job.uid for job in jobs]
        """Of all that the book holds."""
        self._rest = iter(jobs)

    def count(self, most: int) -> None:
        """Counts so many more of them."""
        for job in islice(self._rest, most):
            self._count(job)

    def differences(self) -> tuple[str, ...]:
        """What the counters say that is not so, once all are counted."""
        figures = sorted(self._said.keys() | self._counted.keys())
        pairs = ((one, self._said.get(one, 0), self._counted[one]) for one in figures)
        return tuple(
            f"{what}{f' of tenant {tenant}' if tenant else ''}: {said}, counted {counted}"
            for (what, tenant), said, counted in pairs
            if said != counted
        )

    def _count(self, job: Lease | Ticket) -> None:
        if isinstance(job, Ticket):
            self._counted[WAITING, job.tenant] += 1
            return
        self._counted[RUNNING, job.tenant] += 1
        for limit in self._limits:
            if limit.covers(job.lane):
                tenant = job.tenant if limit.count is Count.EACH_TENANT else ""
                used = 1 if isinstance(limit.bound, Jobs) else job.width
                self._counted[_used(limit), tenant] += used


def _said(book: Book, limits: list[Limit]) -> Iterator[tuple[Figure, int]]:
    """The counters by which decisions are taken."""
    for tenant in book.turns.tenants.values():
        yield (WAITING, tenant.name), tenant.waiting
        yield (RUNNING, tenant.name), tenant.running
    scopes = book.in_line.scopes
    for limit in limits:
        if limit.count is Count.TOGETHER:
            gate = scopes.lane(limit.lane).gate if limit.lane else scopes.pool
            yield (_used(limit), ""), _counter(gate, limit)
            continue
        for tenant in book.turns.tenants.values():
            own = scopes.gate(limit, tenant)
            if own is not None:
                yield (_used(limit), tenant.name), _counter(own, limit)


def _gates(book: Book) -> Iterator[tuple[Figure, int, int]]:
    """What each gate says besides, and what it must say by its counters and the reservations."""
    jobs, widths = Counter[int](), Counter[int]()
    for gate, width in book.reservations.held():
        jobs[id(gate)] += 1
        widths[id(gate)] += width
    now, shuts = book.in_line.scopes.now, book.reservations.closes
    for (where, tenant), gate in _named_gates(book):
        yield (f"open: {where}", tenant), int(gate.open), int(gate.admits(now))
        yield (f"closed: {where}", tenant), int(gate.closed), int(shuts(gate))
        yield (f"reserved: {where}", tenant), gate.reserved, jobs[id(gate)]
        yield (f"held back: {where}", tenant), gate.held, widths[id(gate)]


def _named_gates(book: Book) -> Iterator[tuple[Figure, Gate]]:
    scopes = book.in_line.scopes
    yield ("pool", ""), scopes.pool
    for lane in scopes.lanes:
        yield (f"lane {lane.name}", ""), lane.gate
    for tenant in book.turns.tenants.values():
        if tenant.gate is not None:
            yield ("pool", tenant.name), tenant.gate
        for name, seat in tenant.seats.items():
            yield (f"lane {name}", tenant.name), seat


def _counter(gate: Gate, limit: Limit) -> int:
    return gate.jobs if isinstance(limit.bound, Jobs) else gate.pods


def _used(limit: Limit) -> str:
    return f"limit {limit.name}"
