"""`python -m e2e.bench`: measures the main job and prints the figures."""

import asyncio
import json
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from statistics import median
from typing import Any

import click

from e2e import release
from e2e.bench import bare
from e2e.bench.runs import Bench
from e2e.plane import Plane
from e2e.plane.api import Api
from e2e.tools import Tool

COMMAND = ["sleep", "0.2"]

type Run = Callable[[], Coroutine[Any, Any, dict[str, float]]]


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object.")
@click.option("--jobs", default=200, show_default=True, help="Jobs of each drain.")
@click.option("--rounds", default=3, show_default=True, help="Rounds; figures are medians of them.")
def main(as_json: bool, jobs: int, rounds: int) -> None:
    """Kwicket beside bare loops of merge-patches, on a plane of its own, in one run.

    Figures are seconds and, where they compare, ratios of two of them in this run.
    """
    with tempfile.TemporaryDirectory(prefix="kwicket-bench-") as folder:
        plane = Plane.up(Path(folder), say=lambda text: click.echo(text, err=True))
        try:
            figures = asyncio.run(_measure(plane, Path(folder), jobs, rounds))
        finally:
            plane.down()
    click.echo(json.dumps(figures, indent=2) if as_json else _table(figures))


async def _measure(plane: Plane, folder: Path, jobs: int, rounds: int) -> dict[str, Any]:
    helm = Tool(plane.bin("helm"), plane.kubeconfig, folder / "helm")
    await asyncio.to_thread(release.install, helm, plane.kubeconfig)
    account = await asyncio.to_thread(plane.kubeconfig, "kwicket-system/kwicket")
    async with Api.open(plane.kubeconfig("admin")) as api:
        bench = Bench(api, account, folder / "operator.log", COMMAND)
        taken: dict[str, list[dict[str, float]]] = {}
        for number in range(1, rounds + 1):
            for name, run in _runs(bench, jobs).items():
                click.echo(f"round {number} of {rounds}: {name}", err=True)
                taken.setdefault(name, []).append(await run())
        figures = {name: _medians(values) for name, values in taken.items()}
        return {"jobs": jobs, "rounds": rounds} | figures


def _runs(bench: Bench, jobs: int) -> dict[str, Run]:
    return {
        "slots_8": lambda: _drain(bench, jobs, 8),
        "slots_32": lambda: _drain(bench, jobs, 32),
        "at_once": lambda: _burst(bench, 2 * jobs),
    }


def _medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {name: round(median(values[name] for values in rounds), 3) for name in rounds[0]}


async def _drain(bench: Bench, jobs: int, slots: int) -> dict[str, float]:
    by_pods = await bench.bare(jobs, slots, bare.by_pods)
    by_conditions = await bench.bare(jobs, slots, bare.by_conditions)
    _, kwicket, writes = await bench.kwicket(jobs, slots)
    return {
        "bare_by_pods_s": round(by_pods, 2),
        "bare_by_conditions_s": round(by_conditions, 2),
        "kwicket_s": round(kwicket, 2),
        "kwicket_jobs_per_s": round(jobs / kwicket, 1),
        "speed_to_bare_by_pods": round(by_pods / kwicket, 3),
        "speed_to_bare_by_conditions": round(by_conditions / kwicket, 3),
        "writes_per_job": round(writes, 3),
    }


async def _burst(bench: Bench, jobs: int) -> dict[str, float]:
    patches = await bench.bare_at_once(jobs)
    last_start, last_end, writes = await bench.kwicket(jobs, None)
    return {
        "bare_patches_s": round(patches, 2),
        "kwicket_last_start_s": round(last_start, 2),
        "kwicket_last_end_s": round(last_end, 2),
        "last_start_to_bare_patches": round(last_start / patches, 3),
        "writes_per_job": round(writes, 3),
    }


def _table(figures: dict[str, Any]) -> str:
    lines = []
    for run, values in figures.items():
        if isinstance(values, dict):
            lines.append(run)
            lines += [f"  {name:<30} {value:>10}" for name, value in values.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
