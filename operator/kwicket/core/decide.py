"""The decision: which waiting Jobs may start now. The one entry of the scheduler.

Read top to bottom: time brings what it brings; wide Jobs whose turn has come start if they have
room by now; then one Job after the other takes its turn, and starts, or waits for its room.
"""

from msgspec import Struct

from kwicket.core.book import Book
from kwicket.core.entries import Entry
from kwicket.core.state import Intent, Reservation

MOST_GRANTS = 16


class Decision(Struct, frozen=True):
    """What was decided, in its order. `Book.snapshot` is what must be kept of it."""

    grants: tuple[Intent, ...] = ()
    reserved: tuple[Reservation, ...] = ()
    """Wide Jobs that have taken their turn, and wait for room."""

    @property
    def turns(self) -> int:
        """How much was decided; as much as was asked for means that there may be more."""
        return len(self.grants) + len(self.reserved)


def decide(book: Book, now: int, most: int = MOST_GRANTS) -> Decision:
    """Decides on up to `most` waiting Jobs at `now` (milliseconds since 1970).

    The book moves on: what is granted holds its slot in it, and turns have been taken. Its time
    never runs backwards. The same book and moments give the same decisions, everywhere.
    """
    book.advance(now)
    if book.rules.pool.closed:
        return Decision()
    book.unsaved |= book.slots.double(book.now)
    grants: list[Intent] = []
    reserved: list[str] = []
    if not book.reservations.idle:
        _keep_room(book)
        while len(grants) < most and (started := _start_reserved(book)) is not None:
            grants.append(started)
    while len(grants) + len(reserved) < most and (best := book.in_line.best()) is not None:
        if best.ticket.width <= 1 or book.in_line.scopes.fits(best.ticket):
            grants.append(_grant(book, best))
        else:
            reserved.append(_reserve(book, best))
    if grants or reserved:
        book.slots.last_grant = book.now
        book.unsaved = True
    if not reserved:
        return Decision(tuple(grants))
    return Decision(tuple(grants), tuple(one for one in book.reservations if one.uid in reserved))


def next_opening(book: Book, now: int) -> int | None:
    """When a decision may find something new by time alone: a rate's window, or a doubling.

    In milliseconds since 1970, `now` at the earliest; None if nothing is known to come.
    """
    if book.rules.pool.closed:
        return None
    opening = book.in_line.scopes.next_opening() if book.in_line.free else None
    moments = opening, book.slots.charges.next_doubling()
    return min((max(moment, now) for moment in moments if moment is not None), default=None)


def _keep_room(book: Book) -> None:
    """Closes for everyone else what reserved Jobs lack room in, and opens the rest."""
    book.unsaved |= book.reservations.keep(book.now)


def _start_reserved(book: Book) -> Intent | None:
    """Starts the oldest reserved Job that has room; None if none has."""
    reservation = book.reservations.first_to_start()
    ticket = None if reservation is None else book.ticket(reservation.uid)
    if reservation is None or ticket is None:
        return None
    book.reservations.remove(reservation.uid)
    book.in_line.remove(reservation.uid)
    intent = book.slots.start(ticket, reservation.charge, book.now)
    _keep_room(book)
    return intent


def _grant(book: Book, best: Entry) -> Intent:
    """The best Job takes its turn and its slot."""
    ticket = best.ticket
    charge = book.slots.charge(ticket)
    book.in_line.take(best, None if ticket.redelivery else charge)
    intent = book.slots.start(ticket, charge, book.now)
    if not book.reservations.idle:
        _keep_room(book)
    return intent


def _reserve(book: Book, best: Entry) -> str:
    """The best Job takes its turn, and waits for its room; its UID."""
    ticket = best.ticket
    charge = book.slots.charge(ticket)
    book.in_line.take(best, None if ticket.redelivery else charge, stays=True)
    reservation = Reservation(
        ticket.uid, ticket.job, ticket.tenant, ticket.lane, ticket.width, book.now, charge
    )
    book.reservations.add(reservation)
    _keep_room(book)
    return ticket.uid
