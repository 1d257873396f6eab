"""The same history through the PyPI package wicket, by its ports and its in-memory store.

A grant is what one `Pool.permit()` does: a view, its limits, the first by priority, the grant.
"""

from collections.abc import Callable
from datetime import timedelta
from statistics import median

import wicket

from kwicket.core.leases import Lease
from kwicket.core.tickets import Ticket
from support.peer import answer, moment

from .figures import Comparison
from .history import History, Kwicket, Scheduler, Step
from .loads import BEGIN, FULL_AFTER, SLOTS, Load, Size

MOST = 10_000
"""The longest line that the peer is measured with: a grant takes some 30 ms then."""
POOL = "bench"
FOR_EVER = timedelta(days=3650)


class Wicket:
    """A pool in wicket's memory, whose clock is the history's."""

    def __init__(self) -> None:
        self._moment = BEGIN
        state = wicket.MemoryState(timedelta(milliseconds=1), lambda: moment(self._moment))
        self._backlog = wicket.MemoryBacklog(state)
        self._ledger = wicket.MemoryLedger(state)
        self._limit = wicket.Concurrency(SLOTS)
        self._priority = wicket.Priority(
            (wicket.FairShare(), 1000),
            (wicket.TraitFactor("tier"), 10),
            (wicket.Age(timedelta(milliseconds=FULL_AFTER)), 10),
        )
        self._tickets: dict[str, Ticket] = {}
        self._permits: dict[str, wicket.Permit] = {}

    def submit(self, ticket: Ticket) -> None:
        """Puts a Job in line."""
        self._tickets[ticket.job] = ticket
        self._moment = ticket.submitted
        traits = tuple(wicket.Trait(name, value / 1000) for name, value in ticket.traits)
        answer(self._backlog.submit(POOL, wicket.Ticket(ticket.job, ticket.tenant, traits)))

    def end(self, uid: str, now: int) -> None:
        """A running Job has ended."""
        self._moment = now
        answer(self._ledger.release(self._permits.pop(uid)))

    def start(self, now: int) -> list[Lease]:
        """At most one Job."""
        self._moment = now
        permit = self._permit()
        if permit is None:
            return []
        ticket = self._tickets.pop(permit.waiting.ticket.id)
        self._permits[ticket.uid] = permit
        return [Lease(ticket.uid, ticket.job, ticket.tenant, "", 1, permit.token)]

    def _permit(self) -> wicket.Permit | None:
        view = answer(self._ledger.view(POOL))
        if not self._limit.admits(view):
            return None
        match self._priority.first(view):
            case wicket.Waiting() as first:
                fairness = view.fairness.after(first)
                granted = answer(
                    self._ledger.grant(
                        POOL, first, version=view.version, lease=FOR_EVER, fairness=fairness
                    )
                )
                return granted if isinstance(granted, wicket.Permit) else None
            case _:
                return None


def bears(size: Size) -> bool:
    """Whether the peer can be measured at this size."""
    return size.lanes == 1 and size.waiting <= MOST


def compare(size: Size, *, repeats: int, say: Callable[[str], None]) -> Comparison:
    """Both over the same steps in one run; `say` hears how far it is."""
    steps = max(50, 200_000 // size.waiting)
    peer, ours = [], []
    for number in range(1, min(repeats, 3) + 1):
        say(f"wicket, run {number} of {min(repeats, 3)}")
        peer.append(_run(size, Wicket(), steps))
        ours.append(_run(size, Kwicket(Load(size)), steps))
    peer_us = median(us for us, _ in peer)
    kwicket_us = median(us for us, _ in ours)
    return Comparison(
        waiting=size.waiting,
        tenants=size.tenants,
        grants=len(peer[0][1]),
        peer_us_a_grant=round(peer_us, 1),
        kwicket_us_a_grant=round(kwicket_us, 2),
        ratio=round(peer_us / kwicket_us, 1),
        same_order=all(order == peer[0][1] for _, order in peer + ours),
    )


def _run(size: Size, scheduler: Scheduler, steps: int) -> tuple[float, list[str]]:
    """Microseconds a grant of the steady loop, and the Jobs in the order in which they started."""
    load = Load(size)
    for ticket in load.line():
        scheduler.submit(ticket)
    history = History(load, scheduler)
    history.fill()
    taken: list[Step] = [history.step() for _ in range(steps)]
    order = [lease.job for step in taken for lease in step.started]
    return sum(step.whole for step in taken) / len(order) / 1000, order
