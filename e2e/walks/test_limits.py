"""Limits hold as an observer counts them, and the operator's loop is never long away."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from e2e import load, operators
from e2e.observer import Observer
from e2e.operators import Operator
from e2e.plane.api import Api
from e2e.walks.conftest import Pools, paused

JOBS = 200


async def run_together(api: Api, pools: Pools, pool: str, observer: Observer, jobs: int) -> None:
    """Releases Jobs of three tenants at one moment, and waits until all are Complete."""
    async with paused(api, pool):
        tenants = ("alice", "bob", "carol")
        await load.create_jobs(
            api,
            pools.prefix,
            (
                load.labelled_job(f"job-{n}", tenants[n % 3], ["sleep", "0.2"], pool=pool)
                for n in range(jobs)
            ),
        )
        await pools.until(pool, waiting=jobs)
    await observer.until(lambda o: len(o.complete) == jobs, seconds=120)


@pytest.fixture
async def lag(
    account: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator["Lag"]:
    """An operator with a loop-lag probe in it."""
    report = tmp_path / "lag.json"
    monkeypatch.setenv("LAG_REPORT", str(report))
    with operators.running(account, tmp_path / "operator.log", module="e2e.probed") as process:
        yield Lag(process, report)


class Lag:
    """Ends the operator and reads what its probe has noted."""

    def __init__(self, process: Operator, report: Path) -> None:
        self._process = process
        self._report = report

    def between(self, begin: float, end: float) -> list[float]:
        """How late each tick was that was due in this time, in seconds, least first."""
        self._process.end()
        ticks = json.loads(self._report.read_text())
        return sorted(late for due, late in ticks if begin <= due <= end)


@pytest.mark.timeout(180)
async def test_two_hundred_released_together_keep_the_loop_free(
    lag: "Lag", pools: Pools, api: Api, observer: Observer
) -> None:
    pool = await pools.pool(limit=JOBS)
    await run_together(api, pools, pool, observer, JOBS)
    assert observer.peak_running >= 10
    late = lag.between(min(observer.started.values()), max(observer.complete.values()))
    assert late[int(len(late) * 0.99)] < 0.05
    assert late[-1] < 0.25


@pytest.mark.timeout(180)
@pytest.mark.parametrize("limit", [50, 8])
async def test_no_more_run_than_the_limit_says(
    limit: int, operator: Operator, pools: Pools, api: Api, observer: Observer
) -> None:
    pool = await pools.pool(limit=limit)
    await run_together(api, pools, pool, observer, JOBS)
    assert 8 <= observer.peak_live <= limit
    assert sorted(len(pods) for pods in observer.pods.values()) == [1] * JOBS


async def test_a_limit_that_is_lowered_below_its_use_ends_nothing_and_lets_nothing_start(
    operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    """Row 37 of the fault matrix."""
    pool = await pools.pool(limit=3)
    for number, seconds in enumerate(("4", "5", "6", "0.1", "0.1")):
        job = load.labelled_job(f"job-{number}", "alice", ["sleep", seconds], pool=pool)
        await api.create(load.jobs_path(namespace), job)
    await observer.until(lambda o: o.peak_running == 3)
    await load.limit(api, pool, 1)
    await observer.until(lambda o: len(o.complete) == 5)
    assert sorted(len(pods) for pods in observer.pods.values()) == [1] * 5
    assert observer.started["job-3"] >= max(observer.succeeded[f"job-{n}"] for n in range(3))
    assert observer.started["job-4"] >= observer.succeeded["job-3"]


async def test_a_pool_that_is_deleted_and_made_again_counts_what_runs_in_it(
    operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    """Row 37 of the fault matrix: its Jobs run on, and hold their slots when it is back."""
    pool = await pools.pool(limit=1)
    for name, seconds in (("first", "1000"), ("second", "0.1")):
        job = load.labelled_job(name, "alice", ["sleep", seconds], pool=pool)
        await api.create(load.jobs_path(namespace), job)
    await pools.until(pool, waiting=1, running=1)
    await api.delete(f"{load.GROUP}/pools/{pool}")
    await api.create(f"{load.GROUP}/pools", load.declared("Pool", pool, {}))
    await pools.until(pool, waiting=1, running=1)
    assert observer.started.keys() == {"first"}
    await api.delete(f"{load.jobs_path(namespace)}/first")
    await observer.until(lambda o: "second" in o.complete)
    assert observer.peak_live == 1
    assert observer.tokens["first"] < observer.tokens["second"]


async def test_a_rate_lets_so_many_start_and_no_more(
    operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    pool = await pools.pool()
    await pools.declare("limits", "rate", {"pool": pool, "rate": {"starts": 3, "per": "1h"}})
    for number in range(5):
        job = load.labelled_job(f"job-{number}", "alice", ["true"], pool=pool)
        await api.create(load.jobs_path(namespace), job)
    await observer.until(lambda o: len(o.complete) == 3)
    await pools.until(pool, waiting=2, running=0)
    assert observer.order() == ["job-0", "job-1", "job-2"]


async def test_a_limit_for_each_tenant_leaves_the_others_their_room(
    operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    pool = await pools.pool(limit=4)
    each = {"pool": pool, "count": "EachTenant", "concurrency": {"jobs": 1}}
    await pools.declare("limits", "each", each)
    for name, tenant in (("a-1", "alice"), ("a-2", "alice"), ("b-1", "bob")):
        job = load.labelled_job(name, tenant, ["sleep", "30"], pool=pool)
        await api.create(load.jobs_path(namespace), job)
    await pools.until(pool, waiting=1, running=2)
    assert observer.started.keys() == {"a-1", "b-1"}
