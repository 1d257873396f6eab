"""Whose turn it is, on real Jobs."""

from typing import Any

from e2e import load
from e2e.observer import Observer
from e2e.operators import Operator
from e2e.plane.api import Api
from e2e.walks.conftest import Pools, paused


async def submit(api: Api, pools: Pools, pool: str, counts: dict[str, int], **labels: str) -> None:
    """All Jobs of one tenant, then those of the next, while the pool grants nothing."""
    jobs = (
        load.labelled_job(f"{tenant}-{number}", tenant, ["true"], pool=pool, **labels)
        for tenant, count in counts.items()
        for number in range(count)
    )
    async with paused(api, pool):
        for job in jobs:
            await api.create(load.jobs_path(pools.prefix), job)
        await pools.until(pool, waiting=sum(counts.values()))


async def order(observer: Observer, jobs: int) -> list[str]:
    """The names of the Jobs in the order of their tokens, once all have ended."""
    await observer.until(lambda o: len(o.complete) == jobs)
    return observer.order()


async def test_the_last_of_three_tenants_starts_third(
    operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    pool = await pools.pool(limit=1)
    await submit(api, pools, pool, {"alice": 6, "bob": 2, "carol": 1})
    started = await order(observer, 9)
    assert started[:5] == ["alice-0", "bob-0", "carol-0", "alice-1", "bob-1"]
    assert started[5:] == ["alice-2", "alice-3", "alice-4", "alice-5"]


async def test_a_share_of_two_is_two_turns_for_one(
    operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    shares = [{"tenant": "bob", "share": 2}]
    pool = await pools.pool(limit=1, fairness={"shares": shares})
    await submit(api, pools, pool, {"alice": 4, "bob": 8})
    tenants = [job.partition("-")[0] for job in await order(observer, 12)]
    assert [tenants[:n].count("bob") for n in (3, 6, 9, 12)] == [2, 4, 6, 8]


async def test_a_heavy_trait_goes_before_the_turn(
    operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    priority = [
        {"factor": "FairShare", "weight": 1},
        {"factor": "Trait", "trait": "tier", "weight": 10},
    ]
    pool = await pools.pool(limit=1, priority=priority)
    async with paused(api, pool):
        for name, tenant, tier in (("a-1", "alice", "0"), ("a-2", "alice", "1"), ("b", "bob", "0")):
            job: dict[str, Any] = load.labelled_job(name, tenant, ["true"], pool=pool)
            job["metadata"]["labels"]["trait.kwicket.dev/tier"] = tier
            await api.create(load.jobs_path(namespace), job)
        await pools.until(pool, waiting=3)
    assert await order(observer, 3) == ["a-2", "b", "a-1"]


async def test_a_full_lane_does_not_keep_the_other_lane_waiting(
    operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    pool = await pools.pool(limit=5)
    gpu = await pools.declare("lanes", "gpu", {"pool": pool})
    cpu = await pools.declare("lanes", "cpu", {"pool": pool})
    await pools.declare("limits", "gpu", {"lane": gpu, "concurrency": {"jobs": 1}})
    for name, lane in (("gpu-1", gpu), ("gpu-2", gpu), ("cpu-1", cpu)):
        job = load.labelled_job(name, "alice", ["sleep", "30"], lane=lane)
        await api.create(load.jobs_path(namespace), job)
    await observer.until(lambda o: {"gpu-1", "cpu-1"} <= o.started.keys())
    shown = await pools.until(pool, waiting=1, running=2)
    assert "gpu-2" not in observer.started
    assert shown["status"]["tenants"] == 1


async def test_a_held_job_starts_when_its_author_lets_it(
    operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    pool = await pools.pool(limit=1)
    held = load.labelled_job("held", "alice", ["true"], pool=pool, hold="true")
    await api.create(load.jobs_path(namespace), held)
    await api.create(
        load.jobs_path(namespace), load.labelled_job("free", "alice", ["true"], pool=pool)
    )
    await observer.until(lambda o: "free" in o.complete)
    assert "held" not in observer.started
    patch = {"metadata": {"labels": {"kwicket.dev/hold": None}}}
    await api.patch(f"{load.jobs_path(namespace)}/held", patch)
    await observer.until(lambda o: "held" in o.complete)
