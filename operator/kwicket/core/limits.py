"""Limits: how many may run, and how often one may start.

All limits that cover a Job hold together. A new kind of limit is one Struct here, one branch in
`Gate` (gates.py), and its field in the Limit's schema.
"""

from enum import StrEnum

from msgspec import Struct

LONGEST_WINDOW = 24 * 3_600_000
MOST_STARTS = 10_000


class Count(StrEnum):
    """Whether a limit counts all tenants together or each one for itself."""

    TOGETHER = "Together"
    EACH_TENANT = "EachTenant"


class Jobs(Struct, frozen=True, tag=True):
    """At most this many granted Jobs that have not ended."""

    most: int


class Pods(Struct, frozen=True, tag=True):
    """At most this many pods, counting min(parallelism, completions) a granted Job."""

    most: int


class Rate(Struct, frozen=True, tag=True):
    """At most `starts` starts later than `per` milliseconds ago."""

    starts: int
    per: int


class Closed(Struct, frozen=True, tag=True):
    """A limit that this version does not understand: nothing starts under it until it does."""

    why: str


type Bound = Jobs | Pods | Rate | Closed


class Limit(Struct, frozen=True):
    """One limit of a pool, or of one of its lanes.

    Raises ValueError for a negative bound, more than 10,000 starts, or a window longer than a day.
    """

    name: str
    bound: Bound
    lane: str = ""
    """The lane that it covers; empty for the whole pool."""
    count: Count = Count.TOGETHER

    def __post_init__(self) -> None:
        match self.bound:
            case Jobs(most) | Pods(most):
                if most < 0:
                    raise ValueError(f"limit {self.name}: concurrency is 0 or more")
            case Rate(starts, per):
                if not 1 <= starts <= MOST_STARTS:
                    raise ValueError(f"limit {self.name}: starts is 1 to {MOST_STARTS}")
                if not 1 <= per <= LONGEST_WINDOW:
                    raise ValueError(f"limit {self.name}: per is at most 24h")
            case Closed():
                pass

    def covers(self, lane: str) -> bool:
        """Whether Jobs of this lane count in it."""
        return self.lane in ("", lane)

    def too_small_for(self, width: int) -> bool:
        """Whether a Job of this many pods can never start under it.

        A limit of 0 is a closed door, not too small: it is opened by raising it.
        """
        return self.widest is not None and 0 < self.widest < width

    @property
    def widest(self) -> int | None:
        """The widest Job that it could ever admit as it is, 0 for none; None for any."""
        match self.bound:
            case Pods(most):
                return most
            case Jobs(0) | Closed():
                return 0
            case Jobs() | Rate():
                return None

    def refuses(self, used: int, width: int) -> bool:
        """Whether it has no room for a Job of this many pods when so much of it is used."""
        match self.bound:
            case Jobs(most) | Rate(most):
                return used >= most
            case Pods(most):
                return used + max(width, 1) > most
            case Closed():
                return True
