"""A Job of several pods takes its turn, and room is kept for it until it can start."""

from pathlib import Path

import pytest

from e2e import load, operators
from e2e.observer import Observer
from e2e.plane.api import Api, Object
from e2e.walks.conftest import Pools

PODS = 4


async def create(api: Api, namespace: str, pool: str, name: str, seconds: int, pods: int) -> None:
    """Creates the Job of the tenant that its name begins with."""
    job = load.labelled_job(name, name.partition("-")[0], ["sleep", str(seconds)], pool=pool)
    job["spec"] |= {"parallelism": pods, "completions": pods}
    await api.create(load.jobs_path(namespace), job)


async def until_reserved(api: Api, pool: str, job: str) -> None:
    """Waits until the Ledger says that the Job's turn has come and that room is kept for it."""

    def is_so(body: Object | None) -> bool:
        reserved = (body or {}).get("spec", {}).get("reservations", [])
        return [(one["job"], "kept" in one) for one in reserved] == [(job, True)]

    await api.until(f"{load.GROUP}/ledgers/{pool}", is_so)


@pytest.mark.timeout(180)
async def test_a_wide_job_starts_after_its_turn_though_small_ones_keep_coming(
    account: Path, tmp_path: Path, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    """The operator is killed while room is kept; the small ones would fit all the time."""
    pool = await pools.pool()
    limit = {"pool": pool, "concurrency": {"pods": PODS}}
    await pools.declare("limits", "pods", limit)
    log = tmp_path / "operator.log"
    with operators.running(account, log, *operators.ALONE) as process:
        for number in range(PODS - 1):
            await create(api, namespace, pool, f"alice-{number}", 12, 1)
        await observer.until(lambda o: len(o.started) == PODS - 1)
        await create(api, namespace, pool, "bob-0", 1, PODS)
        await until_reserved(api, pool, f"{namespace}/bob-0")
        for number in range(PODS - 1, 2 * PODS):
            await create(api, namespace, pool, f"alice-{number}", 0, 1)
        await pools.until(pool, waiting=PODS + 2)
        process.kill()
    with operators.running(account, log, *operators.ALONE):
        jobs = 2 * PODS + 1
        await observer.until(lambda o: len(o.complete) == jobs, seconds=120)
        await pools.until(pool, waiting=0, running=0)
    before, after = range(PODS - 1), range(PODS - 1, 2 * PODS)
    order = [f"alice-{n}" for n in before] + ["bob-0"] + [f"alice-{n}" for n in after]
    assert observer.order() == order
    assert observer.peak_live == PODS
    assert len(observer.pods["bob-0"]) == PODS


async def test_a_wide_job_that_is_deleted_gives_its_room_back(
    account: Path, tmp_path: Path, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    pool = await pools.pool()
    limit = {"pool": pool, "concurrency": {"pods": PODS}}
    await pools.declare("limits", "pods", limit)
    with operators.running(account, tmp_path / "operator.log"):
        await create(api, namespace, pool, "alice-0", 30, 1)
        await observer.until(lambda o: "alice-0" in o.started)
        await create(api, namespace, pool, "bob-0", 1, PODS)
        await until_reserved(api, pool, f"{namespace}/bob-0")
        await create(api, namespace, pool, "alice-1", 0, 1)
        await pools.until(pool, waiting=2, running=1)
        await api.delete(f"{load.jobs_path(namespace)}/bob-0")
        await observer.until(lambda o: "alice-1" in o.complete)
    assert observer.started.keys() == {"alice-0", "alice-1"}
