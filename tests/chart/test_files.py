"""The chart as files: what it carries equals its source, and its values leave no room for typos."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
CHART = ROOT / "charts" / "kwicket"
PASSED_ON = {"nodeAffinity", "podAffinity", "podAntiAffinity", "global"}
ACTION = re.compile(r"{{-?.*?-?}}", re.DOTALL)

type Schema = dict[str, Any]


def values() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
    return loaded


def value_schema() -> Schema:
    loaded: Schema = json.loads((CHART / "values.schema.json").read_text())
    return loaded


def objects(schema: Schema, name: str = "") -> Iterator[tuple[str, Schema]]:
    if schema.get("type") == "object":
        yield name, schema
    for key, inner in schema.get("properties", {}).items():
        yield from objects(inner, key)
    if isinstance(schema.get("items"), dict):
        yield from objects(schema["items"], name)


def undocumented(data: dict[str, Any], schema: Schema, path: str = "") -> Iterator[str]:
    known = schema.get("properties", {})
    for key, value in data.items():
        if key not in known and schema.get("additionalProperties") is False:
            yield f"{path}.{key}"
        elif isinstance(value, dict):
            yield from undocumented(value, known.get(key, {}), f"{path}.{key}")


def test_the_chart_carries_the_definitions_byte_for_byte() -> None:
    """After a change in crds/: cp crds/*.yaml charts/kwicket/files/crds/"""
    source = {path.name: path.read_bytes() for path in (ROOT / "crds").glob("*.yaml")}
    copies = {path.name: path.read_bytes() for path in (CHART / "files" / "crds").iterdir()}
    assert copies == source


def test_a_misspelt_value_is_refused() -> None:
    """Every object of the schema is closed, but for those that Kubernetes or Helm define."""
    for name, schema in objects(value_schema()):
        if name not in PASSED_ON:
            assert schema.get("additionalProperties", True) is not True, name


def test_the_default_values_are_all_in_the_schema() -> None:
    assert list(undocumented(values(), value_schema())) == []
    assert values().keys() == value_schema()["properties"].keys() - {"global"}


def test_chart_and_package_have_one_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert f'version = "{chart["version"]}"' in (ROOT / "pyproject.toml").read_text()
    assert chart["appVersion"] == chart["version"]
    assert chart["kubeVersion"] == ">=1.34.0-0"


@pytest.mark.parametrize("path", sorted(CHART.glob("templates/**/*.yaml")), ids=lambda p: p.stem)
def test_templates_are_yaml_around_their_actions(path: Path) -> None:
    lines = (line for line in path.read_text().splitlines() if not line.strip().startswith("{{"))
    for document in yaml.safe_load_all(ACTION.sub("x", "\n".join(lines))):
        assert document is None or document.keys() >= {"apiVersion", "kind", "metadata"}


@pytest.mark.parametrize("name", ["hold", "guard", "tenants", "namespaces"])
def test_each_policy_comes_with_its_binding(name: str) -> None:
    text = (CHART / "templates" / "policies" / f"{name}.yaml").read_text()
    policy, binding = re.findall(r"^kind: (\w+)\nmetadata:\n  name: ([\w-]+)$", text, re.MULTILINE)
    assert policy[1] == binding[1] == f"kwicket-{name}"
    assert binding[0] == f"{policy[0]}Binding"
    assert f"policyName: kwicket-{name}" in text
    assert "failurePolicy: Fail" in text


def operator_rules() -> set[str]:
    text = (CHART / "templates" / "rbac.yaml").read_text()
    lines = (line for line in text.splitlines() if not line.strip().startswith("{{"))
    roles = yaml.safe_load_all("\n".join(lines).replace("{{ .Release.Namespace }}", "x"))
    [rules] = [r["rules"] for r in roles if r["metadata"]["name"] == "kwicket" and "rules" in r]
    return {
        f"{group}/{resource} {' '.join(rule['verbs'])}"
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def test_the_operator_may_do_this_and_nothing_else() -> None:
    assert operator_rules() == {
        "batch/jobs get list watch patch",
        "/pods get list watch",
        "/nodes get list watch",
        "/namespaces get list watch",
        "kwicket.dev/pools get list watch",
        "kwicket.dev/lanes get list watch",
        "kwicket.dev/limits get list watch",
        "kwicket.dev/pools/status patch",
        "kwicket.dev/lanes/status patch",
        "kwicket.dev/limits/status patch",
        "kwicket.dev/ledgers get list watch create update",
        "kwicket.dev/grants grant",
        "apiextensions.k8s.io/customresourcedefinitions list watch",
        "events.k8s.io/events create patch",
    }
