"""Starts: the grants that still count in a rate window."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from kwicket.core.limits import Limit, Rate


class Start(Struct, frozen=True, gc=False):
    """A grant as a rate limit sees it; `at` in milliseconds since 1970."""

    at: int
    tenant: str
    lane: str


def counted(starts: Iterable[Start], limits: Iterable[Limit], now: int) -> tuple[Start, ...]:
    """The starts that a rate limit still sees at `now`; what none covers is not kept.

    As many as the limits admit within their windows, so that a ledger stays small.
    """
    windows = [(limit, now - limit.bound.per) for limit in limits if isinstance(limit.bound, Rate)]
    return tuple(
        start
        for start in starts
        if any(limit.covers(start.lane) and start.at > edge for limit, edge in windows)
    )


def counted_since(known: Mapping[str, int], limits: Iterable[Limit], now: int) -> dict[str, int]:
    """For each rate limit by name: all starts later than this moment are kept.

    A limit that was not there before, or whose window was shorter, knows only what was kept.
    """
    return {
        limit.name: max(known.get(limit.name, now), now - limit.bound.per)
        for limit in limits
        if isinstance(limit.bound, Rate)
    }
