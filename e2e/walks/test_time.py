"""Charging by time: who runs for long starts less often, and every charge is settled."""

from pathlib import Path
from typing import Any

import pytest

from e2e import load, operators
from e2e.observer import Observer
from e2e.operators import Operator
from e2e.plane.api import Api, Object
from e2e.walks.conftest import Pools, paused

GUESS = "60000"
"""The slot-milliseconds that the first Job of a stranger is charged."""


def spec(ledger: Object | None) -> dict[str, Any]:
    """What a Ledger holds; nothing where there is none."""
    held: dict[str, Any] = (ledger or {}).get("spec", {})
    return held


async def ledger(api: Api, pool: str, *, charges: int) -> dict[str, Any]:
    """What the pool's Ledger holds, once so many of its Jobs' charges are open."""
    path = f"{load.GROUP}/ledgers/{pool}"

    def is_so(body: Object | None) -> bool:
        return sum(len(one["open"]) for one in spec(body).get("charges", [])) == charges

    return spec(await api.until(path, is_so))


async def charged(api: Api, namespace: str, job: str) -> str:
    """What the Job says that its start was charged."""
    body = await api.get(f"{load.jobs_path(namespace)}/{job}")
    return str(body["metadata"]["annotations"]["kwicket.dev/charged"])


@pytest.mark.timeout(120)
async def test_short_jobs_start_more_often_than_long_ones(
    operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    """Turn by turn it would be alice, bob, alice; but bob's first has cost him less."""
    pool = await pools.pool(limit=1, fairness={"charge": "Time"})
    jobs = [("alice-0", "6"), ("alice-1", "6"), ("bob-0", "0"), ("bob-1", "0"), ("bob-2", "0")]
    async with paused(api, pool):
        for name, seconds in jobs:
            tenant = name.partition("-")[0]
            job = load.labelled_job(name, tenant, ["sleep", seconds], pool=pool)
            await api.create(load.jobs_path(namespace), job)
        await pools.until(pool, waiting=len(jobs))
    await observer.until(lambda o: len(o.complete) == len(jobs), seconds=90)
    assert observer.order()[:3] == ["alice-0", "bob-0", "bob-1"]
    assert [await charged(api, namespace, f"{t}-0") for t in ("alice", "bob")] == [GUESS, GUESS]
    assert 1000 <= int(await charged(api, namespace, "bob-1")) < int(GUESS)
    learned = (await ledger(api, pool, charges=0))["means"]
    assert {one["tenant"] for one in learned} == {"alice", "bob"}


@pytest.mark.timeout(120)
async def test_a_job_that_ended_while_no_operator_ran_is_settled_by_its_own_stamps(
    account: Path, tmp_path: Path, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    log = tmp_path / "operator.log"
    pool = await pools.pool(limit=1, fairness={"charge": "Time"})
    with operators.running(account, log, *operators.ALONE) as process:
        job = load.labelled_job("first", "alice", ["sleep", "2"], pool=pool)
        await api.create(load.jobs_path(namespace), job)
        await observer.until(lambda o: o.peak_running == 1)
        await ledger(api, pool, charges=1)
        process.kill()
    await observer.until(lambda o: "first" in o.complete)
    with operators.running(account, log, *operators.ALONE):
        settled = await ledger(api, pool, charges=0)
    [learned] = settled["means"]
    [tag] = settled["tags"]
    assert (learned["tenant"], tag["tenant"]) == ("alice", "alice")
    assert int(tag["at"]) == learned["mean"] * int(settled["scale"])
    assert learned["mean"] < int(GUESS)
