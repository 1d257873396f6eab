"""What the emergency exit's way back is made from: the ConfigMap names all that enforces."""

import copy
from typing import Any

import pytest
import yaml

from support.chart import NAMESPACE, Object, named, needs_helm, rendered

pytestmark = needs_helm

ENFORCING = ("PolicyBinding", "WebhookConfiguration")
HELMS = {
    "meta.helm.sh/release-name": "kwicket",
    "meta.helm.sh/release-namespace": NAMESPACE,
}
CASES = [
    ("1.37", ("mutation=Policy",)),
    ("1.37", ("mutation=Webhook",)),
    ("1.34", ()),
    ("1.34", ("webhook.enabled=false",)),
    ("1.37", ("certificates.certManager.enabled=true",)),
]


def enforcing(objects: Any) -> dict[tuple[str, str], Object]:
    found = (copy.deepcopy(made) for made in objects if made and made["kind"].endswith(ENFORCING))
    return {(made["kind"], made["metadata"]["name"]): made for made in found}


def told(version: str, *values: str) -> dict[str, str]:
    data: dict[str, str] = named(
        rendered(*values, version=version), "ConfigMap", "kwicket-policies"
    )["data"]
    return data


@pytest.mark.parametrize(("version", "values"), CASES)
def test_what_helm_has_switched_off_can_be_switched_on_by_the_config_map(
    version: str, values: tuple[str, ...]
) -> None:
    """The very objects that Helm would install, and marked as Helm's."""
    wanted = enforcing(rendered(*values, version=version))
    for made in wanted.values():
        made["metadata"]["annotations"] = made["metadata"].get("annotations", {}) | HELMS
    for more in ((), ("policies.enforce=false",)):
        text = told(version, *values, *more)["registrations"]
        assert enforcing(yaml.safe_load_all(text)) == wanted


@pytest.mark.parametrize("enforce", ["true", "false"])
def test_the_operator_is_told_of_all_bindings_and_whether_helm_wants_them(enforce: str) -> None:
    data = told("1.37", f"policies.enforce={enforce}")
    assert data["enforce"] == enforce
    texts = [text for name, text in data.items() if name.endswith(".yaml")]
    found = enforcing(body for text in texts for body in yaml.safe_load_all(text))
    wanted = {key for key in enforcing(rendered()) if key[0].endswith("PolicyBinding")}
    assert found.keys() == wanted


def test_without_enforcement_helm_installs_no_binding() -> None:
    found = enforcing(rendered("policies.enforce=false", "mutation=Webhook"))
    assert found.keys() == {("ValidatingWebhookConfiguration", "kwicket")}
