"""The option set of a history: all that a seed decides before anything happens."""

import random
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

START = 1_790_000_000_000
"""When the world begins, in milliseconds since 1970."""
FAULTY = 60.0
"""Seconds within which everything goes wrong that does, at the usual pace."""

TEAMS = ("team-a", "team-b")
TENANTS = ("alice", "bob", "carol")
NODES = ("n1", "n2", "n3")
OPERATORS = ("a", "b")
WATCHED = ("batch/v1/jobs", "v1/pods", "v1/namespaces", "v1/nodes")

ACTIONS = (
    "delete-orphan",
    "delete-background",
    "delete-foreground",
    "hold",
    "suspend",
    "evict",
    "force",
    "again",
)
"""What a tenant may do to a Job; `again` deletes it and makes another of its name."""
START_IT = "start"
"""Somebody starts a Job past Kwicket, before the policies are in force or by leave of them."""
UNHEARD = ("late", "lossy", "deaf", "cut", "kill", "kill-at-write", "pause", "crash-loop")
"""Faults after which nobody may know any more that a start was sent."""


class Work(Struct, frozen=True, repr_omit_defaults=True):
    """A Job that is submitted."""

    name: str
    namespace: str
    tenant: str
    at: float
    seconds: float
    parallelism: int = 1
    completions: int | None = 1
    fails: int = 0
    """How many of its pods fail before one succeeds."""
    grace: float = 0.2
    lane: str = ""
    deed: tuple[float, str] | None = None
    """When something of `ACTIONS` is done to it, and what."""
    unplaced: bool = False
    """It names a pool that there is none of."""


class Fault(Struct, frozen=True, repr_omit_defaults=True):
    """Something that goes wrong for a while."""

    at: float
    seconds: float
    what: str
    where: str = ""
    kinds: tuple[str, ...] = ()
    amount: float = 0
    lasts: bool = False
    """It never heals: it is outside the core that must go on."""


class Edit(Struct, frozen=True, repr_omit_defaults=True):
    """Something that an administrator does."""

    at: float
    what: str
    amount: int = 0


class Options(Struct, frozen=True):
    """Replaying the same set gives the same history."""

    seed: int
    jobs: int
    """The limit on Jobs at once, while nobody changes it."""
    pods: int = 0
    """A limit on pods at once; 0 for none."""
    each: int = 0
    """A limit on each tenant's Jobs at once; 0 for none."""
    rate: tuple[int, int] | None = None
    """A limit on starts: how many in how many seconds."""
    lanes: bool = False
    """There is a lane, with a limit of one Job."""
    time: bool = False
    """The pool charges time."""
    shares: tuple[tuple[str, int], ...] = ()
    operators: int = 1
    elects: bool = True
    """Whether they elect a leader; two that do not both lead."""
    page: int = 500
    """Objects in a page of a list."""
    skew: tuple[int, int] = (0, 0)
    """Milliseconds by which each operator's wall clock is ahead."""
    slow: float = 0.02
    lag: float = 0.02
    replays: int = 0
    controller: float = 0.1
    """Seconds after which the Job controller acts, on average."""
    compacts: float = 0
    """Every so many seconds all history is forgotten, while things go wrong; 0 for never."""
    pace: int = 1
    """How many times as long everything planned takes: hours pass where nobody polls."""
    pools: int = 1
    """Two: every other Job names the second one, which has a limit of one Job."""
    ttl: bool = False
    """Jobs are deleted as soon as they are over, as with `ttlSecondsAfterFinished: 0`."""
    audited: float = 20
    """Seconds after which an operator audits its books: histories are short."""
    lease: int = 0
    """Seconds of silence after which a lease lapses; 0 for what a Pool has by itself."""
    works: tuple[Work, ...] = ()
    edits: tuple[Edit, ...] = ()
    faults: tuple[Fault, ...] = ()

    @property
    def faulty(self) -> float:
        """Seconds after which every fault has healed, or all but one in a liveness run."""
        return FAULTY * self.pace

    @property
    def planned(self) -> float:
        """Seconds after which nothing that is planned is left to be done."""
        deeds = (work.at + (work.deed[0] if work.deed else 0) for work in self.works)
        return max([FAULTY, *deeds]) * self.pace + 1

    @property
    def lasting(self) -> Fault | None:
        """The fault that never heals: this is a liveness run."""
        return next((fault for fault in self.faults if fault.lasts), None)

    @property
    def harmed(self) -> bool:
        """Whether anything goes wrong."""
        return bool(self.faults)

    def calm(self) -> Self:
        """The same with nothing going wrong."""
        return replace(self, faults=())


def declared(dice: random.Random) -> dict[str, Any]:
    """What administrators declare of the pools: limits, lanes, and what a turn is worth."""
    return {
        "jobs": dice.choice((1, 1, 2, 2, 3, 4)),
        "pods": dice.choice((0, 0, 3, 4)),
        "each": dice.choice((0, 0, 0, 1)),
        "rate": dice.choice((None, None, None, (2, 10), (3, 20))),
        "lanes": dice.random() < 0.2,
        "time": dice.random() < 0.2,
        "shares": dice.choice(((), (), (("alice", 2),), (("bob", 3),))),
    }


def drawn(seed: int) -> Options:
    """The option set of a seed."""
    dice = random.Random(f"options {seed}")  # noqa: S311
    two = dice.random() < 0.6
    fields = declared(dice) | {
        "operators": 2 if two else 1,
        "elects": dice.random() < 0.75,
        "page": dice.choice((1, 2, 3, 500)),
        "skew": (dice.choice((0, 0, -3_600_000, 3_600_000)), dice.choice((0, 0, 86_400_000))),
        "slow": dice.choice((0.005, 0.02, 0.1)),
        "lag": dice.choice((0.0, 0.02, 0.2, 1.0)),
        "replays": dice.choice((0, 0, 3)),
        "controller": dice.choice((0.1, 0.1, 1.0, 4.0)),
        "compacts": dice.choice((0, 0, 0.5, 5)),
        "pace": 1,
    }
    if not (two and fields["elects"]) and dice.random() < 0.4:
        fields |= {"pace": 20, "elects": False}
    if fields["rate"] is not None:
        # A start stamped by a clock that was ahead counts until the clocks have caught up.
        fields["skew"] = (0, 0)
    plain = Options(seed=seed, **fields)
    faults = _faults(dice, plain)
    works = tuple(meanwhile(dice, work, faults) for work in works_of(dice, plain))
    made = Options(seed=seed, **fields, works=works, edits=_edits(dice, plain), faults=faults)
    return _rarer(random.Random(f"rarer {seed}"), made)  # noqa: S311


def _rarer(dice: random.Random, made: Options) -> Options:
    """With what the model learned later, by dice of its own: all else of a seed stays as it was."""
    lasting = made.lasting
    ttl, lapses = dice.random() < 0.15, dice.random() < 0.15
    if dice.random() < 0.15:
        number = dice.randrange(len(made.works))
        strays = (dice.uniform(0, 5), START_IT)
        works = [
            replace(work, deed=strays) if index == number else work
            for index, work in enumerate(made.works)
        ]
        made = replace(made, works=tuple(works))
    if dice.random() < 0.1 and not any(fault.what in UNHEARD for fault in made.faults):
        edit = Edit(dice.uniform(1, FAULTY - 20), "pool")
        made = replace(made, edits=(*made.edits, edit), skew=(0, 0))
    plain = not (made.lanes or made.pods or made.each or made.rate)
    pools = 2 if dice.random() < 0.3 and plain else 1
    lease = dice.choice((5, 20)) if lapses and lasting is None else 0
    return replace(made, ttl=ttl, lease=lease, pools=pools)


def meanwhile(dice: random.Random, work: Work, faults: tuple[Fault, ...]) -> Work:
    """Half of what tenants do they do while something else goes wrong."""
    if work.deed is None or not faults or dice.random() < 0.5:
        return work
    fault = dice.choice(faults)
    at = fault.at + dice.uniform(0, fault.seconds)
    return replace(work, deed=(max(at - work.at, 0), work.deed[1]))


def works_of(dice: random.Random, options: Options) -> tuple[Work, ...]:
    """Some Jobs, by the lanes that there are."""
    works = []
    for number in range(dice.randint(4, 16)):
        wide = dice.random() < 0.2
        parallelism = dice.choice((2, 3)) if wide else 1
        completions = dice.choice((parallelism, parallelism + 1, None)) if wide else 1
        deed = None
        if dice.random() < 0.4:
            at = dice.uniform(0, dice.choice((0.5, 3, 50)))
            deed = (at, dice.choice((*ACTIONS, "hold", "again")))
        work = Work(
            name=f"j-{number}",
            namespace=dice.choice(TEAMS),
            tenant=dice.choice(TENANTS),
            at=dice.choice((0.0, dice.uniform(0, 10), dice.uniform(0, 45))),
            seconds=dice.choice((0.1, 2.0, dice.uniform(1, 10), dice.uniform(5, 25))),
            parallelism=parallelism,
            completions=completions,
            fails=dice.choice((0, 0, 0, 0, 1, 8)),
            grace=dice.choice((0.1, 2.0, 10.0)),
            lane="lane" if options.lanes and dice.random() < 0.3 else "",
            deed=deed,
            unplaced=dice.random() < 0.03,
        )
        works.append(work)
    return tuple(works)


def _edits(dice: random.Random, options: Options) -> tuple[Edit, ...]:
    edits = []
    for _ in range(dice.choice((0, 0, 1, 2))):
        at, what = dice.uniform(1, FAULTY - 10), dice.choice(("limit", "limit", "pause", "ledger"))
        amount = dice.choice((0, 1, options.jobs + 1)) if what == "limit" else 0
        edits.append(Edit(at, what, amount))
    return tuple(edits)


WAYS = ("cut", "deaf", "silent", "closing", "forbidden", "lossy", "late", "busy", "broken")
PROCESSES = ("kill", "kill-at-write", "kill-at-write", "pause", "stop", "step")
CLUSTER = ("compact", "restart", "node-silent", "node-lost", "refused", "statuses")


def _faults(dice: random.Random, options: Options) -> tuple[Fault, ...]:
    faults = [fault_of(dice, options) for _ in range(dice.choice((0, 2, 3, 5, 8)))]
    if dice.random() < 0.3:
        faults.append(_lasting(dice, options))
    return tuple(faults)


def fault_of(dice: random.Random, options: Options) -> Fault:
    """Something that goes wrong in one cluster, and heals."""
    what = dice.choice(WAYS + PROCESSES + PROCESSES + CLUSTER)
    if what == "step" and options.rate is not None:
        what = "pause"
    at, seconds = dice.uniform(0, dice.choice((5, FAULTY - 20))), dice.choice((2.0, 8.0, 20.0))
    where = dice.choice(OPERATORS[: options.operators])
    kinds: tuple[str, ...] = ()
    amount = dice.choice((0.2, 0.5, 0.9))
    if what in ("silent", "closing", "forbidden"):
        kinds = tuple(dice.sample(WATCHED, dice.randint(1, 4)))
    elif what == "kill-at-write":
        amount = dice.randint(1, 40)
    elif what == "step":
        amount = dice.choice((-3_600_000, 3_600_000, -86_400_000))
    elif what.startswith("node"):
        where = dice.choice(NODES[1:])
        seconds = dice.choice((1.0, 15.0, 40.0))
    elif what == "refused":
        where = f"j-{dice.randint(0, 5)}"
    return Fault(at, seconds, what, where, kinds, amount)


def _lasting(dice: random.Random, options: Options) -> Fault:
    """One that need not hinder those outside it."""
    choices = [("statuses", "a"), ("closing", "a"), ("silent", "a"), ("refused", "j-0")]
    if options.operators == 2 and options.elects:
        choices += [("cut", "b"), ("deaf", "b"), ("stop", "b"), ("crash-loop", "b")]
    what, where = dice.choice(choices)
    kinds = (dice.choice(WATCHED[:2]),) if what in ("closing", "silent") else ()
    return Fault(dice.uniform(0, 40), 0, what, where, kinds, 1, lasts=True)
