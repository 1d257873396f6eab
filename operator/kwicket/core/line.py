"""The line as its members see it: positions, and the reason why each still waits."""

from msgspec.structs import replace

from kwicket.core.book import Book
from kwicket.core.decide import decide
from kwicket.core.limits import Closed, Count, Jobs, Limit, Pods, Rate
from kwicket.core.pools import Rules
from kwicket.core.reasons import Reason, sentence
from kwicket.core.tickets import Ticket

LONGEST = 1000
"""The longest line whose places are counted: a longer one would hold up the loop."""


def positions(book: Book, now: int) -> dict[str, int]:
    """The place in line of each waiting Job by UID, first is 1, if slots came free one by one.

    Limits are left out of account, held Jobs have no place, and Jobs for which room is kept come
    first. In a very long line nothing is counted.
    """
    if book.waiting > LONGEST:
        return {}
    state = book.state()
    open_pool = replace(book.rules.pool, paused=False, fault=None)
    copied = Book(Rules(open_pool), replace(state, reservations=(), intents=()))
    reserved = [one.uid for one in state.reservations]
    for ticket in book.tickets():
        if book.reservation(ticket.uid) is None:
            copied.submit(ticket)
    granted = decide(copied, now, most=max(book.waiting, 1)).grants
    order = [*reserved, *(intent.lease.uid for intent in granted)]
    return {uid: place for place, uid in enumerate(order, start=1)}


def why(book: Book, ticket: Ticket) -> tuple[Reason, str]:
    """The reason why this Job of the line is not granted at present, and its sentence."""
    return _closed(book) or _kept_back(book, ticket) or _waits_for_room(book, ticket)


def _closed(book: Book) -> tuple[Reason, str] | None:
    pool = book.rules.pool
    if pool.fault is not None:
        reason = Reason.POOL_NOT_UNDERSTOOD
        return reason, sentence(reason, pool=pool.name, why=pool.fault)
    if pool.paused:
        return Reason.POOL_PAUSED, sentence(Reason.POOL_PAUSED, pool=pool.name)
    return None


def _kept_back(book: Book, ticket: Ticket) -> tuple[Reason, str] | None:
    if ticket.held:
        return Reason.HELD, sentence(Reason.HELD)
    if book.reservation(ticket.uid) is not None:
        return Reason.TURN_TAKEN, sentence(Reason.TURN_TAKEN, width=ticket.width)
    return None


def _waits_for_room(book: Book, ticket: Ticket) -> tuple[Reason, str]:
    for limit in book.rules.limits:
        if limit.covers(ticket.lane):
            used = _used(book, limit, ticket.tenant)
            if limit.refuses(used, ticket.width):
                return _reached(limit, used)
    keeper = book.reservations.keeper(ticket.lane)
    if keeper is not None:
        return Reason.ROOM_KEPT, sentence(Reason.ROOM_KEPT, job=keeper.job, width=keeper.width)
    return Reason.NOT_ITS_TURN, sentence(Reason.NOT_ITS_TURN)


def used_together(book: Book, limit: Limit, now: int) -> int | None:
    """How much of a limit all tenants together use; None if it counts each for itself."""
    if limit.count is Count.EACH_TENANT:
        return None
    scopes = book.in_line.scopes
    gate = scopes.lane(limit.lane).gate if limit.lane else scopes.pool
    return gate.used(limit.bound, now)


def _used(book: Book, limit: Limit, tenant: str) -> int:
    """How much of a limit is used, as it counts for Jobs of this tenant."""
    gate = book.in_line.scopes.gate(limit, book.turns.tenant(tenant))
    return 0 if gate is None else gate.used(limit.bound, book.now)


def _reached(limit: Limit, used: int) -> tuple[Reason, str]:
    match limit.bound:
        case Rate(starts):
            reason = Reason.RATE_REACHED
            return reason, sentence(reason, limit=limit.name, used=used, most=starts)
        case Closed(cause):
            reason = Reason.LIMIT_NOT_UNDERSTOOD
            return reason, sentence(reason, limit=limit.name, why=cause)
        case Jobs(most):
            unit = "Jobs"
        case Pods(most):
            unit = "pods"
    reason = Reason.LIMIT_REACHED
    return reason, sentence(reason, limit=limit.name, used=used, most=most, unit=unit)
