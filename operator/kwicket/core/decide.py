"""The decision: which waiting Jobs may start now. The one entry of the scheduler.

Read top to bottom: look which files have room, rank the Jobs in them, and grant one after the
other, each time to the best eligible Job, with turns and room recomputed after each grant.
"""

from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from kwicket.core.book import Book
from kwicket.core.leases import Lease
from kwicket.core.limits import Rate
from kwicket.core.race import Race
from kwicket.core.room import Room
from kwicket.core.starts import Start, counted, counted_since
from kwicket.core.state import Intent, State
from kwicket.core.tickets import Ticket

MOST_GRANTS = 16


class Decision(Struct, frozen=True):
    """The grants in their order, and the pool's state once they are committed."""

    grants: tuple[Intent, ...]
    state: State


def decide(book: Book, now: int, most: int = MOST_GRANTS) -> Decision:
    """Grants up to `most` waiting Jobs at `now` (milliseconds since 1970).

    The moment never lies before the last grant. The book is not changed.
    """
    now = max(now, book.state.last_grant)
    before = _housekept(book, now)
    if book.rules.pool.closed or not book.files():
        return Decision((), before)
    race = Race(book, before.fairness, room(book, now), now)
    grants: list[Intent] = []
    for ticket in race.winners(most):
        grants.append(_intent(book, ticket, before.version + len(grants) + 1, now))
    if not grants:
        return Decision((), before)
    starts = tuple(Start(now, grant.lease.tenant, grant.lease.lane) for grant in grants)
    after = replace(
        before,
        version=before.version + len(grants),
        fairness=race.fairness,
        intents=before.intents + tuple(grants),
        starts=before.starts + counted(starts, book.rules.limits, now),
        last_grant=now,
    )
    return Decision(tuple(grants), after)


def room(book: Book, now: int) -> Room:
    """What the limits of the book's pool still admit at `now`."""
    return Room(book.rules.limits, book.leases(), book.state.starts, now)


def next_opening(book: Book, now: int) -> int | None:
    """When a rate limit next has room for a waiting Job that it alone keeps waiting.

    In milliseconds since 1970; None if no Job waits for a rate.
    """
    if book.rules.pool.closed or not any(isinstance(x.bound, Rate) for x in book.rules.limits):
        return None
    state_of_limits = room(book, now)
    full = (state_of_limits.refusal(*file) for file in book.files())
    return min((f.opens for f in full if f is not None and f.opens is not None), default=None)


def _housekept(book: Book, now: int) -> State:
    """The state without the starts that no window sees any more."""
    limits = book.rules.limits
    return replace(
        book.state,
        starts=counted(book.state.starts, limits, now),
        starts_since=counted_since(book.state.starts_since, limits, now),
    )


def _intent(book: Book, ticket: Ticket, token: int, now: int) -> Intent:
    lease = Lease(ticket.uid, ticket.job, ticket.tenant, ticket.lane, ticket.width, token)
    cost = Fraction(0) if ticket.redelivery else book.rules.pool.cost(ticket.tenant)
    return Intent(lease, now, cost)
