"""What holds in every history: limits, tokens, work conservation, the order, and the bound."""

from fractions import Fraction
from itertools import accumulate, combinations

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from msgspec.structs import replace

from kwicket.core.book import Book
from kwicket.core.decide import decide
from kwicket.core.limits import Count, Limit
from kwicket.core.pools import Pool, Rules
from kwicket.core.priority import Priority
from kwicket.core.state import State
from kwicket.core.tickets import Ticket
from support import strategies
from support.builders import START, book, jobs, tickets
from support.reference import Reference, exceeded
from support.rounds import finish, turn


class History(RuleBasedStateMachine):
    """One pool, beside a reference that looks at every Job for every grant."""

    @initialize(
        limits=strategies.limits(), priority=strategies.priorities(), shares=strategies.shares
    )
    def declare(
        self, limits: tuple[Limit, ...], priority: Priority, shares: dict[str, int]
    ) -> None:
        rules = Rules(Pool("pool", priority=priority, shares=shares), limits)
        self.book = Book(rules, State(1))
        self.judge = Reference(rules)
        self.now = START
        self.jobs = 0
        self.tokens = [1]
        self.granted: list[Ticket] = []

    @rule(like=strategies.arrivals, age=st.integers(-3, 12), count=st.integers(1, 6))
    def submit(self, like: Ticket, age: int, count: int) -> None:
        for _ in range(count):
            self.jobs += 1
            name = f"x-{self.jobs}"
            one = replace(like, uid=name, job=f"team/{name}", submitted=self.now - age)
            self.book.submit(one)
            self.judge.waiting.append(one)

    @precondition(lambda self: self.judge.waiting)
    @rule(data=st.data())
    def hold_or_release(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(self.judge.waiting))
        turned = replace(one, held=not one.held)
        self.judge.waiting[self.judge.waiting.index(one)] = turned
        self.book.submit(turned)

    @precondition(lambda self: self.judge.waiting)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        self._leave(data.draw(st.sampled_from(self.judge.waiting)))

    @precondition(lambda self: self.judge.running)
    @rule(data=st.data(), again=st.sampled_from([False, False, True]))
    def end_or_put_back(self, data: st.DataObject, again: bool) -> None:
        one = data.draw(st.sampled_from(self.judge.running))
        self._leave(one)
        if again:
            back = replace(one, deliveries=one.deliveries + 1)
            self.judge.waiting.append(back)
            self.book.submit(back)

    @rule(limits=strategies.limits(rates=False), paused=st.booleans())
    def change_the_rules(self, limits: tuple[Limit, ...], paused: bool) -> None:
        """Rates stay as they are: what a new window knows is another test's matter."""
        rates = [one for one in self.book.rules.limits if type(one.bound).__name__ == "Rate"]
        pool = replace(self.book.rules.pool, paused=paused)
        kept = [replace(one, name=f"rate-{one.name}") for one in rates]
        self.book.rules = self.judge.rules = Rules(pool, (*limits, *kept))

    @rule(most=st.sampled_from([1, 2, 16]), milliseconds=st.integers(-5, 50))
    def decide(self, most: int, milliseconds: int) -> None:
        """Wall clocks go back, too."""
        self.now += milliseconds
        expected = self.judge.decide(self.now, most)
        assert decide(self._copied(), self.now, most) == decide(self.book, self.now, most)
        grants = turn(self.book, self.now, most)
        assert [one.lease.uid for one in grants] == [one.uid for one in expected]
        self.tokens += [one.lease.token for one in grants]
        self.granted = expected

    @invariant()
    def tokens_only_grow(self) -> None:
        assert self.tokens == sorted(set(self.tokens))
        assert self.book.state.version == self.tokens[-1]

    @invariant()
    def no_grant_exceeds_a_limit(self) -> None:
        """A lowered limit may be exceeded by what ran before, never by what starts after."""
        for limit in self.book.rules.limits:
            for one in self.granted:
                if limit.covers(one.lane):
                    assert not exceeded([limit], self._counted_with(one, limit))
        self.granted = []

    def _counted_with(self, one: Ticket, limit: Limit) -> list[Ticket]:
        each = limit.count is Count.EACH_TENANT
        return [run for run in self.judge.running if not each or run.tenant == one.tenant]

    @invariant()
    def turns_are_those_of_the_reference(self) -> None:
        turns = self.book.state.fairness
        assert turns.virtual_time == self.judge.virtual_time
        assert turns.standing == self.judge.standing
        above = {t: tag for t, tag in self.judge.tags.items() if tag > self.judge.virtual_time}
        assert turns.tags == above

    def _leave(self, one: Ticket) -> None:
        waited = self.book.ticket(one.uid) is not None
        self.judge.leave(one.uid)
        self.book.forget(one.uid)
        if waited and one.tenant not in self.book.line():
            self.book.state = self.book.state.left(one.tenant)

    def _copied(self) -> Book:
        """The same book, its Jobs put in from the last to the first."""
        copied = Book(self.book.rules, self.book.state)
        for one in reversed(list(self.book.tickets())):
            copied.submit(one)
        for held in reversed(list(self.book.leases())):
            copied.occupy(held)
        return copied


def test_every_history_follows_the_reference() -> None:
    """Order, turns, limits, tokens and work conservation (the reference wastes no room)."""
    run_state_machine_as_test(
        History, settings=settings(max_examples=120, stateful_step_count=40, deadline=None)
    )


@given(
    priority=strategies.priorities(fair=True),
    shares=strategies.shares,
    slots=st.integers(1, 4),
    ends=st.lists(st.integers(0, 4), min_size=10, max_size=20),
    likes=st.lists(strategies.arrivals, min_size=4, max_size=4),
)
def test_no_backlogged_tenant_gets_ahead_of_another_by_more_than_a_job_each(
    priority: Priority,
    shares: dict[str, int],
    slots: int,
    ends: list[int],
    likes: list[Ticket],
) -> None:
    """SFQ's theorem 1 on granted work, in every interval and for any number of slots."""
    names = strategies.TENANTS
    pool = book(jobs(slots), priority=priority, shares=shares)
    for number, (tenant, like) in enumerate(zip(names, likes, strict=True)):
        for one in tickets(tenant, 85, traits=like.traits, submitted=START - number * 4):
            pool.submit(one)
    order = []
    for number, end in enumerate(ends):
        order += [granted.lease.tenant for granted in turn(pool, START + number)]
        finish(pool, *[held.job.removeprefix("team/") for held in list(pool.leases())[:end]])
    for first, second in combinations(names, 2):
        own, other = Fraction(1, shares.get(first, 1)), Fraction(1, shares.get(second, 1))
        steps = ((tenant == first) * own - (tenant == second) * other for tenant in order)
        lead = list(accumulate(steps, initial=Fraction(0)))
        assert max(lead) - min(lead) <= own + other
