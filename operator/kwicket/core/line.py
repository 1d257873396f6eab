"""The line as its members see it: positions, and the reason why each still waits."""

from kwicket.core.book import Book
from kwicket.core.limits import Closed, Jobs, Pods, Rate
from kwicket.core.race import Race
from kwicket.core.reasons import Reason, sentence
from kwicket.core.room import Full, Room
from kwicket.core.tickets import Ticket

LONGEST = 1000
"""The longest line whose places are counted: ranking a longer one would hold up the loop."""
WORK = 20_000
"""How many comparisons the counting may take."""


def positions(book: Book, now: int) -> dict[str, int]:
    """The place in line of each waiting Job by UID, first is 1, if slots came free one by one.

    Limits are left out of account, and held Jobs have no place. In a line of very many tenants
    only the front is counted, and in a very long line nothing.
    """
    if book.waiting > LONGEST:
        return {}
    most = min(book.waiting, WORK // max(len(book.files()), 1))
    race = Race(book, book.state.fairness, Room((), (), (), now), now)
    return {ticket.uid: place for place, ticket in enumerate(race.winners(most), start=1)}


def why(book: Book, ticket: Ticket, room: Room) -> tuple[Reason, str]:
    """The reason why this Job of the line is not granted with this room, and its sentence."""
    pool = book.rules.pool
    if pool.fault is not None:
        reason = Reason.POOL_NOT_UNDERSTOOD
        return reason, sentence(reason, pool=pool.name, why=pool.fault)
    if pool.paused:
        return Reason.POOL_PAUSED, sentence(Reason.POOL_PAUSED, pool=pool.name)
    if ticket.held:
        return Reason.HELD, sentence(Reason.HELD)
    full = room.refusal(ticket.tenant, ticket.lane, ticket.width)
    if full is None:
        return Reason.NOT_ITS_TURN, sentence(Reason.NOT_ITS_TURN)
    return _reached(full)


def _reached(full: Full) -> tuple[Reason, str]:
    name = full.limit.name
    match full.limit.bound:
        case Rate(starts):
            reason = Reason.RATE_REACHED
            return reason, sentence(reason, limit=name, used=full.used, most=starts)
        case Closed(cause):
            reason = Reason.LIMIT_NOT_UNDERSTOOD
            return reason, sentence(reason, limit=name, why=cause)
        case Jobs(most):
            unit = "Jobs"
        case Pods(most):
            unit = "pods"
    reason = Reason.LIMIT_REACHED
    return reason, sentence(reason, limit=name, used=full.used, most=most, unit=unit)
