"""The policies as the chart has them, and how those that the API server has differ. Pure.

The chart renders its policies once more into a ConfigMap, from the same templates and values. So
nobody says their texts twice, and an upgrade changes both together.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
import yaml
from msgspec import Meta, Struct

PLURALS = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
}
GUARD = "kwicket-guard"
"""The policy without which any tenant could start a Job; where it is not bound, nothing is in
force."""

MOST_SAID = 300
"""Characters of an error that are told."""

_DEFAULTS = {"failurePolicy": "Fail", "matchPolicy": "Equivalent", "scope": "*"}
"""What the API server writes into fields that were left out."""
_ONLY_WORDS = {"message", "messageExpression", "reason", "auditAnnotations"}
"""Fields that change what is said, not what is admitted."""
_KNOWN = {
    *("paramKind", "matchConstraints", "matchConditions", "failurePolicy", "validations"),
    *("variables", "mutations", "reinvocationPolicy", "policyName", "paramRef", "matchResources"),
    *("namespaceSelector", "objectSelector", "matchPolicy", "resourceRules", "scope"),
    *("excludeResourceRules", "resourceNames", "matchLabels", "matchExpressions", "values"),
}
"""Fields that weaken or widen a policy if somebody adds them. One that only a newer Kubernetes has,
and fills in by itself, is none of them."""


class Policy(Struct, frozen=True):
    """A policy or a binding as the chart has it."""

    version: str
    """Its apiVersion."""
    kind: str
    name: str
    spec: dict[str, Any]

    @property
    def path(self) -> str:
        """Where the API server has it."""
        return f"/apis/{self.version}/{PLURALS[self.kind]}/{quote(self.name, safe='')}"

    @property
    def title(self) -> str:
        """Kind and name, as people say it."""
        return f"{self.kind} {self.name}"


class _Loader(yaml.SafeLoader):
    """Knows no aliases: a few lines of them are a text without end."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise ValueError("it has an alias")
        return super().compose_node(parent, index)


class _Metadata(Struct):
    name: Annotated[str, Meta(min_length=1)]


class _Body(Struct, rename="camel"):
    kind: str
    api_version: str
    metadata: _Metadata
    spec: dict[str, Any] | None = None


class _Spec(Struct, rename="camel"):
    """What is looked at by name."""

    policy_name: str = ""
    validation_actions: list[str] = []


def policies(texts: Iterable[str]) -> tuple[Policy, ...]:
    """The policies and bindings in some YAML. Raises ValueError if it can't be understood."""
    try:
        bodies = [body for text in texts for body in yaml.load_all(text, _Loader)]
        found = [msgspec.convert(body, _Body) for body in bodies if body is not None]
    except (yaml.YAMLError, ValueError, TypeError, LookupError, RecursionError) as error:
        raise ValueError(f"it is not understood: {repr(error)[:MOST_SAID]}") from error
    return tuple(_policy(body) for body in found if body.kind in PLURALS)


def _policy(body: _Body) -> Policy:
    """Raises ValueError for a spec that isn't there, or of other types than the chart's."""
    policy = Policy(body.api_version, body.kind, body.metadata.name, body.spec or {})
    try:
        msgspec.convert(body.spec, _Spec)
    except ValueError as error:
        raise ValueError(f"{policy.title} is not understood: {error}") from error
    return policy


def enforces(expected: Iterable[Policy]) -> bool:
    """Whether anything is enforced once these are there."""
    kind = "ValidatingAdmissionPolicyBinding"
    guards = (p.spec for p in expected if p.kind == kind and p.spec.get("policyName") == GUARD)
    return any("Deny" in spec.get("validationActions", ()) for spec in guards)


def difference(policy: Policy, found: Mapping[str, Any] | None) -> str | None:
    """What is wrong with the object as the API server has it; None if it does what it should."""
    if found is None:
        return f"{policy.title} is missing"
    wrong = next(_differences(policy.spec, found.get("spec"), "spec"), None)
    return f"{policy.title} was changed: {wrong}" if wrong else None


def _differences(wanted: Any, found: Any, place: str) -> Iterator[str]:
    if isinstance(wanted, dict) and isinstance(found, dict):
        yield from _in_fields(wanted, found, place)
    elif place == "spec.validationActions":
        if not set(wanted) <= set(found or ()):
            yield f"{place} is {found}, not {wanted}"
    elif isinstance(wanted, list) and isinstance(found, list):
        if len(wanted) != len(found):
            yield f"{place} has {len(found)} entries, not {len(wanted)}"
        for number, (one, other) in enumerate(zip(wanted, found, strict=False)):
            yield from _differences(one, other, f"{place}[{number}]")
    elif wanted != found:
        yield f"{place} is {_shown(found)}, not {_shown(wanted)}"


def _in_fields(wanted: Mapping[str, Any], found: Mapping[str, Any], place: str) -> Iterator[str]:
    for field in sorted((wanted.keys() | (found.keys() & _KNOWN)) - _ONLY_WORDS, key=str):
        here, there = _said(wanted, field), _said(found, field)
        if here is None and there is not None:
            yield f"{place}.{field} was added"
        elif here is not None and there is None:
            yield f"{place}.{field} was taken out"
        else:
            yield from _differences(here, there, f"{place}.{field}")


def _said(fields: Mapping[str, Any], field: str) -> Any:
    """A field's value; None if it says no more than a missing one does."""
    value = fields.get(field, _DEFAULTS.get(field))
    return None if value in ({}, [], None) else value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else "another text"
