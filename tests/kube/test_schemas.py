"""Objects as the API server would take them: the same verdicts as its own, in the same words."""

from collections.abc import Iterator
from typing import Any

import pytest

from e2e.crd_cases import BAD_LANES, BAD_LIMITS, BAD_POOLS, FULL_POOL, TOO_LONG, Case, lease, limit
from kwicket.kube.rules import test_of as rule_in_python
from kwicket.kube.schemas import KINDS, Flaw, Schema, admitted, schema_of

THE_API_SERVERS = (
    "unknown field",
    "Invalid value",
    "should have",
    "must ",
    "supported values",
    "Required value",
    "greater than",
    "less than",
    "or equal to",
    "may not be more",
    "Duplicate value",
)
"""Parts of refusals in the API server's own words; all others are messages of our rules."""
CHECKED = {
    "type",
    "description",
    "properties",
    "additionalProperties",
    "items",
    "required",
    "default",
    "enum",
    "format",
    "minimum",
    "maximum",
    "maxLength",
    "minItems",
    "maxItems",
    "maxProperties",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-validations",
}


def found(kind: str, spec: Any = ..., **metadata: Any) -> list[Flaw]:
    """The flaws of an object with this spec."""
    body = {"apiVersion": "kwicket.dev/v1alpha1", "kind": kind, "metadata": {"name": "probe"}}
    return admitted(kind, body | ({} if spec is ... else {"spec": spec}) | metadata)[1]


def within(schema: Schema) -> Iterator[Schema]:
    """A schema and all below it, without the status."""
    yield schema
    for name, below in schema.get("properties", {}).items():
        if name != "status":
            yield from within(below)
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from within(schema[key])


def cases(kind: str, table: list[Case]) -> list[Any]:
    return [pytest.param(kind, spec, said, id=f"{kind} {name}") for name, spec, said in table]


@pytest.mark.parametrize(
    ("kind", "spec", "said"),
    cases("Pool", BAD_POOLS) + cases("Lane", BAD_LANES) + cases("Limit", BAD_LIMITS),
)
def test_what_the_api_server_refuses_is_refused(kind: str, spec: Any, said: str) -> None:
    flaws = found(kind, spec)
    assert flaws
    if not any(phrase in said for phrase in THE_API_SERVERS):
        assert said in flaws[0].why


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("Pool", ...),
        ("Pool", {}),
        ("Pool", FULL_POOL),
        ("Lane", {"pool": "main"}),
        ("Limit", limit()),
        ("Limit", {"lane": "gpu", "count": "EachTenant", "rate": {"starts": 10, "per": "24h"}}),
        *[("Pool", lease(duration=d)) for d in ("10s", "90s", "1h30m", "1m1s", "24h", "86400s")],
    ],
)
def test_what_the_api_server_takes_is_taken(kind: str, spec: Any) -> None:
    assert found(kind, spec) == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_rule_of_the_definitions_is_said_in_python(kind: str) -> None:
    for schema in within(schema_of(kind)):
        for rule in schema.get("x-kubernetes-validations", ()):
            if "oldSelf" not in rule["rule"]:
                rule_in_python(" ".join(rule["rule"].split()))


@pytest.mark.parametrize("kind", KINDS)
def test_the_definitions_say_nothing_else_that_is_to_be_checked(kind: str) -> None:
    assert {keyword for schema in within(schema_of(kind)) for keyword in schema} <= CHECKED


def test_defaults_are_those_of_the_api_server() -> None:
    stored, flaws = admitted("Pool", {"metadata": {"name": "main"}})
    assert not flaws
    assert stored["spec"] == {
        "default": False,
        "paused": False,
        "priority": [{"factor": "FairShare", "weight": 1}],
        "fairness": {"charge": "Starts"},
        "lease": {
            "duration": "5m",
            "startWithin": "10m",
            "onLapse": "Redeliver",
            "redeliveries": 5,
        },
    }


def test_a_field_that_is_null_counts_as_left_out() -> None:
    stored, flaws = admitted("Limit", {"metadata": {"name": "x"}, "spec": limit(lane=None)})
    assert not flaws
    assert stored["spec"] == limit(count="Together")
    assert found("Lane", {"pool": None}) == [Flaw(("spec", "pool"), "is required")]


def test_a_flaw_says_where_it_is() -> None:
    spec = {"fairness": {"shares": [{"tenant": "a", "share": 1}, {"tenant": "b", "share": 0}]}}
    [flaw] = found("Pool", spec)
    assert flaw == Flaw(("spec", "fairness", "shares", 1, "share"), "0 is outside 1..1000")


def test_all_flaws_are_told_at_once() -> None:
    spec = {"paused": "yes", "weight": 1, "fairness": {"charge": "Money"}}
    assert {flaw.place[1] for flaw in found("Pool", spec)} == {"paused", "weight", "fairness"}


@pytest.mark.parametrize("kind", ["Pool", "Lane"])
def test_a_name_that_no_label_holds_is_refused(kind: str) -> None:
    spec = {"pool": "main"} if kind == "Lane" else {}
    [flaw] = found(kind, spec, metadata={"name": TOO_LONG})
    assert "at most 63 characters" in flaw.why
    assert found("Limit", limit(), metadata={"name": TOO_LONG}) == []


@pytest.mark.parametrize(
    ("metadata", "place"),
    [
        (None, ("metadata",)),
        ({}, ("metadata", "name")),
        ({"name": ""}, ("metadata", "name")),
        ({"name": "Main"}, ("metadata", "name")),
        ({"name": 5}, ("metadata", "name")),
        ({"name": "main", "label": {}}, ("metadata", "label")),
    ],
)
def test_metadata_must_name_the_object(metadata: Any, place: tuple[str, ...]) -> None:
    assert [flaw.place for flaw in found("Limit", limit(), metadata=metadata)] == [place]


def test_what_kubectl_get_shows_may_be_read_back() -> None:
    metadata = {
        "name": "main",
        "uid": "u",
        "resourceVersion": "7",
        "generation": 2,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
    }
    assert found("Pool", {}, metadata=metadata, status={"waiting": "many"}) == []
    assert [flaw.place for flaw in found("Pool", {}, spce={})] == [("spce",)]
