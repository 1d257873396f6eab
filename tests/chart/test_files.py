"""The chart as files: what it carries equals its source, and its values leave no room for typos."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from support.chart import CHART, ROOT

PASSED_ON = {"nodeAffinity", "podAffinity", "podAntiAffinity", "global"}

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
    for key, inner in (schema.get("properties", {}) | schema.get("definitions", {})).items():
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


def test_the_documentation_says_which_helm_the_chart_is_tried_with() -> None:
    modules = (ROOT / "e2e" / "plane" / "modules" / "helm" / "go.mod").read_text()
    [version] = re.findall(r"helm\.sh/helm/v4 v(\S+)", modules)
    assert f"with Helm {version}," in (ROOT / "docs" / "install.md").read_text()


POLICIES = ["hold", "guard", "ledgers", "managed", "namespaces", "pods", "templates", "tenants"]


@pytest.mark.parametrize("name", POLICIES)
def test_each_policy_comes_with_its_binding(name: str) -> None:
    text = (CHART / "templates" / "policies" / f"{name}.yaml").read_text()
    policy, binding = re.findall(r"^kind: (\w+)\nmetadata:\n  name: ([\w-]+)$", text, re.MULTILINE)
    assert policy[1] == binding[1] == f"kwicket-{name}"
    assert binding[0] == f"{policy[0]}Binding"
    assert f"policyName: kwicket-{name}" in text
    assert "failurePolicy: Fail" in text
    assert text.count("{{- if .Values.policies.enforce }}\n---\n") == 1
    assert text.count("app.kubernetes.io/component: enforcement") == 1


def test_no_policy_is_missing_here() -> None:
    found = {path.stem for path in (CHART / "templates" / "policies").glob("*.yaml")}
    assert found == set(POLICIES)


def test_the_operator_is_told_of_every_policy() -> None:
    """By the names of their templates: Helm can't list the files of a chart's own folder."""
    text = (CHART / "templates" / "expected-policies.yaml").read_text()
    [listed] = re.findall(r"range list (.*?) }}", text)
    names = {path.stem for path in (CHART / "templates" / "policies").glob("*.yaml")}
    assert set(listed.replace('"', "").split()) == names
