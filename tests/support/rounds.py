"""Rounds: a book served for a while, so that a test can tell the order of the grants."""

from kwicket.core.book import Book
from kwicket.core.decide import decide
from kwicket.core.state import Intent
from support.builders import START


def grant(book: Book, now: int = START, most: int = 16) -> list[str]:
    """One decision, taken into the book; the names of the Jobs that it started."""
    return [name(intent) for intent in turn(book, now, most)]


def turn(book: Book, now: int = START, most: int = 16) -> tuple[Intent, ...]:
    """One decision, taken into the book as the engine takes a committed and seen one."""
    decision = decide(book, now, most)
    for intent in decision.grants:
        book.acknowledge(intent.lease.token)
    return decision.grants


def finish(book: Book, *jobs: str) -> None:
    """These Jobs end; without names, all that run."""
    for lease in list(book.leases()):
        if not jobs or lease.job.removeprefix("team/") in jobs:
            book.forget(lease.uid)


def one_by_one(book: Book, grants: int, now: int = START) -> list[str]:
    """The tenants of so many Jobs, each of which runs alone and ends before the next decision."""
    order = []
    for _ in range(grants):
        order += [intent.lease.tenant for intent in turn(book, now, most=1)]
        finish(book)
    return order


def name(intent: Intent) -> str:
    """The Job's name without its namespace."""
    return intent.lease.job.removeprefix("team/")
