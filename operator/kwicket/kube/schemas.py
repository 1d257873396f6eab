"""What the API server makes of a Pool, Lane or Limit: defaults filled in, and all that is wrong.

The schemas are the definitions in crds/, which the wheel carries beside this file. Their rules in
CEL are said once more in Python, in `rules.py`.
"""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct

from kwicket.kube.objects import milliseconds_of
from kwicket.kube.rules import broken

type Place = tuple[str | int, ...]
"""Where a value stands in an object: names of fields, and positions in lists."""
type Schema = Mapping[str, Any]

API_VERSION = "kwicket.dev/v1alpha1"
KINDS = {"Pool": "pools", "Lane": "lanes", "Limit": "limits"}
"""What users declare, and its name in paths."""
DEFINED = KINDS | {"Ledger": "ledgers"}
"""The same, with what Kwicket itself keeps."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The parser in C, where PyYAML was built with it: an operator reads this when it starts."""
_METADATA = {
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
}
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_TYPES: dict[str, type] = {"object": dict, "array": list, "string": str, "boolean": bool}


class Flaw(Struct, frozen=True):
    """One thing that is wrong with an object, where, and what to write instead."""

    place: Place
    why: str


@lru_cache
def version_of(kind: str) -> Schema:
    """The version that the definition of a kind declares. Raises KeyError if there is none."""
    file = f"{DEFINED[kind]}.yaml"
    text = next(p / file for p in _folders() if (p / file).exists()).read_text()
    version: Schema
    [version] = yaml.load(text, _LOADER)["spec"]["versions"]  # noqa: S506 - both are safe ones
    return version


def schema_of(kind: str) -> Schema:
    """The schema of a kind. Raises KeyError if there is no definition of it."""
    schema: Schema = version_of(kind)["schema"]["openAPIV3Schema"]
    return schema


def _folders() -> Iterator[Path]:
    """Where the definitions are in the wheel, and in a checkout."""
    yield Path(__file__).parent / "crds"
    yield Path(__file__).parents[3] / "crds"


def admitted(kind: str, body: Mapping[str, Any]) -> tuple[dict[str, Any], list[Flaw]]:
    """The object as it would be stored, without its status, and all its flaws.

    Raises KeyError for a kind that is not in `KINDS`.
    """
    metadata = body.get("metadata")
    flaws = list(_flaws_of_metadata(metadata))
    rest = {key: v for key, v in body.items() if key not in ("apiVersion", "kind", "metadata")}
    rest.pop("status", None)
    stored = checked(schema_of(kind), rest, flaws, named=metadata)
    return stored | {"metadata": metadata}, flaws


def _flaws_of_metadata(metadata: object) -> Iterator[Flaw]:
    if not isinstance(metadata, Mapping):
        yield Flaw(("metadata",), "write metadata with a name")
        return
    for key in metadata:
        if key not in _METADATA:
            yield Flaw(("metadata", key), "unknown field")
    name = metadata.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > 253:
        yield Flaw(
            ("metadata", "name"),
            "write a name of at most 253 lower-case letters, digits, '-' and '.'",
        )
    if not _is_stamp(metadata.get("creationTimestamp") or "1970-01-01T00:00:00Z"):
        yield Flaw(("metadata", "creationTimestamp"), "write a moment, as 2026-11-02T08:15:30Z")


def _is_stamp(value: object) -> bool:
    try:
        return isinstance(value, str) and milliseconds_of(value) >= 0
    except ValueError:
        return False


def checked(schema: Schema, value: Any, flaws: list[Flaw], named: object = None) -> Any:
    """The value with defaults filled in; what is wrong with it is added to `flaws`.

    `named` is the metadata that rules on the whole object look at.
    """
    return _Check(flaws, named).value(schema, value, ())


class _Check:
    def __init__(self, flaws: list[Flaw], metadata: object) -> None:
        self._flaws = flaws
        self._metadata = metadata

    def value(self, schema: Schema, value: Any, place: Place) -> Any:
        """Bounds first; the rules only look at what is well formed."""
        before = len(self._flaws)
        if not self._typed(schema, value, place):
            return value
        match value:
            case dict():
                value = self._object(schema, value, place)
            case list():
                inner = enumerate(value)
                value = [self.value(schema["items"], v, (*place, n)) for n, v in inner]
        for why in _bounds(schema, value):
            self._flaw(place, why)
        if len(self._flaws) == before:
            whole = value if place else {**value, "metadata": self._metadata}
            for message in broken(schema.get("x-kubernetes-validations", ()), whole):
                self._flaw(place, message)
        return value

    def _typed(self, schema: Schema, value: Any, place: Place) -> bool:
        name = schema.get("type")
        if name is None:
            return True
        if name == "integer":
            right = isinstance(value, int) and not isinstance(value, bool)
        else:
            right = isinstance(value, _TYPES[name])
        if not right:
            article = "an" if name[0] in "aio" else "a"
            self._flaw(place, f"{value!r} is not {article} {name}")
        return right

    def _object(self, schema: Schema, value: dict[str, Any], place: Place) -> dict[str, Any]:
        """Its fields; one that is null counts as left out."""
        known, more = schema.get("properties", {}), schema.get("additionalProperties")
        for key in value:
            if key not in known and more is None:
                self._flaw((*place, key), f"unknown field; there are: {', '.join(sorted(known))}")
        said = {
            k: v for k, v in value.items() if v is not None and (k in known or more is not None)
        }
        unsaid = {k: s["default"] for k, s in known.items() if k not in said and "default" in s}
        said |= deepcopy(unsaid)
        for key in schema.get("required", ()):
            if key not in said:
                self._flaw((*place, key), "is required")
        return {k: self.value(known.get(k, more), v, (*place, k)) for k, v in said.items()}

    def _flaw(self, place: Place, why: str) -> None:
        self._flaws.append(Flaw(place, why))


def _bounds(schema: Schema, value: Any) -> Iterator[str]:
    if "enum" in schema and value not in schema["enum"]:
        yield f"{value!r} is none of {', '.join(schema['enum'])}"
    match value:
        case bool():
            pass
        case int():
            low, high = schema.get("minimum", value), schema.get("maximum", value)
            if not low <= value <= high:
                yield f"{value} is outside {low}..{high}"
        case str() if len(value) > schema.get("maxLength", len(value)):
            yield f"is longer than {schema['maxLength']} characters"
        case list():
            yield from _bounds_of_list(schema, value)
        case dict() if len(value) > schema.get("maxProperties", len(value)):
            yield f"has more than {schema['maxProperties']} entries"


def _bounds_of_list(schema: Schema, value: list[Any]) -> Iterator[str]:
    low, high = schema.get("minItems", 0), schema.get("maxItems", len(value))
    if not low <= len(value) <= high:
        yield f"has {len(value)} items, not {low} to {high}"
    keys = schema.get("x-kubernetes-list-map-keys", ())
    seen = set()
    for item in value if keys else ():
        key = tuple(item.get(k) for k in keys if isinstance(item, dict))
        if key in seen:
            yield f"has {', '.join(map(str, key))} twice"
        seen.add(key)
