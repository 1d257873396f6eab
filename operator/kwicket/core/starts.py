"""Starts: the grants that still count in a rate window."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from msgspec import Struct

from kwicket.core.limits import Limit, Rate


class Start(Struct, frozen=True, gc=False):
    """A grant as a rate limit sees it; `at` in milliseconds since 1970."""

    at: int
    tenant: str
    lane: str


def counted(starts: Iterable[Start], limits: Iterable[Limit], now: int) -> tuple[Start, ...]:
    """The starts that a rate limit still sees at `now`; what none covers is not kept.

    As many as the limits admit within their windows, together or for each tenant that started.
    """
    windows = [(limit, now - limit.bound.per) for limit in limits if isinstance(limit.bound, Rate)]

    @cache
    def edge(lane: str) -> int | None:
        return min((edge for limit, edge in windows if limit.covers(lane)), default=None)

    return tuple(s for s in starts if (since := edge(s.lane)) is not None and s.at > since)


def counted_since(known: Mapping[str, int], limits: Iterable[Limit], now: int) -> dict[str, int]:
    """For each rate limit by name: all starts later than this moment are kept.

    A limit that was not there before, or whose window was shorter, knows only what was kept.
    """
    return {
        limit.name: max(known.get(limit.name, now), now - limit.bound.per)
        for limit in limits
        if isinstance(limit.bound, Rate)
    }


class StartLog:
    """The starts that are still seen, as a book gathers them."""

    def __init__(self) -> None:
        self._starts: list[Start] = []
        self.since: Mapping[str, int] = {}
        """As `counted_since` gives it."""

    def adopt(self, starts: Iterable[Start], since: Mapping[str, int]) -> None:
        """Takes starts as they were kept."""
        self._starts = list(starts)
        self.since = since

    def __iter__(self) -> Iterator[Start]:
        return iter(self._starts)

    def add(self, start: Start) -> None:
        """Adds the latest start."""
        self._starts.append(start)

    def remove(self, start: Start) -> bool:
        """Takes back a start that never was; False if it is not known."""
        if start not in self._starts:
            return False
        self._starts.remove(start)
        return True

    def prune(self, limits: tuple[Limit, ...], now: int) -> None:
        """Forgets what no limit sees at `now`."""
        self.adopt(counted(self._starts, limits, now), counted_since(self.since, limits, now))
