"""`kwicket ledger copy` between operators: there, and back, while Jobs run and wait."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from e2e import load, operators
from e2e.clusters.sites import NAMESPACE, Site
from e2e.observer import Observer
from e2e.statuses import shown
from support.databases import Database

POOL = "moved"
JOBS = ("first", "second", "third")
UNTIL_TOLD = 'until [ -e "$0" ]; do sleep 0.1; done'
SECONDS = 150
"""More than the silence that a copy waits for, by far."""


@pytest.fixture
async def site(sites: dict[str, Site]) -> AsyncIterator[Site]:
    """East, with a Pool of one slot."""
    east = sites["east"]
    await load.make_pool(east.api, POOL, 1)
    yield east
    await load.drop_pool(east.api, POOL)


class Moves:
    """Of one cluster's pools, by an administrator of the cluster who owns the schema."""

    def __init__(self, site: Site, owner: Path) -> None:
        self._kubeconfig = site.plane.kubeconfig("admin")
        self._shares = ("--postgres", str(owner), "--cluster", site.name)

    async def copy(self, source: str, target: str) -> tuple[int, str]:
        """From one kind of ledger to the other: the exit code, and all that was said."""
        command = [sys.executable, "-m", "kwicket", "ledger", "copy", "--from", source]
        command += ["--to", target, *self._shares, "--kubeconfig", str(self._kubeconfig)]
        done = await asyncio.to_thread(
            subprocess.run, command, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        return done.returncode, done.stdout + done.stderr


@pytest.mark.timeout(480)
async def test_a_pool_moves_to_postgres_and_back_with_its_slots_its_line_and_its_tokens(
    site: Site, database: Database, tmp_path: Path
) -> None:
    owner = tmp_path / "owner"
    owner.write_text(database.url)
    moves = Moves(site, owner)
    async with Observer.watching(site.api, NAMESPACE) as seen:
        operator = operators.Operator(site.account, site.log, *operators.ALONE)
        for name in JOBS:
            told = load.labelled_job(
                name, "alice", ["sh", "-c", UNTIL_TOLD, str(tmp_path / name)], pool=POOL
            )
            await load.create_jobs(site.api, NAMESPACE, [told])
        await shown(site.api, POOL, running=1, waiting=2)
        code, said = await moves.copy("kubernetes", "postgres")
        assert (code, "and try again" in said) == (1, True), said
        operator.end()

        code, said = await moves.copy("kubernetes", "postgres")
        assert (code, f"pool {POOL}: copied at token" in said) == (0, True), said
        operator = site.operator()
        await _next_starts(site, seen, tmp_path, waiting=1)
        operator.end()

        code, said = await moves.copy("postgres", "kubernetes")
        assert (code, f"pool {POOL}: copied at token" in said) == (0, True), said
        assert "1 Jobs of east run, or may, and keep their slots in PostgreSQL" in said
        operator = operators.Operator(site.account, site.log, *operators.ALONE)
        await _next_starts(site, seen, tmp_path, waiting=0)
        (tmp_path / seen.order()[-1]).touch()
        await seen.until(lambda seen: seen.complete.keys() == set(JOBS))
        operator.end()
    assert [len(tokens) for tokens in seen.tokens.values()] == [1, 1, 1]
    assert seen.order() == sorted(seen.started, key=lambda job: seen.started[job])
    assert seen.peak_live == 1
    assert [len(pods) for pods in seen.pods.values()] == [1, 1, 1]


async def _next_starts(site: Site, seen: Observer, folder: Path, waiting: int) -> None:
    """Once the Job that runs is told to end, and not before; so many wait then."""
    begun = len(seen.started)
    await shown(site.api, POOL, running=1, waiting=waiting + 1)
    assert len(seen.started) == begun
    (folder / seen.order()[-1]).touch()
    await shown(site.api, POOL, running=1, waiting=waiting)
    await seen.until(lambda seen: len(seen.started) == begun + 1)
