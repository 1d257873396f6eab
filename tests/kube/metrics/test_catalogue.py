"""Every metric is documented as it is, is named by Prometheus' rules, and has bounded labels."""

import re
from pathlib import Path

import pytest

from kwicket.kube.metrics.catalogue import COMMON, OPERATOR, WEBHOOK, Metric

PAGE = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text()
ALL = (*COMMON, *OPERATOR, *WEBHOOK)
BOUNDED = {"pool", "lane", "limit", "unit", "reason", "outcome", "path", "resource", "version"}
"""An administrator's names, closed lists, and the version that runs."""
UNITS = ("_total", "_seconds", "_info", "_jobs", "_tenants", "_clusters")
PLAIN = {"kwicket_leader", "kwicket_policies_in_force", "kwicket_ledger_up"} | {
    "kwicket_limit_max",
    "kwicket_limit_used",
}
"""0 or 1, or in the unit that a label says."""


def row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"| `{metric.name}` | {metric.kind} | {labels}{' ' if labels else ''}| {metric.says} |"


@pytest.mark.parametrize(
    ("title", "metrics"),
    [("Of both", COMMON), ("Of the operator", OPERATOR), ("Of the webhook", WEBHOOK)],
)
def test_the_page_has_a_row_for_each_metric_and_no_other(
    title: str, metrics: tuple[Metric, ...]
) -> None:
    section = PAGE.split(f"\n## {title}\n")[1].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `kwicket_")]
    assert rows == [row(metric) for metric in metrics]


def test_the_page_asks_for_no_metric_that_is_not_there() -> None:
    asked = set(re.findall(r"\bkwicket_[a-z_]+", PAGE))
    series = {metric.name for metric in ALL} | {f"{metric.name}_bucket" for metric in ALL}
    assert asked <= series


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: str(metric.name))
def test_it_is_named_by_the_rules_of_prometheus(metric: Metric) -> None:
    assert re.fullmatch(r"kwicket(_[a-z]+)+", metric.name)
    assert metric.name.endswith("_total") is (metric.kind == "counter")
    assert metric.name.endswith(UNITS) or metric.name in PLAIN
    assert (metric.kind == "histogram") is bool(metric.buckets)
    assert list(metric.buckets) == sorted(set(metric.buckets))
    assert metric.says.endswith(".")


@pytest.mark.parametrize("metric", ALL, ids=lambda metric: str(metric.name))
def test_none_of_its_labels_is_a_tenants_word(metric: Metric) -> None:
    assert set(metric.labels) <= BOUNDED


def test_no_two_have_one_name() -> None:
    assert len({metric.name for metric in ALL}) == len(ALL)
