"""The document `kind: Scenario`: the Jobs of a simulation, entry by entry."""

import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from kwicket.cli.documents import Document, Problem
from kwicket.core.tickets import trait_value
from kwicket.kube.durations import milliseconds
from kwicket.kube.schemas import Flaw, Place, Schema, checked
from kwicket.sim.arrivals import Arrival

MOST_JOBS = 1_000_000
"""Of one entry."""

_WORD = r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
_NAME = r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?"
_MILLISECONDS = re.compile(r"([0-9]{1,12})ms")

_ENTRY: Schema = {
    "type": "object",
    "required": ["name", "tenant"],
    "properties": {
        "name": {"type": "string", "maxLength": 63},
        "tenant": {"type": "string", "maxLength": 63},
        "count": {"type": "integer", "minimum": 1, "maximum": MOST_JOBS, "default": 1},
        "at": {"type": "string", "default": "0s"},
        "every": {"type": "string", "default": "0s"},
        "runs": {"type": "string", "default": "10s"},
        "pool": {"type": "string"},
        "lane": {"type": "string"},
        "traits": {"type": "object", "additionalProperties": {}, "default": {}},
        "parallelism": {"type": "integer", "minimum": 0, "maximum": 2**31 - 1, "default": 1},
    },
}
SCENARIO: Schema = {
    "type": "object",
    "required": ["jobs"],
    "properties": {
        "apiVersion": {"type": "string", "enum": ["kwicket.dev/v1alpha1"]},
        "kind": {"type": "string"},
        "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
        "jobs": {"type": "array", "items": _ENTRY},
    },
}


class Entry(Struct, frozen=True):
    """One entry: its Jobs differ in number and moment only. Times in milliseconds."""

    name: str
    tenant: str
    count: int
    at: int
    every: int
    runs: int
    pool: str | None = None
    lane: str | None = None
    traits: tuple[tuple[str, str], ...] = ()
    parallelism: int = 1

    def arrivals(self) -> Iterator[Arrival]:
        """Its Jobs: NAME-0, NAME-1, …"""
        for number in range(self.count):
            yield Arrival(
                name=f"{self.name}-{number}",
                tenant=self.tenant,
                at=self.at + number * self.every,
                runs=self.runs,
                pool=self.pool,
                lane=self.lane,
                traits=self.traits,
                width=self.parallelism,
            )


class Placed(Struct, frozen=True):
    """An entry, and where it is written."""

    entry: Entry
    document: Document
    place: Place


def entries(document: Document) -> tuple[list[Placed], list[Problem]]:
    """The entries of a Scenario that can be read, and all that is wrong with it."""
    flaws: list[Flaw] = []
    value = checked(SCENARIO, document.value, flaws)
    found: list[Placed] = []
    jobs = value.get("jobs", ()) if isinstance(value, dict) else ()
    bad = {flaw.place[1] for flaw in flaws if flaw.place[:1] == ("jobs",) and flaw.place[1:]}
    for number, body in enumerate(jobs if isinstance(jobs, list) else ()):
        if number not in bad:
            entry = _entry(body, ("jobs", number), flaws)
            found += [Placed(entry, document, ("jobs", number))] if entry else []
    return found, [document.problem(flaw.place, flaw.why) for flaw in flaws]


def _entry(body: dict[str, Any], place: Place, flaws: list[Flaw]) -> Entry | None:
    before = len(flaws)
    times = {field: _duration(body, place, field, flaws) for field in ("at", "every", "runs")}
    for field, pattern in (("name", _NAME), ("tenant", _WORD)):
        if not re.fullmatch(pattern, body[field]):
            flaws.append(Flaw((*place, field), f"{body[field]!r} can't be the {field} of a Job"))
    traits = tuple((name, _label(value)) for name, value in sorted(body["traits"].items()))
    for name, text in traits:
        if trait_value(text) is None or not re.fullmatch(_WORD, name):
            why = f"{text!r} is no number from 0 to 1 with at most three decimals"
            flaws.append(Flaw((*place, "traits", name), why))
    if len(flaws) > before:
        return None
    return msgspec.convert(body | times | {"traits": traits}, Entry)


def _label(value: object) -> str:
    """As a label would say it."""
    return value if isinstance(value, str) else repr(value)


def _duration(body: dict[str, Any], place: Place, field: str, flaws: list[Flaw]) -> int:
    text = body[field]
    try:
        short = _MILLISECONDS.fullmatch(text)
        return int(short[1]) if short else milliseconds(text)
    except ValueError as error:
        flaws.append(Flaw((*place, field), str(error)))
        return 0
