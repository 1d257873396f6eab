"""The figures as tables, and as one object for JSON."""

import platform
from typing import Any

from msgspec import Struct, to_builtins

from .figures import Comparison, Figures
from .targets import growth, targets

COLUMNS = {
    "waiting": "waiting",
    "tenants": "tenants",
    "lanes": "lanes",
    "us_a_grant": "µs a grant",
    "first_decide_ms": "first decide ms",
    "worst_decide_ms": "worst decide ms",
    "longest_pause_ms": "longest pause ms",
    "build_ms": "build ms",
    "bytes_a_job": "bytes a Job",
    "id_bytes_a_job": "+ its ids",
    "snapshot_us": "snapshot µs",
    "busy": "busy",
}
QUIET = 0.95
"""Below this part of the processor, a run was disturbed."""


class Report(Struct):
    """All that was measured in one run of the benchmark."""

    repeats: int
    steps: int
    figures: list[Figures]
    peer: list[Comparison]


def plain(report: Report) -> dict[str, Any]:
    """The report with what follows from it, as JSON has it."""
    return {
        "python": platform.python_version(),
        "repeats": report.repeats,
        "grants": report.steps,
        "sizes": to_builtins(report.figures),
        "growth": to_builtins(growth(report.figures)),
        "targets": [
            {"what": one.what, "value": one.value, "most": one.most, "reached": one.reached}
            for one in targets(report.figures)
        ],
        "peer": to_builtins(report.peer),
    }


def table(report: Report) -> str:
    """The report for a reader."""
    parts = [_sizes(report), _disturbed(report), _growth(report), _peer(report), _targets(report)]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _sizes(report: Report) -> list[str]:
    rows = [list(COLUMNS.values())]
    rows += [[f"{getattr(one, name):,}" for name in COLUMNS] for one in report.figures]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
    return ["  ".join(map(str.rjust, row, widths)) for row in rows]


def _disturbed(report: Report) -> list[str]:
    least = min(one.busy for one in report.figures)
    if least > QUIET:
        return []
    return [
        f"the machine was busy with something else for up to {1 - least:.0%} of the time:"
        " the figures are too high"
    ]


def _growth(report: Report) -> list[str]:
    return [
        f"growth from {one.shortest:,} to {one.longest:,} waiting,"
        f" {one.tenants:,} tenants, lanes {one.lanes}: {one.times} times as long a grant"
        for one in growth(report.figures)
    ]


def _peer(report: Report) -> list[str]:
    return [
        f"wicket, {one.waiting:,} waiting of {one.tenants:,} tenants, {one.grants} grants:"
        f" {one.peer_us_a_grant:,} µs a grant against {one.kwicket_us_a_grant:,} of Kwicket,"
        f" {one.ratio:,} times as long;"
        f" the order is {'the same' if one.same_order else 'NOT THE SAME'}"
        for one in report.peer
    ]


def _targets(report: Report) -> list[str]:
    return [
        f"{'reached' if one.reached else 'MISSED '}"
        f"  {one.value:9,.1f} of at most {one.most:3g} {one.what}"
        for one in targets(report.figures)
    ]
