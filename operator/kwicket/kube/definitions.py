"""The definitions of Kwicket's kinds as this version has them, and what older ones lack. Pure.

A field that a definition does not know is dropped by the API server, without a word: a limit would
then not hold that an administrator wrote, or a ledger not keep what a decision rests on.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kwicket.kube.schemas import DEFINED, Schema, version_of

KEPT = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
"""Where the API server has the definitions."""
MOST_FIELDS = 3
"""Fields that a message names."""


def path_of(kind: str) -> str:
    """Where the API server has the definition of a kind."""
    return f"{KEPT}/{DEFINED[kind]}.kwicket.dev"


def lacking(kind: str, found: Mapping[str, Any] | None) -> str | None:
    """What the definition that the API server has lacks; None if nothing that this version needs.

    One that knows more, of a newer version, lacks nothing.
    """
    title = f"CustomResourceDefinition {DEFINED[kind]}.kwicket.dev"
    if found is None:
        return f"{title} is missing"
    wanted = version_of(kind)
    versions = {v["name"]: v for v in found["spec"]["versions"] if v.get("served")}
    if wanted["name"] not in versions:
        return f"{title} does not serve {wanted['name']}"
    have = versions[wanted["name"]]["schema"]["openAPIV3Schema"]
    fields = sorted(_unknown(wanted["schema"]["openAPIV3Schema"], have, ""))
    if not fields:
        return None
    more = f" and {len(fields) - MOST_FIELDS} more" if len(fields) > MOST_FIELDS else ""
    named = f"{', '.join(fields[:MOST_FIELDS])}{more}"
    return f"{title} does not know {named}, which the API server would drop"


def _unknown(wanted: Schema, have: Schema, place: str) -> Iterator[str]:
    """The fields that would be dropped; of those within such a field none is named."""
    if have.get("x-kubernetes-preserve-unknown-fields"):
        return
    known = have.get("properties", {})
    for name, schema in wanted.get("properties", {}).items():
        if name in known:
            yield from _unknown(schema, known[name], f"{place}.{name}")
        elif "additionalProperties" not in have:
            yield f"{place}.{name}"
    for within, sign in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(wanted.get(within), Mapping) and isinstance(have.get(within), Mapping):
            yield from _unknown(wanted[within], have[within], f"{place}{sign}")
