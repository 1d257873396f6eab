"""Decisions as they were taken: what went in, and what came out."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec import Struct

import kwicket.engine.turn
from faults.loop import PROCESS
from kwicket.core.book import Book
from kwicket.core.decide import MOST_GRANTS, Decision, decide
from kwicket.core.leases import Lease
from kwicket.core.pools import Rules
from kwicket.core.state import State
from kwicket.core.tickets import Ticket

DECIDE = "decide"
"""What the turns call."""


class Taken(Struct, frozen=True):
    """A decision that granted or reserved something."""

    at: float
    process: str
    rules: Rules
    state: State
    tickets: tuple[Ticket, ...]
    leases: tuple[Lease, ...]
    now: int
    decision: Decision

    def differs(self) -> str:
        """What a book made anew of what went in decides otherwise; empty if nothing."""
        book = Book(self.rules, self.state)
        for lease in self.leases:
            book.occupy(lease)
        for ticket in self.tickets:
            book.submit(ticket)
        again = decide(book, self.now)
        if again == self.decision:
            return ""
        return f"{self.process} at {self.at:.2f} s decided {self.decision}, replayed {again}"


@contextmanager
def recorded(record: Callable[[Taken], None]) -> Iterator[None]:
    """Has every decision of the engine recorded."""

    def recording(book: Book, now: int, most: int = MOST_GRANTS) -> Decision:
        if not book.waiting:
            return decide(book, now, most)
        before = book.state(), tuple(book.tickets()), tuple(book.leases()), max(book.now, now)
        decision = decide(book, now, most)
        if decision.turns:
            at = asyncio.get_running_loop().time()
            record(Taken(at, PROCESS.get(), book.rules, *before, decision))
        return decision

    setattr(kwicket.engine.turn, DECIDE, recording)
    try:
        yield
    finally:
        setattr(kwicket.engine.turn, DECIDE, decide)
