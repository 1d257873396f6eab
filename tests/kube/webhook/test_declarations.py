"""What administrators are told of Pools, Lanes and Limits beyond what the schemas say."""

from typing import Any

import pytest

from kwicket.core.pools import Lane
from kwicket.kube.webhook import declarations
from kwicket.kube.webhook.reviews import Verdict
from support.builders import catalog, pool
from support.reviews import encoded, review

DECLARED = catalog(pool("gpu", default=True, created=1_000), pool("cpu"), Lane("big", "gpu"))
EARLIER, LATER = "1970-01-01T00:00:00Z", "1970-01-01T00:00:02Z"


def told(kind: str, spec: dict[str, Any], **metadata: Any) -> Verdict:
    body = {"kind": kind, "metadata": {"name": "new", **metadata}, "spec": spec}
    request = declarations.DECLARATIONS.read(encoded(review(body, kind=kind)))
    return declarations.of_declaration(request, DECLARED)


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("Pool", {}),
        ("Pool", {"priority": [{"factor": "Age", "weight": 1, "fullAfter": "1h"}]}),
        ("Lane", {"pool": "gpu"}),
        ("Limit", {"pool": "gpu", "concurrency": {"jobs": 0}}),
        ("Limit", {"lane": "big", "rate": {"starts": 1, "per": "1m"}}),
    ],
)
def test_what_makes_sense_is_allowed_without_a_word(kind: str, spec: dict[str, Any]) -> None:
    assert told(kind, spec) == Verdict()


@pytest.mark.parametrize(
    ("kind", "spec", "words"),
    [
        ("Lane", {"pool": "tpu"}, "there is no Pool tpu yet"),
        ("Limit", {"pool": "tpu", "concurrency": {"jobs": 1}}, "there is no Pool tpu yet"),
        ("Limit", {"lane": "small", "concurrency": {"jobs": 1}}, "there is no Lane small yet"),
    ],
)
def test_what_names_something_that_is_not_there_may_be_early(
    kind: str, spec: dict[str, Any], words: str
) -> None:
    verdict = told(kind, spec)
    assert verdict.errors == []
    assert verdict.warnings == [f"{words}: until there is, this has no effect"]


@pytest.mark.parametrize(
    ("stamp", "first", "second"),
    [(None, "gpu", "new"), (LATER, "gpu", "new"), (EARLIER, "new", "gpu")],
)
def test_of_two_defaults_it_is_said_which_one_counts(
    stamp: str | None, first: str, second: str
) -> None:
    verdict = told("Pool", {"default": True}, creationTimestamp=stamp)
    assert verdict.errors == []
    [warning] = verdict.warnings
    assert warning == (
        f"Pools {first} and {second} both have spec.default: true; the older, {first}, is the"
        " default"
    )


def test_the_default_itself_may_be_changed() -> None:
    assert told("Pool", {"default": True, "paused": True}, name="gpu") == Verdict()


@pytest.mark.parametrize(
    ("kind", "spec", "words"),
    [
        (
            "Pool",
            {"priority": [{"factor": "Luck", "weight": 1}]},
            "nothing starts in pool new, which this version of Kwicket does not understand:"
            " priority: factor 'Luck' is none of FairShare, Age, Trait",
        ),
        (
            "Limit",
            {"pool": "gpu", "concurrency": {"gpus": 1}},
            "nothing starts under limit new, which this version of Kwicket does not understand:",
        ),
        ("Limit", {"concurrency": {"jobs": 1}}, "the Limit is not understood:"),
        ("Lane", {}, "the Lane is not understood: Object missing required field `pool`"),
        ("Pool", {"priority": 1}, "nothing starts in pool new"),
    ],
)
def test_what_would_stop_its_pool_is_refused(kind: str, spec: dict[str, Any], words: str) -> None:
    [error] = told(kind, spec).errors
    assert error.startswith(words)


@pytest.mark.parametrize("body", [{}, {"metadata": None}, {"metadata": {}, "spec": None}])
def test_what_is_no_object_is_refused(body: dict[str, Any]) -> None:
    whole = review({"metadata": {}}, kind="Pool")
    whole["request"]["object"] = body
    request = declarations.DECLARATIONS.read(encoded(whole))
    [error] = declarations.of_declaration(request, DECLARED).errors
    assert "not understood" in error or "not understand" in error
