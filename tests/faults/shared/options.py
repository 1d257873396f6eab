"""The option set of a history of several clusters: one for each of them, and their database's."""

import random
from typing import Self

from msgspec.structs import replace

from faults.options import WATCHED, Edit, Fault, Options, declared, fault_of, meanwhile, works_of

CLUSTERS = ("east", "west", "north")
LAPSES = (None, None, 120.0, 150.0)

LINES = ("cut", "slow", "lossy", "late", "rolled-back", "mute")
"""Faults of one operator's way to the database."""
SERVER = ("down", "read-only", "failover", "failover")
"""Faults of the database; a failover loses what was committed in its `amount` of seconds."""
CLUSTER = ("gone", "apart")
"""A cluster falls silent: it has no operator, or none that reaches the database."""
RESTORES = 0.2
"""How many histories have a cluster that is restored from a backup."""
STILL = "still"
"""The same for a while, since all its operators stand still and then go on where they were."""


class Shared(Options, frozen=True):
    """What is said here holds in all clusters; their Jobs, edits and faults are in their own."""

    clusters: tuple[Options, ...] = ()
    lapse: float | None = None
    """Seconds of silence after which a cluster's slots are free; None if they never are."""
    way: float = 0.005
    """Seconds that one way to the database takes, on average."""

    @property
    def names(self) -> tuple[str, ...]:
        """The clusters' names, in their order."""
        return CLUSTERS[: len(self.clusters)]

    @property
    def faulty(self) -> float:
        """Seconds after which all has healed but what lasts."""
        ends = (fault.at + fault.seconds for fault in self.faults)
        return max([*(one.faulty for one in self.clusters), *ends])

    @property
    def planned(self) -> float:
        """Seconds after which nothing that is planned is left to be done."""
        return max([self.faulty + 1, *(one.planned for one in self.clusters)])

    @property
    def lasting(self) -> Fault | None:
        """The fault that never heals, here or in a cluster."""
        own = [fault for fault in self.faults if fault.lasts]
        inside = [one.lasting for one in self.clusters if one.lasting is not None]
        return next(iter([*own, *inside]), None)

    @property
    def lost(self) -> str:
        """The cluster that never comes back; empty if there is none."""
        return next((f.where for f in self.faults if f.lasts and f.what in CLUSTER), "")

    @property
    def harmed(self) -> bool:
        """Whether anything goes wrong."""
        return bool(self.faults) or any(one.harmed for one in self.clusters)

    def calm(self) -> Self:
        """The same with nothing going wrong."""
        return replace(self, faults=(), clusters=tuple(one.calm() for one in self.clusters))


def drawn(seed: int) -> Shared:
    """The option set of a seed."""
    dice = random.Random(f"shared {seed}")  # noqa: S311
    common = declared(dice) | {
        "lease": dice.choice((0, 0, 0, 0, 0, 20)),
        "pace": 1,
    }
    plain = not (common["lanes"] or common["pods"] or common["each"] or common["rate"])
    common["pools"] = 2 if dice.random() < 0.3 and plain else 1
    names = CLUSTERS[: dice.choice((1, 2, 2, 2, 3))]
    lasts = dice.choice(("", "", "", "here", "inside"))
    sure = Shared(seed, **common)
    clusters = tuple(_cluster(dice, sure, lasts == "inside" and name == "east") for name in names)
    made = replace(sure, clusters=clusters, lapse=dice.choice(LAPSES))
    made = replace(made, way=dice.choice((0.002, 0.005, 0.05)))
    faults = tuple(_wrong(dice, made) for _ in range(dice.choice((0, 1, 2, 3, 5))))
    made = replace(made, faults=faults)
    return _with_restore(_with_lasting(dice, made) if lasts == "here" else made)


def _with_restore(options: Shared) -> Shared:
    """Some have a cluster that is restored while it has no operator; dice of its own say which."""
    dice = random.Random(f"restore {options.seed}")  # noqa: S311
    away = {fault.where for fault in options.faults if fault.what in (*CLUSTER, STILL)}
    able = [name for name in options.names if name not in away]
    if not able or dice.random() > RESTORES:
        return options
    at, seconds = dice.uniform(2, 40), dice.choice((20.0, 40.0, 90.0))
    restored = Fault(at, seconds, "restored", dice.choice(able))
    return replace(options, faults=(*options.faults, restored))


def _cluster(dice: random.Random, common: Options, lasts: bool) -> Options:
    """One cluster: its operators, its network, its Jobs, and what goes wrong in it."""
    operators = dice.choice((1, 1, 2))
    plain = Options(**{name: getattr(common, name) for name in Options.__struct_fields__})
    plain = replace(
        plain,
        operators=operators,
        elects=operators > 1 or dice.random() < 0.5,
        page=dice.choice((1, 3, 500)),
        skew=(dice.choice((0, 0, 3_600_000)), 0),
        slow=dice.choice((0.005, 0.02, 0.1)),
        lag=dice.choice((0.0, 0.02, 0.2, 1.0)),
        replays=dice.choice((0, 0, 3)),
        controller=dice.choice((0.1, 0.1, 1.0, 4.0)),
        compacts=dice.choice((0, 0, 5)),
        ttl=dice.random() < 0.15,
    )
    faults = [fault_of(dice, plain) for _ in range(dice.choice((0, 0, 1, 2, 4)))]
    if lasts:
        faults.append(_lasting(dice, plain))
    works = tuple(meanwhile(dice, work, tuple(faults)) for work in works_of(dice, plain)[:9])
    return replace(plain, works=works, edits=_edits(dice, plain), faults=tuple(faults))


def _edits(dice: random.Random, options: Options) -> tuple[Edit, ...]:
    edits = []
    for _ in range(dice.choice((0, 0, 0, 1, 2))):
        what = dice.choice(("limit", "limit", "pause"))
        amount = dice.choice((0, 1, options.jobs + 1)) if what == "limit" else 0
        edits.append(Edit(dice.uniform(1, 50), what, amount))
    return tuple(edits)


def _wrong(dice: random.Random, options: Shared) -> Fault:
    """Something goes wrong on the way to the database, in it, or with a whole cluster."""
    what = dice.choice((*LINES, *SERVER, *CLUSTER, STILL))
    at, seconds = dice.uniform(0, dice.choice((5, 40))), dice.choice((2.0, 8.0, 20.0))
    where, amount = dice.choice(options.names), dice.choice((0.2, 0.5, 0.9))
    if what in CLUSTER:
        seconds = dice.choice((20.0, 45.0, 100.0, 200.0))
    elif what == STILL:
        seconds = dice.choice((8.0, 45.0, 70.0))
    elif what == "failover":
        amount = dice.choice((0.0, 0.5, 2.0, 5.0))
    return Fault(at, seconds, what, where, (), amount)


def _lasting(dice: random.Random, options: Options) -> Fault:
    """One of a cluster's own that need not hinder any Job."""
    choices = [("statuses", "a"), ("closing", "a"), ("silent", "a")]
    if options.operators == 2:
        choices += [("cut", "b"), ("deaf", "b"), ("stop", "b"), ("crash-loop", "b")]
    what, where = dice.choice(choices)
    kinds = (dice.choice(WATCHED[:2]),) if what in ("closing", "silent") else ()
    return Fault(dice.uniform(0, 40), 0, what, where, kinds, 1, lasts=True)


def _with_lasting(dice: random.Random, options: Shared) -> Shared:
    """No notification arrives any more, or a cluster never comes back and lapses."""
    at, where = dice.uniform(0, 40), dice.choice(options.names)
    if len(options.names) == 1 or dice.random() < 0.4:
        lasting = Fault(at, 0, "mute", where, lasts=True)
        return replace(options, faults=(*options.faults, lasting))
    others = tuple(fault for fault in options.faults if fault.what not in CLUSTER)
    lasting = Fault(at, 0, dice.choice(CLUSTER), where, lasts=True)
    return replace(options, faults=(*others, lasting), lapse=options.lapse or LAPSES[-1])
