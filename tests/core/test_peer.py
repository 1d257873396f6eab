"""Where features overlap, the PyPI package wicket starts the same Jobs in the same order.

Pool-wide limits, width one, charge Starts, no holds; any weights. wicket scores in floats: the
weights, traits and ages drawn here are exact in them.
"""

from collections.abc import Callable
from datetime import timedelta

import wicket
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from kwicket.core.decide import decide
from kwicket.core.limits import Jobs, Limit, Rate
from kwicket.core.priority import Age, FairShare, Priority, Trait
from kwicket.core.tickets import Ticket
from support.builders import START, book, limit, ticket
from support.peer import answer, moment

POOL = "pool"
FOR_EVER = timedelta(days=365)
FULL_AFTER = 1 << 10


class Weights(Struct, frozen=True):
    """Of the three factors that both know."""

    turn: int
    trait: int
    age: int

    def ours(self) -> Priority:
        """As Kwicket takes them."""
        factors = FairShare(self.turn), Trait("urgent", self.trait), Age(self.age, FULL_AFTER)
        return Priority(factors)

    def theirs(self) -> wicket.Priority:
        """As wicket takes them."""
        return wicket.Priority(
            (wicket.FairShare(), self.turn),
            (wicket.TraitFactor("urgent"), self.trait),
            (wicket.Age(timedelta(milliseconds=FULL_AFTER)), self.age),
        )


class Peer:
    """A pool of wicket's, in its memory, whose clock is the test's."""

    def __init__(self, priority: wicket.Priority, limits: tuple[Limit, ...]) -> None:
        self.now = START
        state = wicket.MemoryState(timedelta(days=1), lambda: moment(self.now))
        self._backlog, self._ledger = wicket.MemoryBacklog(state), wicket.MemoryLedger(state)
        self._priority, self._limits = priority, [_limit(one) for one in limits]
        self._permits: dict[str, wicket.Permit] = {}

    def submit(self, one: Ticket) -> None:
        traits = tuple(wicket.Trait(name, value / 1000) for name, value in one.traits)
        answer(self._backlog.submit(POOL, wicket.Ticket(one.uid, one.tenant, traits)))

    def cancel(self, uid: str) -> None:
        answer(self._backlog.withdraw(POOL, uid))

    def end(self, uid: str) -> None:
        answer(self._ledger.release(self._permits.pop(uid)))

    def put_back(self, uid: str) -> None:
        """Its lease ends this moment, so that it is delivered again."""
        answer(self._ledger.renew(self._permits.pop(uid), lease=timedelta(0)))

    def grant(self) -> str | None:
        """One Job, if the limits have room and any waits."""
        view = answer(self._ledger.view(POOL))
        first = self._priority.first(view)
        if not all(one.admits(view) for one in self._limits) or isinstance(first, wicket.NoTicket):
            return None
        turns, version = view.fairness.after(first), view.version
        granted = self._ledger.grant(POOL, first, version=version, lease=FOR_EVER, fairness=turns)
        permit = answer(granted)
        assert isinstance(permit, wicket.Permit)
        self._permits[first.ticket.id] = permit
        return first.ticket.id


class Both:
    """The same history through both; `which` and `how` are any whole numbers."""

    def __init__(self, weights: Weights, limits: tuple[Limit, ...]) -> None:
        self.book = book(*limits, priority=weights.ours())
        self.peer = Peer(weights.theirs(), limits)
        self.tickets: dict[str, Ticket] = {}
        self.now = START

    def come(self, which: int, how: int) -> None:
        traits = (("urgent", how % 9 * 125),)
        name = f"x-{len(self.tickets):03}"
        self.tickets[name] = ticket(name, "abcd"[which % 4], traits=traits, submitted=self.now)
        self.book.submit(self.tickets[name])
        self.peer.submit(self.tickets[name])

    def cancel(self, which: int, _: int) -> None:
        waiting = sorted(one.uid for one in self.book.tickets())
        if waiting:
            self.book.forget(waiting[which % len(waiting)])
            self.peer.cancel(waiting[which % len(waiting)])

    def end(self, which: int, how: int) -> None:
        """A Job that runs has ended; one of three is put back in line."""
        running = sorted(lease.uid for lease in self.book.leases())
        if not running:
            return
        uid = running[which % len(running)]
        if how % 3:
            self.book.forget(uid)
            self.peer.end(uid)
        else:
            self.book.submit(replace(self.tickets[uid], deliveries=1))
            self.peer.put_back(uid)

    def decide(self, which: int, how: int) -> None:
        """Time goes on, and then as many Jobs start as may."""
        self.now = self.peer.now = self.now + which**2
        most = how % 5 + 1
        ours = [one.lease.uid for one in decide(self.book, self.now, most).grants]
        theirs = [uid for uid in (self.peer.grant() for _ in range(most)) if uid is not None]
        assert ours == theirs


ACTIONS = Both.come, Both.come, Both.come, Both.cancel, Both.end, Both.end, Both.decide, Both.decide
weights = st.builds(Weights, st.integers(0, 4), st.integers(0, 3), st.integers(0, 3))
bounds = st.one_of(
    st.integers(1, 5).map(Jobs),
    st.builds(Rate, st.integers(1, 4), st.sampled_from([1, 30, 400])),
)
numbers = st.integers(0, 40)


@settings(deadline=None)
@given(
    weights=weights,
    bounds=st.lists(bounds, max_size=3),
    actions=st.lists(
        st.tuples(st.sampled_from(ACTIONS), numbers, numbers), min_size=20, max_size=80
    ),
)
def test_the_same_jobs_start_in_the_same_order_as_with_wicket(
    weights: Weights,
    bounds: list[Jobs | Rate],
    actions: list[tuple[Callable[[Both, int, int], None], int, int]],
) -> None:
    both = Both(weights, tuple(limit(one, name=f"limit-{n}") for n, one in enumerate(bounds)))
    for action, which, how in actions:
        action(both, which, how)
    both.decide(40, 4)


def _limit(ours: Limit) -> wicket.Limit:
    match ours.bound:
        case Jobs(most):
            return wicket.Concurrency(most)
        case Rate(starts, per):
            return wicket.Rate(starts, timedelta(milliseconds=per))
    raise ValueError(f"wicket has no {ours.bound}")
