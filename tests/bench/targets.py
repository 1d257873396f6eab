"""What the decision has to reach, and by how much a grant may slow down as the line grows."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from .figures import Figures

US_A_GRANT = {1: 20.0, 10: 40.0, 100: 60.0}
"""At 100,000 waiting Jobs of 1,000 tenants, by lanes."""
MOST_DECIDE_MS = 10.0
MOST_PAUSE_MS = 20.0
MOST_BYTES = 450.0
"""At 100,000 waiting Jobs; with few Jobs the tenants and lanes themselves count for more."""
LARGE = 100_000


class Target(Struct, frozen=True):
    """One figure beside the most that it may be."""

    what: str
    value: float
    most: float

    @property
    def reached(self) -> bool:
        """Whether it is no more than that."""
        return self.value <= self.most


class Growth(Struct, frozen=True):
    """How many times as long a grant takes in the longest line as in the shortest."""

    tenants: int
    lanes: int
    shortest: int
    longest: int
    times: float


def targets(measured: Sequence[Figures]) -> Iterator[Target]:
    """The targets that these figures can be held against."""
    for one in measured:
        if one.waiting == LARGE and one.tenants == 1000 and one.lanes in US_A_GRANT:
            yield Target(f"µs a grant, {one.size}", one.us_a_grant, US_A_GRANT[one.lanes])
    for one in measured:
        if one.waiting == LARGE:
            yield Target(f"bytes a waiting Job, {one.size}", one.bytes_a_job, MOST_BYTES)
    yield _most(measured, "ms the first decision", lambda f: f.first_decide_ms, MOST_DECIDE_MS)
    yield _most(measured, "ms the slowest decision", lambda f: f.worst_decide_ms, MOST_DECIDE_MS)
    pause = "ms the longest pause for a changed weight"
    yield _most(measured, pause, lambda f: f.longest_pause_ms, MOST_PAUSE_MS)


def _most(
    measured: Sequence[Figures], what: str, value: Callable[[Figures], float], most: float
) -> Target:
    """The size at which this is largest."""
    worst = max(measured, key=value)
    return Target(f"{what}, at worst with {worst.size}", value(worst), most)


def growth(measured: Iterable[Figures]) -> list[Growth]:
    """For each number of tenants and lanes that was measured with several lengths of the line."""
    rows: dict[tuple[int, int], list[Figures]] = {}
    for one in measured:
        rows.setdefault((one.lanes, one.tenants), []).append(one)
    grown = []
    for (lanes, tenants), row in sorted(rows.items()):
        short, long = min(row, key=lambda f: f.waiting), max(row, key=lambda f: f.waiting)
        if short.waiting < long.waiting:
            times = round(long.us_a_grant / short.us_a_grant, 2)
            grown.append(Growth(tenants, lanes, short.waiting, long.waiting, times))
    return grown
