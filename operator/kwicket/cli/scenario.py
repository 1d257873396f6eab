"""Scenario files: Pools, Lanes and Limits as kubectl takes them, and the Jobs that come.

Objects go the way of the operator: what the API server would refuse is a problem, its defaults are
filled in, and `kube/declared.py` makes the values. Nothing is left out without a word.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from kwicket.cli.documents import Document, Problem, documents
from kwicket.cli.entries import Placed, entries
from kwicket.core.catalog import Aside, Catalog, Declared
from kwicket.core.limits import Closed
from kwicket.core.pools import Lane, Pool
from kwicket.core.reasons import Reason
from kwicket.kube import declared
from kwicket.kube.schemas import API_VERSION, KINDS, Flaw, admitted
from kwicket.sim.arrivals import Arrival
from kwicket.sim.worlds import Left, World, placed

LATEST = "9999-12-31T23:59:59Z"
"""When an object was made that does not say so: after all that do."""


class Scenario(Struct, frozen=True):
    """What a file declares, and its Jobs; or all that is wrong with it."""

    file: str
    catalog: Catalog = Catalog()
    jobs: tuple[Placed, ...] = ()
    problems: tuple[Problem, ...] = ()
    scenario: Document | None = None
    """The document with the Jobs, if there is one."""

    def arrivals(self) -> tuple[Arrival, ...]:
        """All Jobs in the order in which they come; of one moment, as they are written."""
        found = (arrival for one in self.jobs for arrival in one.entry.arrivals())
        return tuple(sorted(found, key=lambda arrival: arrival.at))


def read_scenario(path: Path) -> Scenario:
    """The file, read. Raises OSError."""
    text = path.read_bytes().decode(errors="replace")
    found, problems = documents(str(path), text.removeprefix("\ufeff"))
    reading = _Reading(str(path), problems)
    for document in found:
        reading.take(document)
    return reading.end()


def misplaced(world: World, jobs: Iterable[Placed]) -> Iterator[Problem]:
    """The entries whose Jobs have no place in this world; one that is too wide has one."""
    for one in jobs:
        first = next(one.entry.arrivals())
        for place in placed(world, [first]):
            if isinstance(place, Left) and place.aside.reason is not Reason.TOO_WIDE:
                yield one.document.problem(one.place, _why(world, place.aside))


def _why(world: World, aside: Aside) -> str:
    return f"under the rules of {world.name}: {aside.sentence}"


class _Reading:
    """Collects what the documents of a file declare, each name once."""

    def __init__(self, file: str, problems: list[Problem]) -> None:
        self._file = file
        self._problems = problems
        self._seen: dict[tuple[str, str], Document] = {}
        self._pools: dict[str, Pool] = {}
        self._lanes: dict[str, Lane] = {}
        self._limits: dict[str, Declared] = {}
        self._jobs: list[Placed] = []
        self._scenario: Document | None = None

    def take(self, document: Document) -> None:
        """One object."""
        kind = document.value.get("kind") if isinstance(document.value, dict) else None
        match kind:
            case "Scenario":
                self._take_jobs(document)
            case str() if kind in KINDS:
                self._take_object(kind, document)
            case _:
                kinds = ", ".join((*KINDS, "Scenario"))
                self._problem(document, ("kind",), f"{kind!r} is none of {kinds}")

    def end(self) -> Scenario:
        """All of it, once every document was taken."""
        self._look_for_places()
        catalog = Catalog(pools=self._pools, lanes=self._lanes, limits=self._limits)
        problems = sorted(self._problems, key=lambda problem: problem.line)
        return Scenario(self._file, catalog, tuple(self._jobs), tuple(problems), self._scenario)

    def _take_jobs(self, document: Document) -> None:
        if self._scenario is not None:
            self._problem(document, ("kind",), "a file has one Scenario, and this is another")
        self._scenario = self._scenario or document
        found, problems = entries(document)
        self._problems += problems
        names = {one.entry.name for one in self._jobs}
        for one in found:
            if one.entry.name in names:
                why = f"there is an entry {one.entry.name} before it"
                self._problem(document, (*one.place, "name"), why)
            names.add(one.entry.name)
        self._jobs += found

    def _take_object(self, kind: str, document: Document) -> None:
        if document.value.get("apiVersion") != API_VERSION:
            self._problem(document, ("apiVersion",), f"write apiVersion: {API_VERSION}")
        stored, flaws = admitted(kind, document.value)
        for flaw in flaws:
            self._problem(document, flaw.place, flaw.why)
        if flaws:
            return
        name = stored["metadata"]["name"]
        if (kind, name) in self._seen:
            self._problem(document, ("metadata", "name"), f"{kind} {name} is declared before it")
            return
        self._seen[kind, name] = document
        for flaw in self._declare(kind, name, _dated(stored)):
            self._problem(document, flaw.place, flaw.why)

    def _declare(self, kind: str, name: str, body: dict[str, Any]) -> Iterator[Flaw]:
        """Takes it in as the operator does; a flaw if the operator would not understand it."""
        match kind:
            case "Pool":
                self._pools[name] = value = declared.pool(body)
                if value.fault is not None:
                    yield Flaw(("spec",), value.fault)
            case "Lane":
                match declared.lane(body):
                    case Lane() as lane:
                        self._lanes[name] = lane
                    case declared.NotUnderstood(why):
                        yield Flaw(("spec",), why)
            case _:
                match declared.limit(body):
                    case Declared(limit) as found:
                        self._limits[name] = found
                        if isinstance(limit.bound, Closed):
                            yield Flaw(("spec",), limit.bound.why)
                    case declared.NotUnderstood(why):
                        yield Flaw(("spec",), why)

    def _look_for_places(self) -> None:
        """A Lane or Limit of what is not declared here would hold for nothing."""
        for name, lane in self._lanes.items():
            self._look(("Lane", name), "pool", lane.pool, self._pools)
        for name, found in self._limits.items():
            if found.pool is not None:
                self._look(("Limit", name), "pool", found.pool, self._pools)
            else:
                self._look(("Limit", name), "lane", found.limit.lane, self._lanes)

    def _look(self, whose: tuple[str, str], field: str, name: str, known: Iterable[str]) -> None:
        if name not in known:
            why = f"there is no {field.title()} {name} in this file"
            self._problem(self._seen[whose], ("spec", field), why)

    def _problem(self, document: Document, place: tuple[str | int, ...], why: str) -> None:
        self._problems.append(document.problem(place, why))


def _dated(stored: dict[str, Any]) -> dict[str, Any]:
    metadata = stored["metadata"]
    stamp = metadata.get("creationTimestamp") or LATEST
    return stored | {"metadata": metadata | {"creationTimestamp": stamp}}
