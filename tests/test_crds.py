"""The schemas in crds/: every field is described, and nothing in them is unbounded."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

CRDS = Path(__file__).parents[1] / "crds"
KINDS = {"pools": "kwp", "lanes": "kwla", "limits": "kwli", "ledgers": "kwle"}

type Schema = dict[str, Any]


def definition(plural: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((CRDS / f"{plural}.yaml").read_text())
    return loaded


def root(plural: str) -> Schema:
    [version] = definition(plural)["spec"]["versions"]
    schema: Schema = version["schema"]["openAPIV3Schema"]
    return schema


def fields(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from fields(inner, f"{path}.{name}")
    if "items" in schema:
        yield from fields(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        yield from fields(schema["additionalProperties"], f"{path}{{}}")


def bounded(schema: Schema) -> bool:
    match schema["type"]:
        case "string":
            return "maxLength" in schema or "enum" in schema or schema.get("format") == "date-time"
        case "integer":
            return {"minimum", "maximum", "format"} <= schema.keys()
        case "array":
            return {"maxItems", "x-kubernetes-list-type"} <= schema.keys()
        case "object":
            return "properties" in schema or "maxProperties" in schema
        case "boolean":
            return True
        case _:
            return False


@pytest.mark.parametrize("plural", KINDS)
def test_every_field_is_described(plural: str) -> None:
    bare = [path for path, schema in fields(root(plural)) if not schema.get("description")]
    assert bare == []


@pytest.mark.parametrize("plural", KINDS)
def test_every_field_is_bounded(plural: str) -> None:
    """Strings, numbers and lists have an end, and no object takes fields nobody named."""
    loose = [path for path, schema in fields(root(plural)) if not bounded(schema)]
    assert loose == []


@pytest.mark.parametrize("plural", KINDS)
def test_every_rule_has_a_message(plural: str) -> None:
    for path, schema in fields(root(plural)):
        for rule in schema.get("x-kubernetes-validations", []):
            assert rule.get("message"), path


@pytest.mark.parametrize(("plural", "short"), KINDS.items())
def test_names_follow_the_house(plural: str, short: str) -> None:
    crd = definition(plural)
    names = crd["spec"]["names"]
    [version] = crd["spec"]["versions"]
    assert crd["metadata"]["name"] == f"{plural}.kwicket.dev"
    assert crd["spec"]["scope"] == "Cluster"
    assert names["plural"] == plural
    assert names["shortNames"] == [short]
    assert names["categories"] == ["kwicket"]
    assert version["name"] == "v1alpha1"
    assert version["subresources"] == {"status": {}}


@pytest.mark.parametrize("plural", KINDS)
def test_columns_are_few_and_age_is_last(plural: str) -> None:
    [version] = definition(plural)["spec"]["versions"]
    columns = version["additionalPrinterColumns"]
    assert sum(column.get("priority", 0) == 0 for column in columns) <= 6
    assert columns[-1]["name"] == "Age"


def test_the_definitions_survive_an_uninstall() -> None:
    """Removing a definition removes every Pool, so Helm is told to keep them."""
    for plural in KINDS:
        annotations = definition(plural)["metadata"]["annotations"]
        assert annotations["helm.sh/resource-policy"] == "keep"


def test_there_is_no_fifth_definition() -> None:
    assert {path.stem for path in CRDS.iterdir()} == set(KINDS)


def test_the_api_server_adds_nothing_to_a_ledger_that_an_operator_may_not_know() -> None:
    """What it adds stands in every Ledger, and an older operator stands back from it."""
    added = {
        path.rsplit(".", 1)[-1] for path, schema in fields(root("ledgers")) if "default" in schema
    }
    assert added == {"charging", "lane"}
