"""A table: what an operator of the benchmark knows of one pool, as a desk of the engine does.

Its own cluster's Jobs wait in the book; each that is granted ends while the ledger takes the next
batch, and another one comes for it. Of the other clusters it knows what stands on the page.
"""

import time

from bench.loads import BEGIN, Load, Size, weights
from kwicket.core.book import Book
from kwicket.core.decide import MOST_GRANTS, decide
from kwicket.core.fairness import Fairness
from kwicket.core.leases import Lease
from kwicket.core.limits import Jobs, Limit
from kwicket.core.pools import Pool, Rules
from kwicket.core.state import Intent, State
from kwicket.core.tickets import Ticket
from kwicket.ports.backlog import elsewhere
from kwicket.ports.ledger import Page

from .task import Task

FIRST = 10**12
"""The first token, and the virtual time."""


def first(tenants: int) -> State:
    """The state of a pool with so many tenants that have been served."""
    names = [f"tenant-{n}" for n in range(tenants)]
    tags = {tenant: FIRST + n for n, tenant in enumerate(names, start=1)}
    means = dict.fromkeys(names, 60_000)
    return State(FIRST, Fairness(virtual_time=FIRST, tags=tags), means=means)


class Table:
    """Nothing awaits: all of it is the operator's own work."""

    def __init__(self, task: Task, page: Page) -> None:
        """There is room for what all operators have under way."""
        slots = Limit("slots", Jobs(2 * MOST_GRANTS * task.operators))
        pool = Pool(page.pool, priority=weights(1000, 10, 10))
        self.page: Page
        self._book = Book(Rules(pool, (slots,)), State(1))
        self._load = Load(Size(task.waiting, task.tenants))
        self._line: dict[str, Ticket] = {}
        self._pending: dict[str, Intent] = {}
        self._running: list[Lease] = []
        self._begun = time.monotonic()
        for ticket in self._load.line():
            self._submit(ticket)
        self.take_over(page)

    def decide(self) -> State:
        """The state with the next batch; what was granted before has started."""
        for uid in [uid for uid in self._pending if not elsewhere(uid)]:
            lease = self._pending.pop(uid).lease
            self._book.acknowledge(lease.token)
            self._running.append(lease)
        decide(self._book, self._now())
        return self._book.snapshot()

    def hear(self) -> None:
        """What has started ends, and other Jobs come."""
        now = self._now()
        for lease in self._running:
            self._book.forget(lease.uid, now)
            if self._line.pop(lease.uid, None) is not None:  # its end was lost with a commit, if so
                self._submit(self._load.successor(lease, now))
        self._running.clear()

    def committed(self, page: Page) -> int:
        """Takes the page that has the decision; how many grants are new."""
        known = len(self._pending)
        self.page, self._pending = page, _by_uid(page)
        return len(self._pending) - known

    def take_over(self, page: Page) -> None:
        """Takes the page's word: what it has not granted is in line again."""
        former, self.page = self._pending, page
        self._pending = _by_uid(page)
        for lease in tuple(self._book.leases()):
            if lease.uid not in self._pending and lease.uid in self._line:
                self._book.submit(self._line[lease.uid])
        for uid in former.keys() - self._pending.keys():
            self._book.forget(uid)
        for intent in self._pending.values():
            self._book.occupy(intent.lease)
        self._book.adopt(page.state)

    def _now(self) -> int:
        return BEGIN + int(1000 * (time.monotonic() - self._begun))

    def _submit(self, ticket: Ticket) -> None:
        self._line[ticket.uid] = ticket
        self._book.submit(ticket)


def _by_uid(page: Page) -> dict[str, Intent]:
    return {intent.lease.uid: intent for intent in page.state.intents}
