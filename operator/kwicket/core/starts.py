"""Starts: the grants that still count in a rate window."""

from collections.abc import Iterable

from msgspec import Struct

from kwicket.core.limits import Limit, Rate


class Start(Struct, frozen=True, gc=False):
    """A grant as a rate limit sees it; `at` in milliseconds since 1970."""

    at: int
    tenant: str
    lane: str


def longest_window(limits: Iterable[Limit]) -> int:
    """The longest `per` of the rate limits, in milliseconds; 0 if there is none."""
    return max((limit.bound.per for limit in limits if isinstance(limit.bound, Rate)), default=0)


def kept(starts: Iterable[Start], window: int, now: int) -> tuple[Start, ...]:
    """The starts that a window of this length still sees at `now`."""
    return tuple(start for start in starts if window and start.at > now - window)
