"""A duel: the book and the reference side by side. What happens to one happens to the other."""

import random
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from msgspec import Struct
from msgspec.structs import astuple

from kwicket.core.book import Book
from kwicket.core.decide import decide, next_opening
from kwicket.core.leases import Lease
from kwicket.core.pools import Rules
from kwicket.core.recount import Recount
from kwicket.core.state import Intent, Reservation, State
from kwicket.core.tickets import Ticket
from support.reference import Granted, Reference
from support.reference_slots import Reserved


class Submit(Struct, frozen=True):
    """A Job is in line, or something else is known of it."""

    ticket: Ticket
    at: int | None = None


class Occupy(Struct, frozen=True):
    """A Job is seen to hold a slot."""

    lease: Lease


class Forget(Struct, frozen=True):
    """A Job has ended, or is gone."""

    uid: str
    at: int | None = None


class Acknowledge(Struct, frozen=True):
    """A grant was seen on its Job."""

    token: int


class GiveBack(Struct, frozen=True):
    """A grant never reached its Job."""

    token: int


class Declare(Struct, frozen=True):
    """New rules."""

    rules: Rules


class Reorder(Struct, frozen=True):
    """So many Jobs are put in the order of a new priority."""

    count: int


class Restart(Struct, frozen=True):
    """Another process takes over: the ledger's state, Jobs listed in some order, a first look."""

    seed: int


class Decide(Struct, frozen=True):
    """A decision."""

    now: int
    most: int


type Step = Submit | Occupy | Forget | Acknowledge | GiveBack | Declare | Reorder | Restart | Decide


class Duel:
    """Raises AssertionError where the two differ, or where the book breaks a rule of its own."""

    def __init__(self, rules: Rules) -> None:
        self.book = Book(rules, State(1))
        self.judge = Reference(rules)
        self.granted: list[Intent] = []
        """All grants but those that were given back."""
        self.drained = True
        """Whether the last decision found less to do than it was asked for."""

    def take(self, step: Step) -> None:
        """One more step of the history, on both sides; then they are compared."""
        match step:
            case Submit(ticket, at):
                self._both("submit", ticket, at)
            case Occupy(lease):
                self._both("occupy", lease)
            case Forget(uid, at):
                self._both("forget", uid, at)
            case Acknowledge(token):
                self._both("acknowledge", token)
            case GiveBack(token):
                self._give_back(token)
            case Declare(rules):
                self.book.declare(rules)
                self.judge.declare(rules)
            case Reorder(count):
                self.book.reorder(count)
            case Restart(seed):
                self._restart(random.Random(seed))  # noqa: S311
            case Decide(now, most):
                self._decide(now, most)
        if not self.book.reordering:
            self.judge.priority = self.judge.pool.priority
        self.compare()
        next_opening(self.book, self.judge.now)

    def compare(self) -> None:
        """Line, slots and state are the same, and the book's own invariants hold."""
        self.book.check()
        recount = Recount(self.book)
        recount.count(len(recount.uids))
        assert recount.differences() == ()
        judge, state = self.judge, self.book.snapshot()
        assert state.version == judge.version
        assert state.last_grant == judge.last_grant
        assert _plain(state.intents) == _plain(judge.intents)
        assert [_reserved(one) for one in state.reservations] == [
            _reserved(one) for one in judge.slots.reserved
        ]
        assert sorted(state.starts, key=astuple) == sorted(judge.slots.starts, key=astuple)
        self._compare_turns(state)
        self._compare_line()

    def _compare_turns(self, state: State) -> None:
        turns, seen = self.judge.turns, state.fairness
        v = turns.virtual_time
        assert Fraction(seen.virtual_time, seen.scale) == v
        assert _whole(seen.tags, seen.scale) == {t: x for t, x in turns.tags.items() if x > v}
        assert _whole(seen.standing, seen.scale) == {t: x for t, x in turns.starts.items() if x < v}
        assert _whole(seen.credits, seen.scale) == turns.credits
        assert sorted(map(astuple, state.charges)) == sorted(map(astuple, turns.charges))
        assert list(state.means.items()) == list(turns.means.items())

    def _compare_line(self) -> None:
        book, judge = self.book, self.judge
        waiting = {ticket.uid: ticket for ticket in judge.waiting}
        assert {ticket.uid: ticket for ticket in book.tickets()} == waiting
        assert sorted(book.leases(), key=astuple) == sorted(judge.slots.running, key=astuple)
        assert (book.waiting, book.running) == (len(waiting), len(judge.slots.running))
        counted: dict[str, int] = {}
        for ticket in judge.waiting:
            counted[ticket.tenant] = counted.get(ticket.tenant, 0) + 1
        assert dict(book.line()) == counted

    def _decide(self, now: int, most: int) -> None:
        expected = self.judge.decide(now, most)
        decision = decide(self.book, now, most)
        assert _plain(decision.grants) == _plain(expected[0])
        assert [_reserved(one) for one in decision.reserved] == [
            _reserved(one) for one in expected[1]
        ]
        self.granted += decision.grants
        self.drained = len(expected[0]) + len(expected[1]) < most
        if self.drained:
            self._compare_opening(self.judge.now)

    def _compare_opening(self, now: int) -> None:
        """No decision is missed that time alone brings, and none is asked for at once."""
        opens = next_opening(self.book, now)
        moments = self.judge.moments(now)
        first = next((moment for moment in moments if self.judge.acts(moment)), None)
        assert opens is None or opens > now
        assert first is None or (opens is not None and opens <= first)

    def _both(self, name: str, *arguments: Any) -> None:
        getattr(self.book, name)(*arguments)
        getattr(self.judge, name)(*arguments)

    def _give_back(self, token: int) -> None:
        for intent in self.book.snapshot().intents:
            if intent.lease.token == token:
                self.book.give_back(intent)
                self.granted = [one for one in self.granted if one.lease.token != token]
                self.judge.give_back(Granted(*astuple(intent)))

    def _restart(self, dice: random.Random) -> None:
        """A new book, or the same one that takes the ledger's word as after a conflict."""
        tickets, leases = list(self.book.tickets()), list(self.book.leases())
        dice.shuffle(tickets)
        dice.shuffle(leases)
        if dice.random() < 0.5:
            self.book.adopt(self.book.snapshot())
            self.book.recovered()
        else:
            self.book = Book(self.book.rules, self.book.snapshot())
            for lease in leases:
                self.book.occupy(lease)
            for ticket in tickets:
                self.book.submit(ticket)
            self.book.recovered()
            self.judge.restart()
        self._decide(self.judge.now, 0)


def _plain(grants: Iterable[Intent | Granted]) -> list[tuple[Any, ...]]:
    return [astuple(one) for one in grants]


def _reserved(one: Reservation | Reserved) -> tuple[Any, ...]:
    of = one.ticket if isinstance(one, Reserved) else one
    return of.uid, of.job, of.tenant, of.lane, of.width, one.at, one.charge, one.kept


def _whole(values: Mapping[str, int], scale: int) -> dict[str, Fraction]:
    return {tenant: Fraction(value, scale) for tenant, value in values.items()}
