"""The CEL rules of the definitions in crds/, in Python: for objects that no API server has seen.

A rule is found by its text, so a rule that is changed or added there must be said here too; a test
compares. Rules on an update (`oldSelf`) don't apply to what is new.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from kwicket.kube.durations import milliseconds

type Test = Callable[[Any], bool]

_MATCHES = re.compile(r"self\.matches\('([^']*)'\)")
_DURATION = re.compile(
    r"self != '' && self\.matches\('([^']*)'\) &&"
    r" duration\(self\) >= duration\('(\w+)'\) && duration\(self\) <= duration\('(\w+)'\)"
)
_KEYS = re.compile(r"self\.all\(k, k\.matches\('([^']*)'\)\)")


def broken(rules: Iterable[Mapping[str, str]], value: Any) -> Iterator[str]:
    """The messages of the rules that do not hold. Raises KeyError for a rule not said here."""
    for rule in rules:
        text = " ".join(rule["rule"].split())
        if "oldSelf" not in text and not test_of(text)(value):
            yield rule["message"]


def test_of(rule: str) -> Test:
    """What a rule asks of a value. Raises KeyError for a rule not said here."""
    if found := _MATCHES.fullmatch(rule):
        return _matches(found[1])
    if found := _DURATION.fullmatch(rule):
        return _between(*found.groups())
    if found := _KEYS.fullmatch(rule):
        matches = _matches(found[1])
        return lambda value: all(matches(key) for key in value)
    return _RULES[rule]


def _matches(pattern: str) -> Test:
    return lambda text: re.fullmatch(pattern, text) is not None


def _between(pattern: str, low: str, high: str) -> Test:
    matches, least, most = _matches(pattern), milliseconds(low), milliseconds(high)
    return lambda text: text != "" and matches(text) and least <= milliseconds(text) <= most


def _one_of(first: str, second: str) -> Test:
    return lambda value: (first in value) != (second in value)


def _at_most_one(factor: str) -> Test:
    return lambda items: sum(item["factor"] == factor for item in items) <= 1


def _each_trait_once(items: list[dict[str, Any]]) -> bool:
    traits = [item["trait"] for item in items if "trait" in item]
    return len(set(traits)) == len(traits)


def _only_with(factor: str, field: str) -> Test:
    return lambda item: item["factor"] == factor or field not in item


_RULES: dict[str, Test] = {
    "size(self.metadata.name) <= 63": lambda whole: len(whole["metadata"]["name"]) <= 63,
    "has(self.pool) != has(self.lane)": _one_of("pool", "lane"),
    "has(self.concurrency) != has(self.rate)": _one_of("concurrency", "rate"),
    "has(self.jobs) != has(self.pods)": _one_of("jobs", "pods"),
    "!(self.operator in ['In', 'NotIn']) || (has(self.values) && self.values.size() > 0)": (
        lambda item: item["operator"] not in ("In", "NotIn") or bool(item.get("values"))
    ),
    "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) ||"
    " self.values.size() == 0": (
        lambda item: item["operator"] not in ("Exists", "DoesNotExist") or not item.get("values")
    ),
    "self.filter(p, p.factor == 'FairShare').size() <= 1": _at_most_one("FairShare"),
    "self.filter(p, p.factor == 'Age').size() <= 1": _at_most_one("Age"),
    "self.all(p, !has(p.trait) ||"
    " self.filter(q, has(q.trait) && q.trait == p.trait).size() == 1)": _each_trait_once,
    "self.factor != 'Trait' || has(self.trait)": (
        lambda item: item["factor"] != "Trait" or "trait" in item
    ),
    "self.factor == 'Trait' || !has(self.trait)": _only_with("Trait", "trait"),
    "self.factor == 'Age' || !has(self.fullAfter)": _only_with("Age", "fullAfter"),
}
