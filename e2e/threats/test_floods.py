"""T14, T15, T38: floods, and requests that are only tried."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e import load, operators, statuses
from e2e.objects import token_of
from e2e.plane.api import Api, ApiError, Object
from e2e.threats.world import (
    OPERATED,
    RUNNING,
    STOPPED,
    World,
    in_pool,
    is_over,
    its_pods,
    jobs,
    labels,
)

IN_FLIGHT = 16


def many(world: World, count: int, tenant: str, pool: str) -> Iterator[Object]:
    """Jobs that are over at once."""
    return (in_pool(pool, world.job(tenant)) for _ in range(count))


def quiet(world: World, pool: str) -> Object:
    """A Job of somebody else: where no operator runs, one that needs none."""
    return in_pool(pool, world.job("carol")) if world.running else world.job(None)


async def flood(world: World, alice: Api, pool: str) -> str:
    """200 Jobs of a tenant's, and then one of another's; the path of that one."""
    await load.create_jobs(alice, world.home, many(world, 200, "alice", pool))
    return await world.submit(alice, in_pool(pool, world.job("carol")))


async def starts_second(world: World, alice: Api, where: str, pool: str) -> None:
    """At the latest, and not behind all of them."""
    await is_over(alice, where)
    listed, _ = await alice.list(jobs(world.home), labelSelector=f"kwicket.dev/pool={pool}")
    tokens = {job["metadata"]["name"]: token_of(job) for job in listed}
    mine = tokens.pop(where.rpartition("/")[2])
    assert len(tokens) == 200
    assert sum(0 < token < mine for token in tokens.values()) <= 1


@RUNNING
async def test_t14_a_flood_of_jobs(world: World, alice: Api, admin: Api, pool: str) -> None:
    await statuses.hold(admin, pool)
    where = await flood(world, alice, pool)
    await statuses.shown(admin, pool, waiting=201)
    await load.pause(admin, pool, False)
    await starts_second(world, alice, where, pool)
    await load.pause(admin, pool, True)
    await alice.delete(jobs(world.home), labelSelector=f"kwicket.dev/pool={pool}")


@STOPPED
async def test_t14_a_flood_of_jobs_while_the_operator_is_stopped(
    world: World, alice: Api, admin: Api, pool: str, tmp_path: Path
) -> None:
    """All of them wait, what has no tenant runs, and who flooded gains nothing once it is back."""
    where = await flood(world, alice, pool)
    await is_over(alice, await world.submit(alice, world.job(None)))
    listed, _ = await alice.list(jobs(world.home), labelSelector=f"kwicket.dev/pool={pool}")
    assert [job["spec"]["suspend"] for job in listed] == [True] * 201
    with operators.running(world.kubeconfig("kwicket-system/kwicket"), tmp_path / "operator.log"):
        await starts_second(world, alice, where, pool)
        await load.pause(admin, pool, True)
    await alice.delete(jobs(world.home), labelSelector=f"kwicket.dev/pool={pool}")


async def test_t14_a_quota_bounds_the_jobs_of_a_namespace(
    world: World, alice: Api, admin: Api, other: str
) -> None:
    """Kubernetes' own quota counts waiting Jobs like others: docs/policies.md recommends one."""
    hard = {"count/jobs.batch": "2"}
    quota = {"metadata": {"name": "jobs"}, "spec": {"hard": hard}}
    quotas = f"/api/v1/namespaces/{other}/resourcequotas"
    await admin.create(quotas, quota)
    await admin.until(
        f"{quotas}/jobs", lambda seen: bool(seen and seen.get("status", {}).get("hard"))
    )
    for _ in range(2):
        await world.submit(alice, namespace=other)
    await admin.until(
        f"{quotas}/jobs",
        lambda seen: seen is not None and seen["status"].get("used") == hard,
    )
    with pytest.raises(ApiError, match="exceeded quota"):
        await world.submit(alice, namespace=other)


async def test_t15_an_update_storm(world: World, alice: Api, pool: str) -> None:
    """A tenant that never stops changing its Job keeps nobody else's from starting."""
    restless = in_pool(pool, world.job())
    restless["metadata"]["labels"]["kwicket.dev/hold"] = "true"
    where = await world.submit(alice, restless)

    async def storm() -> None:
        number = 0
        while True:
            number += 1
            await alice.patch(where, {"metadata": {"annotations": {"note": str(number)}}})
            await alice.patch(where, labels(hold="true" if number % 2 else "false"))
            await alice.patch(where, labels(hold="true"))

    storming = asyncio.create_task(storm())
    await is_over(alice, await world.submit(alice, quiet(world, pool)))
    assert not storming.done()
    storming.cancel()
    await asyncio.wait([storming])
    assert world.running or (await alice.get(where))["spec"]["suspend"] is True


async def test_t15_churn_of_jobs(world: World, alice: Api, pool: str) -> None:
    """A Job made and deleted again and again is a new submission each time."""
    churned = in_pool(pool, world.job())
    where = jobs(world.home, churned["metadata"]["name"])
    for _ in range(20):
        await alice.create(jobs(world.home), churned)
        await alice.delete(where)
        await alice.until(where, lambda seen: seen is None)
    await is_over(alice, await world.submit(alice, quiet(world, pool)))


@OPERATED
async def test_t15_a_job_that_starts_and_is_suspended_frees_its_slot(
    world: World, alice: Api, pool: str
) -> None:
    """Its author may take it back; the next tenant's Job then starts, with one slot in all."""
    first = in_pool(pool, world.job())
    first["spec"]["template"]["spec"]["containers"][0]["command"] = ["sleep", "60"]
    first["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 1
    where = await world.submit(alice, first)
    await its_pods(alice, where)
    change = labels(hold="true") | {"spec": {"suspend": True}}
    await alice.patch(where, change)
    await is_over(alice, await world.submit(alice, quiet(world, pool)))


async def dry_runs(world: World, alice: Api, pool: str, count: int) -> None:
    gate = asyncio.Semaphore(IN_FLIGHT)

    async def try_one(wanted: Object) -> None:
        async with gate:
            await alice.create(jobs(world.home), wanted, dryRun="All")

    await asyncio.gather(*(try_one(wanted) for wanted in many(world, count, "dry", pool)))


@RUNNING
async def test_t38_a_thousand_dry_runs(world: World, alice: Api, admin: Api, pool: str) -> None:
    """No Job, no turn, no token comes of them: the Ledger stays byte for byte what it was."""
    await is_over(alice, await world.submit(alice, in_pool(pool, world.job())))
    ledger = f"{load.GROUP}/ledgers/{pool}"
    before = await admin.until(ledger, lambda book: not (book or {})["spec"].get("intents"))
    await dry_runs(world, alice, pool, 1000)
    assert await admin.get(ledger) == before


@STOPPED
async def test_t38_dry_runs_while_the_operator_is_stopped(
    world: World, alice: Api, admin: Api, pool: str
) -> None:
    """Nothing is stored for it to find when it is back."""
    paths = jobs(world.home), f"{load.GROUP}/ledgers", f"{load.GROUP}/pools"
    before = [(await admin.list(path))[0] for path in paths]
    await dry_runs(world, alice, pool, 200)
    assert [(await admin.list(path))[0] for path in paths] == before
