"""What counts as a changed policy: whatever admits more or less, and nothing that is only said."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from kwicket.kube.policies import PLURALS, Policy, difference, enforces, policies
from support.malformed import MALFORMED
from support.policies import bodies, path_of, stored, texts

type Body = dict[str, Any]


def expected(name: str = "kwicket-guard", *, binding: bool = False) -> Policy:
    found = policies(texts().values())
    return next(p for p in found if p.name == name and p.kind.endswith("Binding") is binding)


def body_of(name: str = "kwicket-guard", *, binding: bool = False) -> Body:
    found = (b for b in bodies() if b["metadata"]["name"] == name)
    return stored(next(b for b in found if b["kind"].endswith("Binding") is binding))


def test_every_policy_of_the_chart_is_expected() -> None:
    found = policies(texts().values())
    assert len(found) == len(bodies()) >= 8
    assert {p.kind for p in found} == set(PLURALS)
    assert enforces(found)
    for policy, body in zip(found, bodies(), strict=True):
        assert policy.path == f"{path_of(body)}/{policy.name}"


@pytest.mark.parametrize("body", bodies(), ids=lambda b: f"{b['kind']}-{b['metadata']['name']}")
def test_what_the_api_server_fills_in_is_no_change(body: Body) -> None:
    [policy] = [p for p in policies(texts().values()) if p.title == title(body)]
    assert difference(policy, stored(body)) is None


def title(body: Body) -> str:
    return f"{body['kind']} {body['metadata']['name']}"


def test_what_is_not_there_is_missing() -> None:
    sentence = "ValidatingAdmissionPolicyBinding kwicket-guard is missing"
    assert difference(expected(binding=True), None) == sentence


def fails_open(spec: Body) -> None:
    spec["failurePolicy"] = "Ignore"


def leaves_a_rule_out(spec: Body) -> None:
    del spec["validations"][0]


def has_no_rules(spec: Body) -> None:
    del spec["validations"]


def allows_all(spec: Body) -> None:
    spec["validations"][1]["expression"] = "true"


def has_another_variable(spec: Body) -> None:
    spec["variables"][2]["expression"] = "true"


def leaves_out_a_namespace(spec: Body) -> None:
    names = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["team"]}
    spec["matchConstraints"]["namespaceSelector"] = {"matchExpressions": [names]}


def leaves_out_a_status(spec: Body) -> None:
    spec["matchConstraints"]["resourceRules"][0]["resources"].remove("jobs/status")


def leaves_out_updates(spec: Body) -> None:
    spec["matchConstraints"]["resourceRules"][0]["operations"] = ["CREATE"]


def excludes_jobs(spec: Body) -> None:
    rules = spec["matchConstraints"]["resourceRules"]
    spec["matchConstraints"]["excludeResourceRules"] = copy.deepcopy(rules)


def names_one_job(spec: Body) -> None:
    spec["matchConstraints"]["resourceRules"][0]["resourceNames"] = ["x-1"]


def asks_for_a_condition(spec: Body) -> None:
    spec["matchConditions"] = [{"name": "never", "expression": "false"}]


def matches_exactly(spec: Body) -> None:
    spec["matchConstraints"]["matchPolicy"] = "Exact"


def asks_for_parameters(spec: Body) -> None:
    spec["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}


@pytest.mark.parametrize(
    ("weaken", "said"),
    [
        (fails_open, "spec.failurePolicy is 'Ignore', not 'Fail'"),
        (leaves_a_rule_out, "spec.validations has 9 entries, not 10"),
        (has_no_rules, "spec.validations was taken out"),
        (allows_all, "spec.validations[1].expression is 'true', not"),
        (has_another_variable, "spec.variables[2].expression is 'true', not another text"),
        (leaves_out_a_namespace, "spec.matchConstraints.namespaceSelector was added"),
        (leaves_out_a_status, "spec.matchConstraints.resourceRules[0].resources has 1 entries"),
        (leaves_out_updates, "spec.matchConstraints.resourceRules[0].operations has 1 entries"),
        (excludes_jobs, "spec.matchConstraints.excludeResourceRules was added"),
        (names_one_job, "spec.matchConstraints.resourceRules[0].resourceNames was added"),
        (asks_for_a_condition, "spec.matchConditions was added"),
        (matches_exactly, "spec.matchConstraints.matchPolicy is 'Exact', not 'Equivalent'"),
        (asks_for_parameters, "spec.paramKind was added"),
    ],
)
def test_what_weakens_a_policy_is_a_change(weaken: Callable[[Body], None], said: str) -> None:
    body = body_of()
    count = len(body["spec"]["validations"])
    weaken(body["spec"])
    said = said.replace("has 9 entries, not 10", f"has {count - 1} entries, not {count}")
    sentence = difference(expected(), body)
    assert sentence is not None
    assert sentence.startswith(f"ValidatingAdmissionPolicy kwicket-guard was changed: {said}")


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("validationActions", ["Audit"], "is ['Audit'], not ['Deny']"),
        ("validationActions", ["Warn", "Audit"], "is ['Warn', 'Audit'], not ['Deny']"),
        ("policyName", "another", "is 'another', not 'kwicket-guard'"),
        ("matchResources", {"namespaceSelector": {"matchLabels": {"a": "b"}}}, "was added"),
        ("paramRef", {"name": "x", "parameterNotFoundAction": "Allow"}, "was added"),
    ],
)
def test_what_weakens_a_binding_is_a_change(field: str, value: object, said: str) -> None:
    body = body_of(binding=True)
    body["spec"][field] = value
    kind = "ValidatingAdmissionPolicyBinding kwicket-guard"
    sentence = difference(expected(binding=True), body)
    assert sentence == f"{kind} was changed: spec.{field} {said}"


def test_a_binding_may_do_more_than_deny() -> None:
    body = body_of(binding=True)
    body["spec"]["validationActions"] = ["Audit", "Deny"]
    assert difference(expected(binding=True), body) is None


def test_a_mutation_that_was_changed_is_a_change() -> None:
    body = body_of("kwicket-hold")
    body["spec"]["mutations"][0]["applyConfiguration"]["expression"] = "Object{}"
    assert "spec.mutations[0].applyConfiguration" in str(difference(expected("kwicket-hold"), body))


def test_what_is_only_said_is_no_change() -> None:
    body = body_of()
    for rule in body["spec"]["validations"]:
        rule["message"] = "no"
        rule.pop("messageExpression", None)
        rule["reason"] = "Invalid"
    body["spec"]["auditAnnotations"] = [{"key": "a", "valueExpression": "'b'"}]
    body["metadata"]["labels"] = {"team": "security"}
    assert difference(expected(), body) is None


def test_a_field_that_only_a_newer_kubernetes_fills_in_is_no_change() -> None:
    body = body_of()
    body["spec"]["evaluation"] = "Strict"
    body["spec"]["matchConstraints"]["depth"] = 1
    assert difference(expected(), body) is None


def test_an_object_without_a_spec_is_a_change() -> None:
    assert difference(expected(), {"metadata": {}}) is not None


@pytest.mark.parametrize("actions", [[], ["Audit"], ["Warn"]])
def test_a_chart_whose_guard_denies_nothing_has_switched_enforcement_off(
    actions: list[str],
) -> None:
    found = [p for p in policies(texts().values()) if p.kind != "ValidatingAdmissionPolicyBinding"]
    assert not enforces(found)
    spec = {"policyName": "kwicket-guard", "validationActions": actions}
    version = "admissionregistration.k8s.io/v1"
    loose = Policy(version, "ValidatingAdmissionPolicyBinding", "kwicket-guard", spec)
    assert not enforces([*found, loose])


def test_documents_of_other_kinds_are_left_out() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n---\n\n"
    assert policies([text, "\n"]) == ()


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED)
def test_a_text_that_is_no_manifest_of_policies_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not understood") as refused:
        policies([text])
    assert len(str(refused.value)) < 500


def test_a_spec_of_another_shape_than_the_api_servers_differs() -> None:
    """Also where its keys are of several types, which YAML allows."""
    odd = Policy("v1", "MutatingAdmissionPolicy", "odd", {"a": {True: 1, 2: [], "b": None}})
    specs: list[Any] = [None, [], 1, {}, {"a": []}, {"a": {"c": 1}}]
    for spec in specs:
        said = str(difference(odd, {"spec": spec}))
        assert said.startswith("MutatingAdmissionPolicy odd was changed: spec")
