"""Where a Job belongs, and why it belongs nowhere."""

from typing import Any

import pytest

from kwicket.core.catalog import Aside, Catalog, Declared, Placed
from kwicket.core.jobs import NamespaceSeen
from kwicket.core.limits import Closed
from kwicket.core.pools import Lane, Pool
from kwicket.core.reasons import Reason
from kwicket.core.selectors import Expression, Operator, Selector
from support.builders import (
    START,
    catalog,
    job_seen,
    jobs,
    limit,
    namespace_seen,
    pods,
    pool,
    rate,
    ticket,
)

RED = Selector((Expression("kwicket.dev/team", Operator.IN, ("red",)),))
DECLARED = catalog(
    pool("pool"),
    pool("red", namespaces=RED),
    Lane("gpu", "pool"),
    Lane("lost", "no-such-pool"),
    pods(8),
    pods(2, "gpu"),
    jobs(0, name="door"),
)


@pytest.mark.parametrize(
    ("job", "labels", "reason", "words"),
    [
        ({"pool": None}, {}, Reason.NO_POOL, "no Pool is the default"),
        ({"pool": "blue"}, {}, Reason.UNKNOWN_POOL, "no Pool blue; there are: pool, red"),
        ({"lane": "tpu"}, {}, Reason.UNKNOWN_LANE, "no Lane tpu of a known Pool; there are: gpu"),
        ({"lane": "lost", "pool": None}, {}, Reason.UNKNOWN_LANE, "no Lane lost"),
        (
            {"lane": "gpu", "pool": "red"},
            {},
            Reason.LANE_OF_OTHER_POOL,
            "lane gpu belongs to pool pool, not to red",
        ),
        ({"pool": "red"}, {}, Reason.NAMESPACE_NOT_SELECTED, "of namespace team"),
        ({}, {"tenant": "bob"}, Reason.TENANT_MISMATCH, "belongs to tenant bob, not to alice"),
        ({"traits": (("urgent", "٣"),)}, {}, Reason.BAD_TRAIT, r"trait urgent = '\u0663'"),
        ({"parallelism": 9}, {}, Reason.TOO_WIDE, "9 pods at once and limit pods-pool admits 8"),
        (
            {"lane": "gpu", "parallelism": 3},
            {},
            Reason.TOO_WIDE,
            "3 pods at once and limit pods-gpu admits 2",
        ),
    ],
)
def test_a_job_is_set_aside(
    job: dict[str, Any], labels: dict[str, str], reason: Reason, words: str
) -> None:
    aside = DECLARED.place(job_seen(**job), namespace_seen(**labels))
    assert isinstance(aside, Aside)
    assert aside.reason is reason
    assert words in aside.sentence


def test_a_job_is_placed_with_all_that_decides() -> None:
    job = job_seen(lane="gpu", traits=(("urgent", "0.5"),), held=True, parallelism=5, completions=2)
    expected = ticket(lane="gpu", traits=(("urgent", 500),), held=True, width=2)
    assert DECLARED.place(job, namespace_seen()) == Placed("pool", expected)


@pytest.mark.parametrize(
    ("labels", "job", "chosen"),
    [
        ({"team": "red"}, {"pool": "red"}, "red"),
        ({"tenant": "alice"}, {}, "pool"),
        ({}, {"pool": None, "lane": "gpu"}, "pool"),
        ({}, {"pool": "pool", "lane": "gpu"}, "pool"),
    ],
)
def test_a_job_is_placed(labels: dict[str, str], job: dict[str, Any], chosen: str) -> None:
    placed = DECLARED.place(job_seen(**job), namespace_seen(**labels))
    assert isinstance(placed, Placed)
    assert placed.pool == chosen


def test_a_job_that_names_nothing_goes_to_the_oldest_default() -> None:
    pools = [Pool(name, created, True) for name, created in [("a", 9), ("c", 5), ("b", 5)]]
    declared = catalog(*pools, Pool("older", 1))
    placed = declared.place(job_seen(pool=None), namespace_seen())
    assert isinstance(placed, Placed)
    assert placed.pool == "b"


@pytest.mark.parametrize(
    ("job", "cap", "value"), [("0.5", "0.2", 200), ("0.2", "0.5", 200), ("1", "0", 0)]
)
def test_a_namespace_caps_the_traits_of_its_jobs(job: str, cap: str, value: int) -> None:
    namespace = NamespaceSeen("team", {"trait.kwicket.dev/urgent": cap})
    placed = DECLARED.place(job_seen(traits=(("urgent", job),)), namespace)
    assert isinstance(placed, Placed)
    assert dict(placed.ticket.traits).get("urgent", 0) == value


def test_a_cap_that_is_no_number_sets_only_those_aside_who_carry_the_trait() -> None:
    namespace = NamespaceSeen("team", {"trait.kwicket.dev/urgent": "high"})
    aside = DECLARED.place(job_seen(traits=(("urgent", "1"),)), namespace)
    assert isinstance(aside, Aside)
    assert "its namespace has trait urgent = 'high'" in aside.sentence
    assert isinstance(DECLARED.place(job_seen(), namespace), Placed)


@pytest.mark.parametrize(
    "declared", [jobs(0), pods(0), limit(Closed("new")), jobs(1), rate(1, 1), pods(9)]
)
def test_a_limit_that_may_open_again_sets_no_job_aside(declared: Any) -> None:
    placed = catalog(pool(), declared).place(job_seen(parallelism=9), namespace_seen())
    assert isinstance(placed, Placed)


def test_a_job_that_was_granted_before_is_a_redelivery_wherever_it_waits() -> None:
    again = DECLARED.place(job_seen(token=7, deliveries=2), namespace_seen())
    never = DECLARED.place(job_seen(token=None, deliveries=2), namespace_seen())
    assert isinstance(again, Placed)
    assert isinstance(never, Placed)
    assert (again.ticket.deliveries, never.ticket.deliveries) == (2, 0)


def test_the_rules_of_a_pool_are_its_limits_and_those_of_its_lanes() -> None:
    declared = Catalog(
        pools={"a": pool("a"), "b": pool("b")},
        lanes={"gpu": Lane("gpu", "a")},
        limits={
            "z": Declared(jobs(1, name="z"), "a"),
            "y": Declared(jobs(2, "gpu", name="y")),
            "x": Declared(jobs(3, name="x"), "b"),
            "w": Declared(jobs(4, "no-lane", name="w")),
        },
    )
    assert [one.name for one in declared.rules("a").limits] == ["y", "z"]
    assert [one.name for one in declared.rules("b").limits] == ["x"]
    with pytest.raises(KeyError):
        declared.rules("c")


def test_many_known_names_are_cut_short() -> None:
    declared = catalog(*[pool(f"pool-{n:02}") for n in range(25)])
    aside = declared.place(job_seen(pool="x", created=START), namespace_seen())
    assert isinstance(aside, Aside)
    assert aside.sentence.endswith("pool-19, …")


def test_every_reason_is_known_at_once_and_the_first_one_sets_aside() -> None:
    job = job_seen(lane="gpu", pool="red", parallelism=9, traits=(("a", "x"), ("b", "1")))
    namespace = namespace_seen(tenant="bob")
    objections = list(DECLARED.objections(job, namespace))
    assert [one.reason for one in objections] == [
        Reason.TENANT_MISMATCH,
        Reason.LANE_OF_OTHER_POOL,
        Reason.BAD_TRAIT,
    ]
    assert DECLARED.place(job, namespace) == objections[0]
    wide = job_seen(pool="red", parallelism=9, traits=(("a", "x"), ("b", "y")))
    tight = catalog(pool("red", namespaces=RED), pods(2))
    assert [one.reason for one in tight.objections(wide, namespace_seen())] == [
        Reason.NAMESPACE_NOT_SELECTED,
        Reason.BAD_TRAIT,
        Reason.BAD_TRAIT,
        Reason.TOO_WIDE,
    ]


def test_an_empty_label_binds_a_namespace_to_nobody() -> None:
    namespace = NamespaceSeen("team", {"kwicket.dev/tenant": ""})
    assert isinstance(DECLARED.place(job_seen("x-1", pool="pool"), namespace), Placed)
