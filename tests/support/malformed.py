"""Texts that are no manifest of a policy or a binding, each in one way, by what it is."""

from typing import Any

import yaml

_BINDING: dict[str, Any] = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": {"name": "kwicket-guard"},
    "spec": {"policyName": "kwicket-guard", "validationActions": ["Deny"]},
}
_WRONG: dict[str, list[Any]] = {
    "spec": [None, [], "x", 1, [{}]],
    "metadata": [None, [], "x", 1, {}],
    "kind": [None, [], 1, {"x": "y"}],
    "apiVersion": [None, [], 1],
    "spec.policyName": [None, [], 1, {}],
    "spec.validationActions": [None, "Deny", 1, {}, [1], [[]]],
    "metadata.name": [None, [], 1, ""],
}
_HEAD = "apiVersion: v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: x}\n"
_ALIASES = "".join(f"  - &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 20))
_TEXTS = {
    "without-a-spec": _HEAD,
    "with-an-empty-spec": f"{_HEAD}spec:\n",
    "with-a-list-for-a-key": f"{_HEAD}spec: {{? [a] : b}}\n",
    "that-has-itself-in-it": f"{_HEAD}spec: &x {{y: *x}}\n",
    "of-aliases-of-aliases": f"{_HEAD}spec:\n  x:\n  - &a0 [x]\n{_ALIASES}",
    "of-a-kind-alone": "kind: ValidatingAdmissionPolicy",
    "unclosed": "{unclosed",
    "of-words": "just text",
    "of-a-list": "- 1",
    "of-another-mapping": "a: b",
    "of-a-mapping-of-numbers": "1: 2",
    "of-a-number": "1",
    "of-a-set": "!!set {a, b}",
    "of-an-object-of-python": "!!python/object:x {}",
    "of-an-alias-of-nothing": "a: *b",
    "of-a-merge-of-nothing": "<<: 1",
    "of-a-byte-that-yaml-does-not-have": "\x00",
    "of-a-date-that-there-is-not": "2026-02-31",
    "of-a-number-that-is-none": "!!int x",
    "of-a-number-without-end": "9" * 5000,
    "of-mappings-in-mappings": "{a: " * 1500,
}


def _binding(field: str, value: Any) -> str:
    outer, _, inner = field.partition(".")
    return yaml.safe_dump(_BINDING | {outer: _BINDING[outer] | {inner: value} if inner else value})


MALFORMED = _TEXTS | {
    f"{field}-{number}": _binding(field, value)
    for field, values in _WRONG.items()
    for number, value in enumerate(values)
}
