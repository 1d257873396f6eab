"""The README names every field, label, annotation and reason."""

from pathlib import Path

import pytest
import yaml

from kwicket.core.reasons import SENTENCES, Reason
from kwicket.kube import objects

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def fields(kind: str) -> list[str]:
    """The fields of a kind's spec, two levels deep where it groups."""
    definition = yaml.safe_load((ROOT / "crds" / f"{kind}.yaml").read_text())
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return sorted(schema["properties"]["spec"]["properties"])


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_is_in_the_readme_and_has_a_sentence(reason: Reason) -> None:
    assert f"`{reason}`" in README
    assert SENTENCES[reason]


@pytest.mark.parametrize("kind", ["pools", "lanes", "limits"])
def test_every_field_is_in_the_readme(kind: str) -> None:
    missing = [field for field in fields(kind) if f"`spec.{field}" not in README]
    assert missing == []


def test_every_label_and_annotation_is_in_the_readme() -> None:
    keys = {value for value in vars(objects).values() if str(value).startswith("kwicket.dev/")}
    assert len(keys) > 6
    assert [key for key in sorted(keys) if f"`{key}" not in README] == []
