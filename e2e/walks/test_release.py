"""When a slot is free again, and when it is not."""

from pathlib import Path

from e2e import load, operators
from e2e.observer import Observer
from e2e.operators import Operator
from e2e.plane.api import Api
from e2e.walks.conftest import Pools


async def create(api: Api, namespace: str, pool: str, name: str, *command: str) -> str:
    """Creates a Job; its path."""
    await api.create(
        load.jobs_path(namespace),
        load.labelled_job(name, "alice", list(command or ("true",)), pool=pool),
    )
    return f"{load.jobs_path(namespace)}/{name}"


async def occupied(
    pools: Pools, api: Api, namespace: str, observer: Observer, seconds: str
) -> tuple[str, str]:
    """A pool of one slot, held by the running Job first: the pool's name and the Job's path."""
    pool = await pools.pool(limit=1)
    first = await create(api, namespace, pool, "first", "sleep", seconds)
    await observer.until(lambda o: o.peak_running == 1)
    return pool, first


async def test_pods_that_a_deleted_job_left_behind_keep_its_slot(
    operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    """Row 35 of the fault matrix: a raw DELETE orphans the pods, which run to their end, and only
    then the next one starts.
    """
    pool, first = await occupied(pools, api, namespace, observer, "4")
    await create(api, namespace, pool, "second")
    await api.delete(first, {"propagationPolicy": "Orphan"})
    await observer.until(lambda o: "second" in o.started)
    assert observer.succeeded["first"] <= observer.started["second"]
    assert observer.peak_live == 1


async def test_orphaned_pods_keep_their_slot_over_a_restart_of_the_operator(
    account: Path, tmp_path: Path, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    log = tmp_path / "operator.log"
    with operators.running(account, log, *operators.ALONE) as process:
        pool, first = await occupied(pools, api, namespace, observer, "6")
        process.kill()
    await create(api, namespace, pool, "second")
    await api.delete(first, {"propagationPolicy": "Orphan"})
    with operators.running(account, log, *operators.ALONE):
        await observer.until(lambda o: "second" in o.started)
    assert observer.succeeded["first"] <= observer.started["second"]


async def test_a_job_deleted_with_its_pods_frees_its_slot(
    operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    pool, first = await occupied(pools, api, namespace, observer, "60")
    await create(api, namespace, pool, "second")
    await api.delete(first)
    await observer.until(lambda o: "second" in o.complete)
    assert observer.peak_live == 1


async def test_a_failed_job_frees_its_slot(
    operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    pool = await pools.pool(limit=1)
    await create(api, namespace, pool, "first", "false")
    await create(api, namespace, pool, "second")
    await observer.until(lambda o: "second" in o.complete)
    assert observer.started["first"] < observer.started["second"]


async def test_a_job_that_was_suspended_again_is_back_in_line_and_gets_a_higher_token(
    operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    _, first = await occupied(pools, api, namespace, observer, "3")
    await api.patch(first, {"spec": {"suspend": True}})
    await observer.until(lambda o: len(o.tokens["first"]) == 2)
    await observer.until(lambda o: "first" in o.complete)
    assert observer.tokens["first"] == sorted(observer.tokens["first"])
    assert observer.peak_live == 1
    job = await api.get(first)
    assert job["metadata"]["annotations"]["kwicket.dev/deliveries"] == "2"


async def test_a_worker_sees_its_token(
    operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    pool = await pools.pool(limit=1)
    script = 'test "$KWICKET_TOKEN" -gt 1000000000000'
    path = await create(api, namespace, pool, "first", "sh", "-c", script)
    await observer.until(lambda o: "first" in o.complete)
    job = await api.get(path)
    annotations = job["metadata"]["annotations"]
    assert annotations["kwicket.dev/pool"] == pool
    assert annotations["kwicket.dev/charged"] == "1"
    template = job["spec"]["template"]["metadata"]["annotations"]
    assert template["kwicket.dev/token"] == annotations["kwicket.dev/token"]
