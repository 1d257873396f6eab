"""T8 and T28: what each policy and webhook is asked about, and that nobody gets out of it.

Whatever is added to the batch API, or to what the chart matches, has to be judged here first.
"""

import json
from importlib.resources import files
from typing import Any

import pytest

from support.chart import NEWER, OLDER, Object, needs_helm, rendered

pytestmark = needs_helm

WRITES = ("CREATE", "UPDATE")
MATCHED = {
    "kwicket-guard": ("batch/v1", ("jobs", "jobs/status"), WRITES),
    "kwicket-hold": ("batch/v1", ("jobs",), WRITES),
    "kwicket-ledgers": ("kwicket.dev/*", ("ledgers", "ledgers/*"), (*WRITES, "DELETE")),
    "kwicket-managed": ("batch/v1", ("jobs",), ("CREATE",)),
    "kwicket-namespaces": (
        "/v1",
        ("namespaces", "namespaces/status", "namespaces/finalize"),
        WRITES,
    ),
    "kwicket-pods": ("/v1", ("pods", "pods/*"), WRITES),
    "kwicket-templates": ("batch/v1", ("jobs",), WRITES),
    "kwicket-tenants": ("batch/v1", ("jobs", "jobs/status"), WRITES),
    "hold.kwicket.dev": ("batch/v1", ("jobs",), WRITES),
    "jobs.kwicket.dev": ("batch/v1", ("jobs",), ("CREATE",)),
    "objects.kwicket.dev": ("kwicket.dev/v1alpha1", ("pools", "lanes", "limits"), WRITES),
}
LABELLED = {"matchExpressions": [{"key": "kwicket.dev/tenant", "operator": "Exists"}]}
MANAGED = {"matchLabels": {"kwicket.dev/managed": "true"}}
SELECTED = {
    **{name: {"objectSelector": LABELLED} for name in ("kwicket-guard", "kwicket-hold")},
    **{name: {"objectSelector": LABELLED} for name in ("kwicket-pods", "kwicket-tenants")},
    **{name: {"objectSelector": LABELLED} for name in ("hold.kwicket.dev", "jobs.kwicket.dev")},
    "kwicket-managed": {"namespaceSelector": MANAGED},
}
"""By labels that are on the object for its own sake; a namespace is selected by what adds rules."""
ASKED = {
    "kwicket-templates": {"only-its-pods-carry-the-label"},
    "hold.kwicket.dev": {"not-the-operator", "something-changes"},
    "jobs.kwicket.dev": {"not-the-operator", "something-changes"},
}
"""The match conditions that there are; the guard has none."""
BATCH = {"Job", "CronJob", "JobList", "CronJobList"}
CASES = [
    *((version, "mutation=Auto") for version in (*OLDER, *NEWER)),
    ("1.37", "mutation=Webhook"),
]


def matching(version: str, value: str) -> dict[str, Object]:
    """Each policy and webhook by its name, its constraints beside all the rest."""
    found = {}
    for made in rendered(value, version=version):
        if made["kind"].endswith("AdmissionPolicy"):
            spec = made["spec"]
            constraints = spec["matchConstraints"] | {
                "rules": spec["matchConstraints"]["resourceRules"]
            }
            found[made["metadata"]["name"]] = spec | constraints
        elif made["kind"].endswith("WebhookConfiguration"):
            found |= {hook["name"]: hook for hook in made["webhooks"]}
    return found


def rule(constraints: Object) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The one rule there is: the version, the resources and the operations that it matches."""
    [only] = constraints["rules"]
    [group], [version] = only["apiGroups"], only["apiVersions"]
    return f"{group}/{version}", tuple(only["resources"]), tuple(only["operations"])


@pytest.mark.parametrize(("version", "value"), CASES)
def test_t08_each_policy_and_webhook_is_asked_about_what_the_table_says(
    version: str, value: str
) -> None:
    found = matching(version, value)
    assert {name: rule(one) for name, one in found.items()} == {
        name: matched for name, matched in MATCHED.items() if name in found
    }
    held = "kwicket-hold" if version in NEWER and "Auto" in value else "hold.kwicket.dev"
    other = {"kwicket-hold", "hold.kwicket.dev"} - {held}
    assert found.keys() == MATCHED.keys() - other


@pytest.mark.parametrize("version", [*OLDER, *NEWER])
def test_t08_a_kind_that_is_new_in_the_batch_api_is_noticed(version: str) -> None:
    folder = files("kubernetes_validate") / "kubernetes-json-schema" / f"v{version}.0-local"
    schemas = [json.loads(file.read_text()) for file in folder.iterdir() if "-batch" in file.name]
    kinds = [kind for one in schemas for kind in one.get("x-kubernetes-group-version-kind", [])]
    found = {(kind["version"], kind["kind"]) for kind in kinds if kind["group"] == "batch"}
    assert found == {("v1", kind) for kind in BATCH}


@pytest.mark.parametrize(("version", "value"), CASES)
def test_t28_nothing_exempts_a_namespace_or_a_user_from_a_policy(version: str, value: str) -> None:
    for name, one in matching(version, value).items():
        selectors = {key: one[key] for key in ("namespaceSelector", "objectSelector") if key in one}
        assert selectors == SELECTED.get(name, {}), name
        assert "excludeResourceRules" not in one, name
        assert one.get("matchPolicy", "Equivalent") == "Equivalent", name
        conditions = {condition["name"] for condition in one.get("matchConditions", [])}
        assert conditions == ASKED.get(name, set()), name
        if name.startswith("kwicket-"):
            assert one["failurePolicy"] == "Fail", name


@pytest.mark.parametrize(("version", "value"), CASES)
def test_t28_each_policy_is_bound_everywhere(version: str, value: str) -> None:
    bindings = [o for o in rendered(value, version=version) if o["kind"].endswith("PolicyBinding")]
    bound: dict[str, Any] = {one["metadata"]["name"]: one["spec"] for one in bindings}
    policies = {name for name in matching(version, value) if name.startswith("kwicket-")}
    assert bound.keys() == policies
    for name, spec in bound.items():
        denies = {} if name == "kwicket-hold" else {"validationActions": ["Deny"]}
        assert spec == {"policyName": name} | denies
