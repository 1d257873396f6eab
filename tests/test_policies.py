"""docs/policies.md names every rule of the policies, its message and a test that is there."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
TEMPLATES = ROOT / "charts" / "kwicket" / "templates" / "policies"
ROW = re.compile(r"^\| (\w+) \| .+? \| (.+?) \| `(\w+)` \|$", re.MULTILINE)
ACTION = re.compile(r"{{-?.*?-?}}", re.DOTALL)
VALUE = re.compile(r"string\(.+?\)")


def messages() -> set[tuple[str, str]]:
    """The policy and the text of each message in the templates, as CEL where it is CEL."""
    found = set()
    for path in TEMPLATES.glob("*.yaml"):
        lines = (li for li in path.read_text().splitlines() if not li.strip().startswith("{{"))
        for document in yaml.safe_load_all(ACTION.sub("x", "\n".join(lines))):
            for rule in (document or {}).get("spec", {}).get("validations", []):
                said = {rule.get("message"), rule.get("messageExpression")} - {None}
                found |= {(path.stem, VALUE.sub("…", text)) for text in said}
    return found


def rows() -> list[tuple[str, str, str]]:
    return ROW.findall((ROOT / "docs" / "policies.md").read_text())


def test_every_message_stands_in_the_table_and_no_other() -> None:
    assert {(policy, message) for policy, message, _ in rows()} == messages()
    assert len(messages()) > 20


def test_every_test_of_the_table_is_there() -> None:
    files = (ROOT / "e2e" / "threats").glob("*.py")
    defined = set(re.findall(r"def (test_\w+)", "\n".join(path.read_text() for path in files)))
    assert {test for _, _, test in rows()} <= defined


def test_every_rule_has_a_message() -> None:
    """Else its author is shown the expression."""
    for path in TEMPLATES.glob("*.yaml"):
        text = path.read_text()
        rules = text.partition("validations:")[2].count("- expression:")
        assert len(re.findall(r"^ +(?:message|messageExpression): ", text, re.MULTILINE)) >= rules
