"""YAML documents: what kubectl takes is taken, and every problem has its line."""

import pytest

from kwicket.cli.documents import documents, path


def values(text: str) -> list[object]:
    found, problems = documents("f.yaml", text)
    assert problems == []
    return [document.value for document in found]


def test_a_file_has_several_documents_and_empty_ones_are_none() -> None:
    assert values("---\na: 1\n---\n# nothing\n---\nb: [x]\n---\n") == [{"a": 1}, {"b": ["x"]}]


def test_a_list_is_its_items() -> None:
    text = "kind: List\nitems:\n- kind: Pool\n- kind: Lane\n"
    assert values(text) == [{"kind": "Pool"}, {"kind": "Lane"}]
    found, _ = documents("f.yaml", text)
    assert str(found[1].problem(("kind",), "is odd")) == "f.yaml:4: document 1: kind: is odd"
    assert values("kind: List\n") == []


def test_keys_are_text_and_a_date_is_too() -> None:
    assert values("1: a\ntrue: b\nat: 2026-01-01\n") == [
        {"1": "a", "true": "b", "at": "2026-01-01"}
    ]


def test_anchors_and_merges_are_followed() -> None:
    text = "base: &b {x: 1, y: 2}\nmore: {<<: *b, y: 3}\n"
    assert values(text) == [{"base": {"x": 1, "y": 2}, "more": {"x": 1, "y": 3}}]


def test_a_place_has_the_line_of_its_key_or_of_what_is_nearest_above() -> None:
    [document], _ = documents("f.yaml", "---\nspec:\n  items:\n  - a: 1\n    b: 2\n  - a: 3\n")
    lines = {
        ("spec",): 2,
        ("spec", "items", 0, "b"): 5,
        ("spec", "items", 1, "a"): 6,
        ("spec", "items", 1, "c"): 6,
        ("spec", "items", 7): 3,
        ("other",): 2,
    }
    assert {place: document.problem(place, "").line for place in lines} == lines


def test_a_place_is_written_as_people_write_it() -> None:
    assert path(("spec", "priority", 0, "weight")) == "spec.priority[0].weight"
    assert path(()) == ""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3: document 1: a is written twice"),
        ("a: 1\n---\nb: [1\n", "f.yaml:4: document 2: is no YAML: expected ',' or ']'"),
        ("a: {b: 1}}\n", "f.yaml:1: document 0: "),
        ("a: 1\nb: !odd 2\n", "f.yaml:2: document 1: is no YAML: could not determine a constr"),
        ("a: 1\nb: \x07\n", "f.yaml:2: is no YAML: it has the character '\\x07'"),
        ("? [1, 2]\n: 3\n", "f.yaml:1: document 1: is no YAML: a key is text"),
        ("a: &a [*a]\n", "f.yaml:1: document 1: is no YAML: found unconstructable recursive"),
        ("a: *b\n", "f.yaml:1: document 1: is no YAML: found undefined alias"),
        ("[" * 5000, "f.yaml:1: document 1: is nested too deeply"),
    ],
)
def test_what_is_no_yaml_is_named_with_its_line(text: str, problem: str) -> None:
    _, [found] = documents("f.yaml", text)
    assert str(found).startswith(problem.replace(" document 0:", ""))


def test_what_stands_before_a_mistake_is_read() -> None:
    found, problems = documents("f.yaml", "a: 1\n---\nb: [1\n")
    assert [document.value for document in found] == [{"a": 1}]
    assert len(problems) == 1
