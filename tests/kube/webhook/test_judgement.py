"""What the author of a new Job is told: all that is wrong at once, or where it will wait."""

from collections.abc import Mapping
from typing import Any

import pytest

from kwicket.core.catalog import Catalog
from kwicket.core.jobs import NamespaceSeen
from kwicket.core.pools import Lane
from kwicket.core.selectors import Expression, Operator, Selector
from kwicket.kube.webhook import judgement
from kwicket.kube.webhook.judgement import Figures
from kwicket.kube.webhook.reviews import Verdict
from support.builders import catalog, namespace_seen, pods, pool
from support.reviews import encoded, job, review

RED = Selector((Expression("kwicket.dev/team", Operator.IN, ("red",)),))
DECLARED = catalog(
    pool("pool"),
    pool("red", namespaces=RED),
    pool("closed", paused=True),
    pool("odd", fault="factor Luck"),
    Lane("gpu", "pool"),
    pods(8),
)
LINES = {"pool": Figures(41, 8), "closed": Figures(0, 0), "odd": Figures(1, 0)}
TEAM = namespace_seen()


def labelled(labels: Mapping[str, str], **spec: Any) -> dict[str, Any]:
    made = job(**spec)
    made["metadata"]["labels"] |= labels
    return made


def told(
    made: dict[str, Any],
    namespace: NamespaceSeen | None = TEAM,
    declared: Catalog = DECLARED,
    lines: Mapping[str, Figures] = LINES,
) -> Verdict:
    seen = judgement.seen(judgement.JOBS.read(encoded(review(made))))
    return judgement.of_job(seen, namespace, declared, lines)


POOL, LANE = "kwicket.dev/pool", "kwicket.dev/lane"


@pytest.mark.parametrize(
    ("labels", "spec", "words"),
    [
        (
            {POOL: "blue"},
            {},
            'metadata.labels["kwicket.dev/pool"]: there is no Pool blue;'
            " there are: closed, odd, pool, red",
        ),
        (
            {LANE: "tpu"},
            {},
            'metadata.labels["kwicket.dev/lane"]: there is no Lane tpu of a known Pool;'
            " there are: gpu",
        ),
        (
            {LANE: "gpu", POOL: "red"},
            {},
            'metadata.labels["kwicket.dev/lane"]: lane gpu belongs to pool pool, not to red',
        ),
        (
            {POOL: "red"},
            {},
            "pool red does not admit Jobs of namespace team: its namespaceSelector decides",
        ),
        (
            {POOL: "pool", "trait.kwicket.dev/urgent": "2"},
            {},
            "the Job has trait urgent = '2', which is no number from 0 to 1 with at most three"
            " decimals, such as 0.5",
        ),
        (
            {POOL: "pool"},
            {"parallelism": 9, "completions": 9},
            "spec.parallelism: it runs 9 pods at once and limit pods-pool admits 8: it can never"
            " start",
        ),
    ],
)
def test_a_job_that_could_never_start_is_refused_in_the_operators_words(
    labels: dict[str, str], spec: dict[str, Any], words: str
) -> None:
    assert told(labelled(labels, **spec)) == Verdict(errors=[f"Job team/sum: {words}"])


def test_a_tenant_has_its_own_namespaces() -> None:
    [error] = told(labelled({POOL: "pool"}), namespace_seen(tenant="bob")).errors
    assert 'labels["kwicket.dev/tenant"]: namespace team belongs to tenant bob, not to' in error


def test_all_that_is_wrong_is_said_at_once() -> None:
    made = labelled(
        {POOL: "blue", "trait.kwicket.dev/a": "x", "trait.kwicket.dev/b": "1.5"},
    )
    errors = told(made, namespace_seen(tenant="bob")).errors
    assert len(errors) == 4
    for error, part in zip(errors, ("tenant bob", "Pool blue", "trait a", "trait b"), strict=True):
        assert part in error


def test_what_only_a_namespace_could_say_is_left_open_while_it_is_not_known() -> None:
    assert told(labelled({POOL: "red"}), None).errors == []
    assert len(told(labelled({POOL: "blue"}), None).errors) == 1


def test_a_job_waits_for_a_default_pool_and_is_told_so() -> None:
    verdict = told(job())
    assert verdict.errors == []
    [warning] = verdict.warnings
    assert "no Pool is the default: label it kwicket.dev/pool" in warning


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (
            {POOL: "pool"},
            "waits in pool pool at position 42 or before, while 8 run:"
            " it is another tenant's or an earlier Job's turn",
        ),
        (
            {POOL: "pool", "kwicket.dev/hold": "true"},
            "waits in pool pool at position 42 or before, while 8 run:"
            " its label kwicket.dev/hold keeps it; remove the label to let it start",
        ),
        (
            {POOL: "closed"},
            "waits in pool closed at position 1 or before, while 0 run: pool closed is paused",
        ),
        (
            {POOL: "odd"},
            "waits in pool odd at position 2 or before, while 0 run: nothing starts in pool odd,"
            " which this version of Kwicket does not understand: factor Luck",
        ),
    ],
)
def test_a_job_that_waits_is_told_its_place(labels: dict[str, str], words: str) -> None:
    assert told(labelled(labels)) == Verdict(warnings=[f"Job team/sum {words}"])


def test_the_first_in_line_starts_as_soon_as_there_is_room() -> None:
    [warning] = told(labelled({POOL: "pool"}), lines={"pool": Figures(0, 8)}).warnings
    assert warning.endswith(
        "at position 1 or before, while 8 run: it starts as soon as there is room"
    )


def test_without_figures_of_the_operator_no_place_is_made_up() -> None:
    assert told(labelled({POOL: "pool"}), lines={}) == Verdict()


def test_a_name_that_is_still_to_be_made_is_shown_as_such() -> None:
    made = labelled({POOL: "blue"})
    del made["metadata"]["name"]
    made["metadata"]["generateName"] = "sum-"
    [error] = told(made).errors
    assert error.startswith("Job team/sum-*: ")
