"""Random histories of a small pool: every step is drawn, by dice or by Hypothesis."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from msgspec.structs import replace

from kwicket.core.leases import Lease
from kwicket.core.limits import Bound, Closed, Count, Jobs, Limit, Pods, Rate
from kwicket.core.pools import Charging, Pool, Rules
from kwicket.core.priority import Age, FairShare, Priority, Trait
from kwicket.core.tickets import Ticket
from support.builders import START
from support.duel import (
    Acknowledge,
    Decide,
    Declare,
    Duel,
    Forget,
    GiveBack,
    Occupy,
    Reorder,
    Restart,
    Step,
    Submit,
)

TENANTS = ("alice", "bob", "carol", "dave")
LANES = ("", "gpu", "cpu")
TICKS = (-5, 0, 0, 1, 3, 7, 10, 33, 900, 5_000, 20_000, 61_000)
TASTES = [((1,), "JJPR"), ((1, 1, 1, 2, 3, 0), "JPPR"), ((1, 1, 2, 3, 4), "PPPPPR")]
"""Widths of Jobs and kinds of limits: one pod each, some wide ones, many."""
OTHERS_TOKEN = 10**12


type Steps = Iterator[Step]


class Dice(Protocol):
    """Where choices come from; `random.Random` is one."""

    def randrange(self, start: int, stop: int, /) -> int:
        """A whole number from `start` to `stop` - 1."""
        ...


def pick[T](dice: Dice, choices: Sequence[T]) -> T:
    """One of these."""
    return choices[dice.randrange(0, len(choices))]


class History:
    """The rules of a pool, and one step after the other."""

    ticks: Sequence[int] = TICKS
    """How many milliseconds may pass before a decision."""

    def __init__(self, dice: Dice) -> None:
        self._widths, self._bounds = pick(dice, TASTES)
        self.rules = Rules(self.pool(dice), limits(dice, self._bounds))
        self.duel = Duel(self.rules)
        self.steps: list[Step] = []
        self.now = START
        self._named = 0

    def go_on(self, dice: Dice, kind: str = "") -> None:
        """One more step, of a drawn kind if none is said, that both sides must agree on."""
        for step in STEPS[kind or pick(dice, KINDS)](self, dice):
            self.steps.append(step)
            self.duel.take(step)

    def pool(self, dice: Dice) -> Pool:
        """A pool that charges starts or time."""
        charging = pick(dice, tuple(Charging))
        return Pool("pool", priority=priority(dice), shares=shares(dice), charging=charging)

    def submit(self, dice: Dice) -> Steps:
        """A new Job, or several that differ in their names only."""
        urgency = pick(dice, (0, 0, 1, 500, 1000))
        like = Ticket(
            uid="",
            job="",
            tenant=pick(dice, TENANTS),
            submitted=self.now - pick(dice, (-3, 0, 0, 1, 8, 70_000)),
            lane=pick(dice, LANES),
            traits=(("urgent", urgency),) if urgency else (),
            width=pick(dice, self._widths),
            held=not dice.randrange(0, 10),
        )
        for _ in range(pick(dice, (1, 2, 4, 6))):
            self._named += 1
            name = f"x-{self._named}"
            yield Submit(replace(like, uid=name, job=f"team/{name}"))

    def change(self, dice: Dice) -> Steps:
        """A Job in line is held, let go, or said to be another; or nothing is new."""
        old = self._waiting(dice)
        if old is None:
            return
        changed = (
            replace(old, held=not old.held),
            replace(old, held=not old.held),
            replace(old, traits=(("urgent", 700),)),
            replace(old, tenant=pick(dice, TENANTS)),
            replace(old, lane=pick(dice, LANES)),
            replace(old, width=dice.randrange(0, 5)),
            old,
        )
        yield Submit(pick(dice, changed), self.moment(dice))

    def end(self, dice: Dice) -> Steps:
        """Some Jobs that run have ended."""
        for _ in range(pick(dice, (1, 1, 2, 5))):
            lease = self._running(dice)
            if lease is not None:
                yield Forget(lease.uid, self.moment(dice))

    def put_back(self, dice: Dice) -> Steps:
        """A Job that runs is back in line."""
        x = self._running(dice)
        if x is not None:
            submitted = self.now - pick(dice, (0, 9, 70_000))
            again = Ticket(x.uid, x.job, x.tenant, submitted, x.lane, (), x.width, deliveries=1)
            yield Submit(again, self.moment(dice))

    def cancel(self, dice: Dice) -> Steps:
        """A Job in line is deleted, or one that nobody knows."""
        gone = self._waiting(dice)
        yield Forget(gone.uid if gone else "nobody", self.moment(dice))

    def occupy(self, dice: Dice) -> Steps:
        """A grant is seen, or one that another leader made of a Job that waits or runs here."""
        token = OTHERS_TOKEN + len(self.steps)
        x = pick(dice, (self._waiting, self._running))(dice)
        if isinstance(x, Ticket):
            yield Occupy(Lease(x.uid, x.job, x.tenant, x.lane, x.width, token))
        elif isinstance(x, Lease):
            yield Occupy(replace(x, token=pick(dice, (x.token, x.token, token))))

    def acknowledge(self, dice: Dice) -> Steps:
        """A grant is seen on its Job."""
        yield Acknowledge(self._token(dice))

    def give_back(self, dice: Dice) -> Steps:
        """A grant never reached its Job."""
        yield GiveBack(self._token(dice))

    def relimit(self, dice: Dice) -> Steps:
        """Other limits."""
        yield self._declare(Rules(self.rules.pool, limits(dice, self._bounds)))

    def renumber(self, dice: Dice) -> Steps:
        """One limit with another number."""
        if not self.rules.limits:
            return
        edited = pick(dice, self.rules.limits)
        bound = edited.bound
        most = dice.randrange(0, 7)
        if isinstance(bound, Jobs | Pods):
            bound = replace(bound, most=most)
        elif isinstance(bound, Rate):
            bound = Rate(most + 1, bound.per)
        limits = tuple(
            replace(one, bound=bound) if one is edited else one for one in self.rules.limits
        )
        yield self._declare(Rules(self.rules.pool, limits))

    def reweigh(self, dice: Dice) -> Steps:
        """Other weights."""
        yield self._declare_pool(replace(self.rules.pool, priority=priority(dice)))

    def share(self, dice: Dice) -> Steps:
        """Other shares."""
        yield self._declare_pool(replace(self.rules.pool, shares=shares(dice)))

    def pause(self, _: Dice) -> Steps:
        """The pool is paused, until its rules change once more."""
        yield Declare(replace(self.rules, pool=replace(self.rules.pool, paused=True)))

    def recharge(self, dice: Dice) -> Steps:
        """Starts or Time."""
        yield self._declare_pool(replace(self.rules.pool, charging=pick(dice, tuple(Charging))))

    def reorder(self, dice: Dice) -> Steps:
        """A slice of the line takes over the new weights."""
        yield Reorder(dice.randrange(1, 4))

    def restart(self, dice: Dice) -> Steps:
        """Another process takes over."""
        yield Restart(dice.randrange(0, 1000))

    def decide(self, dice: Dice) -> Steps:
        """A decision. Wall clocks go back, too."""
        self.now += pick(dice, self.ticks)
        yield Decide(self.now, pick(dice, (1, 2, 16, 16)))

    def _declare_pool(self, pool: Pool) -> Step:
        return self._declare(Rules(pool, self.rules.limits))

    def _declare(self, rules: Rules) -> Step:
        self.rules = rules
        return Declare(rules)

    def _running(self, dice: Dice) -> Lease | None:
        running = self.duel.judge.slots.running
        return pick(dice, running) if running else None

    def _waiting(self, dice: Dice) -> Ticket | None:
        """A Job in line, and often a reserved one if there is any."""
        waiting, reserved = self.duel.judge.waiting, self.duel.judge.slots.reserved
        if reserved and dice.randrange(0, 2):
            return pick(dice, reserved).ticket
        return pick(dice, waiting) if waiting else None

    def _token(self, dice: Dice) -> int:
        return pick(dice, [1, *(one.lease.token for one in self.duel.judge.intents)])

    def moment(self, dice: Dice) -> int | None:
        """When it was seen; None if nobody saw it. Clocks differ."""
        return None if not dice.randrange(0, 5) else self.now + pick(dice, (0, 0, 400, -50))


STEPS: dict[str, Callable[[History, Dice], Steps]] = {
    "submit": History.submit,
    "change": History.change,
    "end": History.end,
    "put_back": History.put_back,
    "cancel": History.cancel,
    "occupy": History.occupy,
    "acknowledge": History.acknowledge,
    "give_back": History.give_back,
    "relimit": History.relimit,
    "renumber": History.renumber,
    "reweigh": History.reweigh,
    "share": History.share,
    "pause": History.pause,
    "recharge": History.recharge,
    "reorder": History.reorder,
    "restart": History.restart,
    "decide": History.decide,
}
_OFTEN = {
    "submit": 18,
    "decide": 24,
    "end": 12,
    "change": 5,
    "cancel": 2,
    "put_back": 2,
    "acknowledge": 2,
    "give_back": 2,
    "renumber": 2,
    "reorder": 2,
    "restart": 2,
}
KINDS = [kind for kind in STEPS for _ in range(_OFTEN.get(kind, 1))]


def limits(dice: Dice, bounds: str) -> tuple[Limit, ...]:
    """Up to five limits, several of a kind in one scope too."""
    return tuple(
        Limit(f"limit-{n}", _bound(dice, bounds), pick(dice, LANES), pick(dice, tuple(Count)))
        for n in range(pick(dice, (0, 1, 2, 2, 3, 4, 5)))
    )


def _bound(dice: Dice, bounds: str) -> Bound:
    if not dice.randrange(0, 50):
        closed: tuple[Bound, ...] = Closed("a field from the future"), Jobs(0), Pods(0)
        return pick(dice, closed)
    match pick(dice, bounds):
        case "J":
            return Jobs(dice.randrange(1, 7))
        case "P":
            return Pods(pick(dice, (2, 3, 4, 4, 5, 6, 8)))
    return Rate(dice.randrange(1, 7), pick(dice, (1, 7, 40, 6_000)))


def priority(dice: Dice) -> Priority:
    """A turn, a trait and an age, of any weights."""
    full = pick(dice, (1, 10, 1_000, 60_000))
    turn, trait, age = (dice.randrange(0, 4) for _ in range(3))
    factors = FairShare(turn), Trait("urgent", trait), Age(age, full)
    return Priority(tuple(factor for factor in factors if factor.weight or dice.randrange(0, 2)))


def shares(dice: Dice) -> dict[str, int]:
    """Of some tenants, and of one that never comes."""
    return {tenant: dice.randrange(1, 6) for tenant in (*TENANTS, "nobody") if dice.randrange(0, 2)}
