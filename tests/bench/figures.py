"""The figures of one size, and what they should be."""

from collections.abc import Callable
from statistics import median

from msgspec import Struct

from . import memory, speed
from .loads import Size

STEPS = 20_000
"""The grants of one run; fewer would hardly meet what happens seldom."""


class Figures(Struct, kw_only=True):
    """What was measured at one size; medians of the runs."""

    waiting: int
    tenants: int
    lanes: int
    us_a_grant: float
    """Release, decision and submission of the steady loop, in microseconds."""
    us_fastest_run: float
    us_slowest_run: float
    first_decide_ms: float
    """The slowest of the decisions that take the slots of a full line, as after a restart."""
    worst_decide_ms: float
    """The slowest decision of the steady loop."""
    longest_pause_ms: float
    """The longest call that stops the loop while a changed weight is taken over."""
    longest_collection_ms: float
    """The longest garbage collection meanwhile; part of the step that it stopped."""
    build_ms: float
    snapshot_us: float
    """`Book.snapshot()` once, after the steady loop; not part of a grant here."""
    bytes_a_job: float
    """Without the strings `uid` and `job`; the larger of just built and after the steady loop."""
    bytes_built: float
    bytes_steady: float
    id_bytes_a_job: float
    busy: float
    """The part of the time in which the processor was ours; much less than 1 spoils the figures."""

    @property
    def size(self) -> Size:
        """What they were measured at."""
        return Size(self.waiting, self.tenants, self.lanes)


class Comparison(Struct, kw_only=True):
    """Kwicket and a peer over the same steps; medians of the runs."""

    waiting: int
    tenants: int
    grants: int
    """How many grants of the steady loop were compared."""
    peer_us_a_grant: float
    kwicket_us_a_grant: float
    ratio: float
    """How many times as long a grant of the peer takes."""
    same_order: bool
    """Whether both started the same Jobs in the same order."""


def measure(size: Size, *, repeats: int, steps: int, say: Callable[[str], None]) -> Figures:
    """All figures of one size; `say` hears how far it is."""
    runs = []
    for number in range(1, repeats + 1):
        say(f"run {number} of {repeats}")
        runs.append(speed.run(size, steps))
    say("a changed weight")
    pauses = [speed.pauses(size) for _ in range(min(repeats, 3))]
    say("bytes")
    weight = memory.weigh(size, steps)
    us = [run.whole / run.grants / 1e3 for run in runs]
    return Figures(
        waiting=size.waiting,
        tenants=size.tenants,
        lanes=size.lanes,
        us_a_grant=round(median(us), 2),
        us_fastest_run=round(min(us), 2),
        us_slowest_run=round(max(us), 2),
        first_decide_ms=_ms(speed.worst([run.first for run in runs])),
        worst_decide_ms=_ms(speed.worst([run.decisions for run in runs])),
        longest_pause_ms=_ms(speed.worst(pauses)),
        longest_collection_ms=_ms(median(run.collection for run in runs)),
        build_ms=_ms(median(run.build for run in runs)),
        snapshot_us=round(median(run.snapshot for run in runs) / 1e3, 1),
        bytes_a_job=round(max(weight.built, weight.steady), 1),
        bytes_built=round(weight.built, 1),
        bytes_steady=round(weight.steady, 1),
        id_bytes_a_job=round(weight.ids, 1),
        busy=round(median(run.busy for run in runs), 3),
    )


def _ms(nanoseconds: float) -> float:
    return round(nanoseconds / 1e6, 3)
