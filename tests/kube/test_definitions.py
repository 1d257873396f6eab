"""What an installed definition lacks of what this version writes."""

from collections.abc import Callable
from typing import Any

import pytest

from kwicket.kube.definitions import lacking, path_of
from kwicket.kube.schemas import DEFINED
from support.policies import definitions

type Body = dict[str, Any]


@pytest.fixture
def installed() -> dict[str, Body]:
    """The definitions by kind."""
    return {body["spec"]["names"]["kind"]: body for body in definitions()}


def schema(body: Body) -> Body:
    """The schema of its only version."""
    [version] = body["spec"]["versions"]
    found: Body = version["schema"]["openAPIV3Schema"]
    return found


def test_every_definition_of_this_version_lacks_nothing(installed: dict[str, Body]) -> None:
    assert installed.keys() == DEFINED.keys()
    assert [lacking(kind, installed[kind]) for kind in DEFINED] == [None] * 4
    assert path_of("Pool").endswith("/customresourcedefinitions/pools.kwicket.dev")


def test_one_that_is_missing_is_named() -> None:
    assert lacking("Pool", None) == "CustomResourceDefinition pools.kwicket.dev is missing"


def drops_a_field_of_the_spec(pool: Body) -> str:
    del schema(pool)["properties"]["spec"]["properties"]["paused"]
    return ".spec.paused"


def drops_one_of_the_status(pool: Body) -> str:
    del schema(pool)["properties"]["status"]["properties"]["waiting"]
    return ".status.waiting"


def drops_a_field_of_items(pool: Body) -> str:
    spec = schema(pool)["properties"]["spec"]["properties"]
    del spec["priority"]["items"]["properties"]["trait"]
    return ".spec.priority[].trait"


@pytest.mark.parametrize(
    "spoil", [drops_a_field_of_the_spec, drops_one_of_the_status, drops_a_field_of_items]
)
def test_a_field_that_it_would_drop_is_named(
    installed: dict[str, Body], spoil: Callable[[Body], str]
) -> None:
    field = spoil(installed["Pool"])
    told = lacking("Pool", installed["Pool"])
    named = f"does not know {field}, which the API server would drop"
    assert told == f"CustomResourceDefinition pools.kwicket.dev {named}"


def test_of_many_fields_only_some_are_named(installed: dict[str, Body]) -> None:
    schema(installed["Ledger"])["properties"]["spec"]["properties"] = {}
    told = lacking("Ledger", installed["Ledger"])
    assert told is not None
    assert told.endswith(" more, which the API server would drop")
    assert told.count(".spec.") == 3


def test_one_that_keeps_fields_that_it_does_not_know_drops_none(
    installed: dict[str, Body],
) -> None:
    spec = schema(installed["Ledger"])["properties"]["spec"]
    spec |= {"properties": {}, "x-kubernetes-preserve-unknown-fields": True}
    assert lacking("Ledger", installed["Ledger"]) is None


def test_one_of_a_newer_version_lacks_nothing(installed: dict[str, Body]) -> None:
    schema(installed["Pool"])["properties"]["spec"]["properties"]["later"] = {"type": "string"}
    newer = {"name": "v1", "served": True, "schema": {"openAPIV3Schema": {}}}
    installed["Pool"]["spec"]["versions"].append(newer)
    assert lacking("Pool", installed["Pool"]) is None


def test_one_that_does_not_serve_this_version_is_named(installed: dict[str, Body]) -> None:
    installed["Pool"]["spec"]["versions"][0]["served"] = False
    told = lacking("Pool", installed["Pool"])
    assert told == "CustomResourceDefinition pools.kwicket.dev does not serve v1alpha1"
