"""The race: the waiting Jobs in the order in which they would start."""

import heapq
from collections.abc import Iterator, Mapping

from kwicket.core.book import Book, File
from kwicket.core.fairness import Fairness
from kwicket.core.order import NaturalKey, natural_key
from kwicket.core.priority import Priority
from kwicket.core.room import Room
from kwicket.core.tickets import Ticket

type Rank = tuple[int, int, NaturalKey]
"""1. higher score, 2. earlier submitted, 3. smaller name with digits read as numbers."""


class Race:
    """One winner after the other; room, virtual time and tags follow each of them."""

    def __init__(self, book: Book, fairness: Fairness, room: Room, now: int) -> None:
        self.fairness = fairness
        self._pool = book.rules.pool
        self._room = room
        self._line = dict(book.line())
        self._runners = [
            _Runner(file, tickets, self._pool.priority, now)
            for file, tickets in book.files().items()
        ]

    def winners(self, most: int) -> Iterator[Ticket]:
        """Up to `most` Jobs, fewer if the limits or the line end before."""
        for _ in range(most):
            eligible = [r for r in self._runners if self._room.refusal(*r.file) is None]
            if not eligible:
                return
            runner = self._best(eligible)
            ticket = runner.take()
            if runner.empty:
                self._runners.remove(runner)
            self._room.take(*runner.file)
            self._pass(ticket, {r.tenant for r in eligible})
            yield ticket

    def _best(self, eligible: list["_Runner"]) -> "_Runner":
        starts = {runner.tenant: self.fairness.start(runner.tenant) for runner in eligible}
        due = min(starts.values())
        turn = self._pool.priority.turn
        return min(eligible, key=lambda r: r.rank(turn if starts[r.tenant] == due else 0))

    def _pass(self, ticket: Ticket, eligible: set[str]) -> None:
        """Moves virtual time and tags for a grant, and its tenant's Job out of the line."""
        tenant = ticket.tenant
        self._line[tenant] -= 1
        if not self._line[tenant]:
            del self._line[tenant]
        if not ticket.redelivery:
            blocked = self._line.keys() - eligible
            self.fairness = self.fairness.granted(tenant, self._pool.cost(tenant), blocked)
        elif tenant not in self._line:
            self.fairness = self.fairness.without(tenant)


class _Runner:
    """The Jobs of one file, ranked when the first of them is looked at."""

    def __init__(
        self, file: File, tickets: Mapping[str, Ticket], priority: Priority, now: int
    ) -> None:
        self.file = file
        self.tenant = file[0]
        self._tickets = tickets
        self._priority = priority
        self._now = now
        self._ranked: list[tuple[Rank, str]] | None = None

    @property
    def empty(self) -> bool:
        return not self._heap()

    def rank(self, bonus: int) -> Rank:
        """The rank of its best Job with `bonus` added to its score."""
        score, submitted, name = self._heap()[0][0]
        return score - bonus, submitted, name

    def take(self) -> Ticket:
        """Its best Job, which leaves it."""
        return self._tickets[heapq.heappop(self._heap())[1]]

    def _heap(self) -> list[tuple[Rank, str]]:
        if self._ranked is None:
            self._ranked = [(self._rank(t), t.uid) for t in self._tickets.values()]
            heapq.heapify(self._ranked)
        return self._ranked

    def _rank(self, ticket: Ticket) -> Rank:
        score = self._priority.score(ticket, self._now)
        return -score, ticket.submitted, natural_key(ticket.job)
