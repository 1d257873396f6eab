"""Declared objects into values: every field of the schemas, and never a rule that is loosened."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kwicket.core.catalog import Declared
from kwicket.core.leases import OnLapse, Terms
from kwicket.core.limits import Bound, Closed, Count, Jobs, Limit, Pods, Rate
from kwicket.core.pools import Charging, Lane, Pool
from kwicket.core.priority import Age, FairShare, Priority, Trait
from kwicket.core.selectors import Expression, Operator, Selector
from kwicket.kube.declared import NotUnderstood, lane, limit, pool

CRDS = Path(__file__).parents[2] / "crds"
CREATED = 1_793_607_330_000

HOSTILE: list[Any] = [None, 5, "text", [], [1], True, 1.5, {"a": {"b": 1}}]


def declared(spec: Any = ..., name: str = "gpu") -> dict[str, Any]:
    """The object with this spec, or without any."""
    metadata = {"name": name, "creationTimestamp": "2026-11-02T08:15:30Z", "generation": 1}
    return {"metadata": metadata} | ({} if spec is ... else {"spec": spec})


def fields(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every field below a schema, with its path."""
    for name, below in schema.get("properties", {}).items():
        yield f"{path}{name}", below
        yield from fields(below, f"{path}{name}.")
    if "items" in schema:
        yield from fields(schema["items"], path)


def schema(plural: str) -> dict[str, Any]:
    """The schema of a kind's spec."""
    crd = yaml.safe_load((CRDS / f"{plural}.yaml").read_text())
    [version] = crd["spec"]["versions"]
    spec: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return spec


FULL: dict[str, Any] = {
    "default": True,
    "namespaceSelector": {
        "matchLabels": {"team": "ml", "env": "prod"},
        "matchExpressions": [
            {"key": "a", "operator": "In", "values": ["1", "2"]},
            {"key": "b", "operator": "NotIn", "values": ["3"]},
            {"key": "c", "operator": "Exists"},
            {"key": "d", "operator": "DoesNotExist"},
        ],
    },
    "paused": True,
    "priority": [
        {"factor": "FairShare", "weight": 100},
        {"factor": "Age", "weight": 10, "fullAfter": "1h30m"},
        {"factor": "Trait", "weight": 5, "trait": "urgent"},
    ],
    "fairness": {"charge": "Time", "shares": [{"tenant": "alice", "share": 2}]},
    "lease": {"duration": "10m", "startWithin": "1m", "onLapse": "Hold", "redeliveries": 3},
}


def test_every_field_of_a_pool_is_read() -> None:
    assert pool(declared(FULL)) == Pool(
        name="gpu",
        created=CREATED,
        default=True,
        namespaces=Selector(
            (
                Expression("env", Operator.IN, ("prod",)),
                Expression("team", Operator.IN, ("ml",)),
                Expression("a", Operator.IN, ("1", "2")),
                Expression("b", Operator.NOT_IN, ("3",)),
                Expression("c", Operator.EXISTS),
                Expression("d", Operator.DOES_NOT_EXIST),
            )
        ),
        paused=True,
        priority=Priority((FairShare(100), Age(10, 5_400_000), Trait("urgent", 5))),
        charging=Charging.TIME,
        shares={"alice": 2},
        lease=Terms(600_000, 60_000, OnLapse.HOLD, 3),
    )


def test_the_pool_above_has_every_field_of_the_schema() -> None:
    said = {path for path, _ in fields(schema("pools"))}
    for path in said:
        here: list[Any] = [FULL]
        for name in path.split("."):
            here = [
                one[name]
                for value in here
                for one in (value if isinstance(value, list) else [value])
                if name in one
            ]
        assert here, path


def test_what_the_schema_defaults_to_is_what_is_read_of_an_object_without_it() -> None:
    defaults: dict[str, Any] = {}
    for path, below in fields(schema("pools")):
        *parents, name = path.split(".")
        here = defaults
        for parent in parents:
            here = here.get(parent, {})
        if "default" in below and isinstance(here, dict):
            here.setdefault(name, below["default"])
    assert defaults["priority"] == [{"factor": "FairShare", "weight": 1}]
    plain = Pool(name="gpu", created=CREATED)
    assert pool(declared(defaults)) == plain
    assert pool(declared({})) == plain
    assert pool(declared()) == plain


def test_an_age_is_full_after_half_an_hour_unless_said() -> None:
    spec = {"priority": [{"factor": "Age", "weight": 1}]}
    assert pool(declared(spec)).priority == Priority((Age(1, 1_800_000),))


@pytest.mark.parametrize("field", ["", "fairness", "namespaceSelector", "lease"])
def test_a_field_of_a_later_version_is_not_looked_at(field: str) -> None:
    news = {"news": {"deep": [1, {"x": None}]}}
    spec = {field: news} if field else news
    assert pool(declared(spec)) == Pool(name="gpu", created=CREATED)


@pytest.mark.parametrize(
    "spec",
    [
        {"lease": {"onLapse": "Kill"}},
        {"lease": {"duration": "soon"}},
        {"lease": {"redeliveries": "many"}},
        {"priority": [{"factor": "Random", "weight": 1}]},
        {"priority": [{"factor": "FairShare"}]},
        {"priority": [{"weight": 1}]},
        {"priority": [{"factor": "FairShare", "weight": "1"}]},
        {"priority": [{"factor": "FairShare", "weight": True}]},
        {"priority": [{"factor": "FairShare", "weight": -1}]},
        {"priority": [{"factor": "FairShare", "weight": 1_000_001}]},
        {"priority": [{"factor": "FairShare", "weight": 1}] * 2},
        {"priority": [{"factor": "Age", "weight": 1, "fullAfter": "1d"}]},
        {"priority": [{"factor": "Age", "weight": 1, "fullAfter": "0s"}]},
        {"priority": [{"factor": "Age", "weight": 1, "fullAfter": 30}]},
        {"priority": [{"factor": "Trait", "weight": 1}]},
        {"priority": [{"factor": "Trait", "weight": 1, "trait": "a"}] * 2},
        {"namespaceSelector": {"matchLabels": {"team": 5}}},
        {"namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "Gt"}]}},
        {"namespaceSelector": {"matchExpressions": [{"operator": "Exists"}]}},
        {"fairness": {"charge": "Money"}},
        {"fairness": {"shares": [{"tenant": "alice", "share": 0}]}},
        {"fairness": {"shares": [{"tenant": "alice", "share": 1001}]}},
        {"fairness": {"shares": [{"tenant": "alice", "share": "2"}]}},
        {"default": "yes"},
        {"paused": "false"},
        {"paused": 0},
        *({name: value} for name in ("priority", "fairness") for value in (None, 5, "x")),
    ],
)
def test_a_pool_that_is_not_understood_grants_nothing_and_says_why(spec: Any) -> None:
    read = pool(declared(spec))
    assert read.closed
    assert read.fault
    assert (read.name, read.created) == ("gpu", CREATED)


@pytest.mark.parametrize("spec", [value for value in HOSTILE if not isinstance(value, dict)])
def test_a_spec_that_is_no_object_is_not_understood(spec: Any) -> None:
    assert pool(declared(spec)).closed
    assert isinstance(lane(declared(spec)), NotUnderstood)
    assert isinstance(limit(declared(spec)), NotUnderstood)


def test_a_lane_names_its_pool() -> None:
    assert set(schema("lanes")["properties"]) == {"pool"}
    assert lane(declared({"pool": "big", "news": 1})) == Lane("gpu", "big")


@pytest.mark.parametrize(
    "spec", [..., {}, *({"pool": value} for value in HOSTILE if value != "text")]
)
def test_a_lane_without_a_pool_is_not_understood(spec: Any) -> None:
    assert isinstance(lane(declared(spec)), NotUnderstood)


def test_the_schema_of_a_limit_has_no_field_that_is_not_tested_here() -> None:
    bounds = ["concurrency", "concurrency.jobs", "concurrency.pods", "rate", "rate.starts"]
    said = {path for path, _ in fields(schema("limits"))}
    assert said == {"pool", "lane", "count", "rate.per", *bounds}


@pytest.mark.parametrize(
    ("fields", "bound"),
    [
        ({"concurrency": {"jobs": 0}}, Jobs(0)),
        ({"concurrency": {"jobs": 5, "news": 1}}, Jobs(5)),
        ({"concurrency": {"pods": 8}}, Pods(8)),
        ({"rate": {"starts": 10, "per": "1m"}}, Rate(10, 60_000)),
        ({"rate": {"starts": 10_000, "per": "24h"}}, Rate(10_000, 86_400_000)),
    ],
)
@pytest.mark.parametrize("count", list(Count))
def test_a_limit_covers_a_pool_or_a_lane(fields: Any, bound: Bound, count: Count) -> None:
    said = fields | {"count": str(count), "news": {}}
    assert limit(declared({"pool": "p"} | said)) == Declared(Limit("gpu", bound, "", count), "p")
    assert limit(declared({"lane": "l"} | said)) == Declared(Limit("gpu", bound, "l", count), None)


def test_a_limit_counts_all_together_unless_said() -> None:
    assert schema("limits")["properties"]["count"]["default"] == "Together"
    read = limit(declared({"pool": "p", "concurrency": {"jobs": 1}}))
    assert isinstance(read, Declared)
    assert read.limit.count is Count.TOGETHER


NOT_UNDERSTOOD: list[dict[str, Any]] = [
    {},
    {"concurrency": {}},
    {"concurrency": {"memory": 5}},
    {"concurrency": {"jobs": 1, "pods": 1}},
    {"concurrency": {"jobs": 1}, "rate": {"starts": 1, "per": "1m"}},
    {"concurrency": {"jobs": "1"}},
    {"concurrency": {"jobs": None}},
    {"concurrency": {"jobs": -1}},
    {"concurrency": {"jobs": True}},
    {"concurrency": {"pods": 1.5}},
    {"concurrency": 5},
    {"rate": {"starts": 1}},
    {"rate": {"per": "1m"}},
    {"rate": {"starts": 0, "per": "1m"}},
    {"rate": {"starts": 10_001, "per": "1m"}},
    {"rate": {"starts": 1, "per": "25h"}},
    {"rate": {"starts": 1, "per": "0s"}},
    {"rate": {"starts": 1, "per": "soon"}},
    {"rate": {"starts": 1, "per": 60}},
    {"rate": []},
    {"concurrency": {"jobs": 1}, "count": "EachNamespace"},
]


@pytest.mark.parametrize("fields", NOT_UNDERSTOOD)
def test_a_limit_that_is_not_understood_closes_what_it_covers(fields: Any) -> None:
    for place, where, covered in (({"pool": "p"}, "p", ""), ({"lane": "l"}, None, "l")):
        read = limit(declared(place | fields))
        assert isinstance(read, Declared)
        assert isinstance(read.limit.bound, Closed)
        assert read.limit.bound.why
        assert (read.pool, read.limit.lane) == (where, covered)


def test_a_limit_of_a_pool_and_a_lane_closes_the_whole_pool() -> None:
    read = limit(declared({"pool": "p", "lane": "l", "concurrency": {"jobs": 1}}))
    assert isinstance(read, Declared)
    assert isinstance(read.limit.bound, Closed)
    assert (read.pool, read.limit.lane) == ("p", "")


def test_a_limit_whose_pool_is_no_name_closes_its_lane() -> None:
    read = limit(declared({"pool": 5, "lane": "l", "concurrency": {"jobs": 1}}))
    assert isinstance(read, Declared)
    assert (read.pool, read.limit.lane) == (None, "l")


@pytest.mark.parametrize("place", [{}, {"pool": None}, {"pool": 5}, {"lane": ""}, {"lane": ["l"]}])
def test_a_limit_of_nothing_is_not_understood(place: Any) -> None:
    read = limit(declared(place | {"concurrency": {"jobs": 1}}))
    assert isinstance(read, NotUnderstood)
    assert read.why
