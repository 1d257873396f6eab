"""The decision, straightforward: every Job is looked at for every turn.

Written from the design, and not from the code that it checks. Slow, plain, and the judge.
"""

import re
from fractions import Fraction
from typing import Any

from msgspec import Struct

from kwicket.core.leases import Lease
from kwicket.core.limits import Rate
from kwicket.core.pools import Rules
from kwicket.core.priority import Age, FairShare, Trait
from kwicket.core.starts import Start
from kwicket.core.tickets import Ticket
from support.reference_slots import Reserved, Slots
from support.reference_turns import Turns


class Granted(Struct, frozen=True):
    """A grant not yet seen on its Job."""

    lease: Lease
    at: int
    charge: int


class Pick(Struct, frozen=True):
    """Whose turn was taken, with which Job, and which tenants had an eligible one."""

    ticket: Ticket
    eligible: frozenset[str]
    charge: int


class Reference:
    """A pool's line beside its slots and turns."""

    most_means = most_tags = 4096

    def __init__(self, rules: Rules, version: int = 1) -> None:
        self.pool = rules.pool
        self.priority = rules.pool.priority
        """The one in force: a book takes a new one over bit by bit."""
        self.version = version
        self.slots = Slots(rules.limits)
        self.turns = Turns(rules.pool)
        self.waiting: list[Ticket] = []
        self.intents: list[Granted] = []
        self.picks: list[Pick] = []
        self.last_grant = 0
        self.now = 0
        """The latest moment of a decision: time never runs backwards."""

    def declare(self, rules: Rules) -> None:
        """New rules, but for the priority."""
        if rules.pool.charging is not self.pool.charging:
            self.intents = [Granted(one.lease, one.at, 0) for one in self.intents]
            for one in self.slots.reserved:
                one.charge = 0
        self.pool = rules.pool
        self.slots.limits = rules.limits
        self.turns.declare(rules.pool)
        self._tidy()

    def restart(self) -> None:
        """Another process takes over: it knows no moment but that of the last grant."""
        self.now = self.last_grant

    def submit(self, ticket: Ticket, at: int | None = None) -> None:
        """A Job is in line, or something else is known of it."""
        self._free(ticket.uid, at)
        before = self.ticket(ticket.uid)
        self.waiting = [x for x in self.waiting if x.uid != ticket.uid] + [ticket]
        self.turns.begin_to_wait(ticket.tenant)
        if before is not None:
            self._left(before.tenant)
            known = before.tenant, before.lane, before.width
            if ticket.held or known != (ticket.tenant, ticket.lane, ticket.width):
                self._lose(ticket.uid, at)
        self._tidy()

    def occupy(self, lease: Lease) -> None:
        """A Job is seen to hold a slot."""
        self._leave_line(lease.uid)
        self.slots.reserved = [x for x in self.slots.reserved if x.ticket.uid != lease.uid]
        for known in [x for x in self.slots.running if x.uid == lease.uid]:
            self.slots.running.remove(known)
            if known.token != lease.token:
                self.turns.settle(known.token, None)
        self.slots.running.append(lease)
        self._tidy()

    def forget(self, uid: str, at: int | None = None) -> None:
        """A Job has ended, or is gone."""
        self._leave_line(uid)
        self._lose(uid, at)
        self._free(uid, at)
        self._tidy()

    def acknowledge(self, token: int) -> None:
        """A grant was seen on its Job."""
        self.intents = [one for one in self.intents if one.lease.token != token]

    def give_back(self, granted: Granted) -> None:
        """A grant never reached its Job."""
        if granted not in self.intents:
            return
        self.intents.remove(granted)
        lease = granted.lease
        self.slots.running = [x for x in self.slots.running if x.token != lease.token]
        start = Start(granted.at, lease.tenant, lease.lane)
        if start in self.slots.starts:
            self.slots.starts.remove(start)
        self.turns.give_back(lease.token, lease.tenant, granted.charge)
        self._tidy()

    def decide(self, now: int, most: int) -> tuple[list[Granted], list[Reserved]]:
        """Up to `most` turns, one after the other: starts of reserved Jobs before all else."""
        self.now = now = max(now, self.now)
        granted: list[Granted] = []
        reserved: list[Reserved] = []
        self._tidy()
        if self.pool.closed:
            return granted, reserved
        self.turns.double(now)
        self.slots.note_kept(now)
        while len(granted) + len(reserved) < most:
            taken = self._next(now)
            if taken is None:
                break
            granted += [taken] if isinstance(taken, Granted) else []
            reserved += [taken] if isinstance(taken, Reserved) else []
            self.last_grant = now
            self.slots.note_kept(now)
        self._tidy()
        return granted, reserved

    def moments(self, now: int) -> list[int]:
        """When time alone changes something: a start leaves a window, a charge doubles."""
        if self.pool.closed:
            return []
        moments = {-(-x.amount // x.slots) + x.since for x in self.turns.charges if x.slots}
        pers = [x.bound.per for x in self.slots.limits if isinstance(x.bound, Rate)]
        moments |= {start.at + per for start in self.slots.starts for per in pers}
        return sorted(moment for moment in moments if moment > now)

    def acts(self, now: int) -> bool:
        """Whether a decision at this moment would do something."""
        due = any(charge.due(now) for charge in self.turns.charges)
        ripe = any(self.slots.could_start(one, now) for one in self.slots.reserved)
        return due or ripe or bool(self.candidates(now))

    def candidates(self, now: int) -> list[Ticket]:
        """The Jobs that could take a turn at this moment."""
        return [ticket for ticket in self.waiting if self.slots.could_take_a_turn(ticket, now)]

    def ticket(self, uid: str) -> Ticket | None:
        """The ticket of a Job in line."""
        return next((ticket for ticket in self.waiting if ticket.uid == uid), None)

    def _next(self, now: int) -> Granted | Reserved | None:
        ripe = next((x for x in self.slots.reserved if self.slots.could_start(x, now)), None)
        if ripe is not None:
            self.slots.reserved.remove(ripe)
            return self._start(ripe.ticket, now, ripe.charge)
        candidates = self.candidates(now)
        if not candidates:
            return None
        best = self._best(candidates, now)
        charge = self._take_turn(best, frozenset(ticket.tenant for ticket in candidates))
        if self.slots.has_room(best, now):
            return self._start(best, now, charge)
        self.slots.reserved.append(Reserved(best, now, charge))
        return self.slots.reserved[-1]

    def _best(self, candidates: list[Ticket], now: int) -> Ticket:
        starts = {ticket.tenant: self.turns.starts[ticket.tenant] for ticket in candidates}
        due = {tenant for tenant, start in starts.items() if start == min(starts.values())}
        return min(candidates, key=lambda ticket: self._rank(ticket, ticket.tenant in due, now))

    def _rank(self, ticket: Ticket, due: bool, now: int) -> tuple[Any, ...]:
        score = Fraction(0)
        for factor in self.priority.factors:
            match factor:
                case FairShare(weight):
                    score += weight * due
                case Trait(name, weight):
                    score += weight * Fraction(dict(ticket.traits).get(name, 0), 1000)
                case Age(weight, full_after):
                    waited = Fraction(now - ticket.submitted, full_after)
                    score += weight * min(max(waited, Fraction(0)), Fraction(1))
        return -score, ticket.submitted, _padded(ticket.job)

    def _take_turn(self, ticket: Ticket, eligible: frozenset[str]) -> int:
        charge = 0
        if not ticket.redelivery:
            charge = self.turns.price(ticket.tenant, ticket.width)
            self.turns.take(ticket.tenant, charge, eligible)
        self.picks.append(Pick(ticket, eligible, charge))
        return charge

    def _start(self, ticket: Ticket, now: int, charge: int) -> Granted:
        self.version += 1
        uid, job, tenant, lane = ticket.uid, ticket.job, ticket.tenant, ticket.lane
        lease = Lease(uid, job, tenant, lane, ticket.width, self.version)
        self._leave_line(uid)
        self.slots.running.append(lease)
        self.slots.starts.append(Start(now, tenant, lane))
        self.turns.open(lease.token, tenant, ticket.width, now, charge)
        self.intents.append(Granted(lease, now, charge))
        return self.intents[-1]

    def _lose(self, uid: str, at: int | None) -> None:
        """A reservation ends unused: under Time it has cost the room that was kept for it."""
        for one in [x for x in self.slots.reserved if x.ticket.uid == uid]:
            self.slots.reserved.remove(one)
            if self.turns.timed and at is not None:
                kept = 0 if one.kept is None else max(at - one.kept, 0)
                self.turns.correct(one.ticket.tenant, one.charge, one.ticket.width * kept)

    def _free(self, uid: str, at: int | None) -> None:
        for lease in [x for x in self.slots.running if x.uid == uid]:
            self.slots.running.remove(lease)
            self.turns.settle(lease.token, at)

    def _leave_line(self, uid: str) -> None:
        ticket = self.ticket(uid)
        if ticket is not None:
            self.waiting.remove(ticket)
            self._left(ticket.tenant)

    def _left(self, tenant: str) -> None:
        if all(ticket.tenant != tenant for ticket in self.waiting):
            self.turns.leave(tenant)

    def _tidy(self) -> None:
        self.slots.forget_starts(self.now)
        runs = {lease.tenant for lease in self.slots.running}
        waits = {ticket.tenant for ticket in self.waiting}
        able = {ticket.tenant for ticket in self.waiting if not ticket.held}
        self.turns.forget(runs | waits, runs | able, self.most_means, self.most_tags)


def _padded(name: str) -> tuple[str, str]:
    return re.sub(r"[0-9]+", lambda digits: digits[0].lstrip("0").zfill(300), name), name
