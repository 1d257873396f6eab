"""Reports as text: one line a tenant and set of rules, the sets one under the other."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from kwicket.core.order import natural_key
from kwicket.sim.compare import Comparison
from kwicket.sim.report import Report, TenantReport
from kwicket.sim.run import Run

_TENANTS = ["TENANT", "RULES", "JOBS", "MEAN", "P50", "P95", "LONGEST", "SLOWDOWN", "GOT", "DUE"]
_RUNS = ["RULES", "JOBS", "STARTED", "MEAN", "LIGHTER-HALF", "JAIN", "MAKESPAN", "GRANTS/S"]
_RATIOS = ["AGAINST", "MEAN", "P95", "LIGHTER-HALF", "LIGHTER-P95", "MAKESPAN"]


def tenants_table(reports: Sequence[Report]) -> list[str]:
    """How long the Jobs of each tenant waited, and which part of the slots they held."""
    by_name: dict[str, list[list[str]]] = {}
    for report in reports:
        for tenant in report.tenants:
            by_name.setdefault(tenant.tenant, []).append(_tenant_row(report.name, tenant))
    rows = [row for name in sorted(by_name, key=natural_key) for row in by_name[name]]
    return _table(_TENANTS, rows, words=2)


def runs_table(reports: Iterable[Report]) -> list[str]:
    """What each set of rules comes to in all."""
    return _table(_RUNS, [_run_row(report) for report in reports], words=1)


def ratios_table(comparisons: Iterable[Comparison]) -> list[str]:
    """How the first set of rules compares with each other one, over all copies."""
    return _table(_RATIOS, [_ratio_row(one) for one in comparisons], words=1)


def aside_lines(run: Run) -> list[str]:
    """The Jobs that can never start under these rules, and why."""
    whys = Counter(left.aside.sentence for left in run.aside)
    return [f"{run.world.name}: {count} Jobs set aside: {why}" for why, count in whys.items()]


def duration(seconds: float) -> str:
    """A time as people read it: `4.2s`, `12m30s`, `5h03m`, `3d04h`."""
    whole = round(seconds)
    if seconds < 60:
        return f"{seconds:.1f}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    if whole < 48 * 3600:
        return f"{whole // 3600}h{whole % 3600 // 60:02}m"
    return f"{whole // 86400}d{whole % 86400 // 3600:02}h"


def numbers(found: Iterable[int]) -> str:
    """Numbers in order, with those in a row as a range: `3, 7-9`."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(found):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = ranges[-1][0], number
        else:
            ranges.append((number, number))
    return ", ".join(f"{low}-{high}" if low < high else f"{low}" for low, high in ranges)


def _tenant_row(rules: str, one: TenantReport) -> list[str]:
    times = (one.mean, one.p50, one.p95, one.longest)
    jobs = f"{one.jobs}" if one.started == one.jobs else f"{one.started}/{one.jobs}"
    shares = (f"{one.got:.1%}", f"{one.due:.1%}")
    return [one.tenant, rules, jobs, *map(duration, times), f"{one.slowdown:.2f}", *shares]


def _run_row(one: Report) -> list[str]:
    times = (one.all.mean, one.lighter_half.mean)
    rest = (f"{one.jain:.3f}", duration(one.makespan), f"{one.grants_per_second:.3g}")
    return [one.name, f"{one.jobs}", f"{one.started}", *map(duration, times), *rest]


def _ratio_row(one: Comparison) -> list[str]:
    ratios = (one.mean, one.p95, one.lighter_half, one.lighter_half_p95, one.makespan)
    return [one.against, *(f"{ratio:.3f}" for ratio in ratios)]


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]], words: int) -> list[str]:
    """Columns as wide as what is in them: words to the left, numbers to the right."""
    return list(_lines([list(titles), *map(list, rows)], words))


def _lines(rows: Sequence[Sequence[str]], words: int) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if place < words else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()
