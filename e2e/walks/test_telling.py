"""What users are told: events on Jobs, statuses of Pools, reasons on bad objects, a clean end."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from e2e import load, operators
from e2e.observer import Observer
from e2e.operators import Operator
from e2e.plane import Plane
from e2e.plane.api import Api, ApiError
from e2e.statuses import condition
from e2e.walks.conftest import Pools

EVENTS = "/apis/events.k8s.io/v1/namespaces/{}/events"


async def create(api: Api, namespace: str, name: str, *command: str, **labels: str) -> None:
    """Creates alice's Job."""
    job = load.labelled_job(name, "alice", list(command or ("true",)), **labels)
    await api.create(load.jobs_path(namespace), job)


async def note(api: Api, namespace: str, job: str, reason: str) -> str:
    """The note of the event with this reason on this Job, once it is there."""

    def matching(objects: Any) -> list[str]:
        return [
            str(event["note"])
            for event in objects.values()
            if event["regarding"].get("name") == job and event["reason"] == reason
        ]

    path = EVENTS.format(namespace)
    return matching(await api.until_all(path, lambda seen: bool(matching(seen))))[0]


async def test_a_waiting_job_says_where_it_stands_and_why(
    operator: Operator, pools: Pools, api: Api, namespace: str
) -> None:
    pool = await pools.pool(limit=1)
    await create(api, namespace, "first", "sleep", "30", pool=pool)
    granted = await note(api, namespace, "first", "Granted")
    assert granted.startswith(f"started by pool {pool} with token ")
    await create(api, namespace, "second", pool=pool)
    queued = await note(api, namespace, "second", "Queued")
    assert queued == (
        f"waits in pool {pool} at position 1: limit {pool} is reached: 1 of 1 Jobs run"
    )


async def test_a_pool_shows_who_waits_and_runs(
    operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    pool = await pools.pool(limit=1)
    for name in ("first", "second", "third"):
        await create(api, namespace, name, "sleep", "30", pool=pool)
    status = (await pools.until(pool, waiting=2, running=1, tenants=1))["status"]
    assert status["oldestWaiting"] <= status["lastGrant"]
    assert int(status["token"]) == observer.tokens["first"][0]
    assert (await condition(api, "pools", pool, "Serving"))["status"] == "True"


async def test_a_wide_job_says_that_its_turn_has_come(
    operator: Operator, pools: Pools, api: Api, namespace: str
) -> None:
    """And the next one says for whom room is kept."""
    pool = await pools.pool()
    await pools.declare("limits", "pods", {"pool": pool, "concurrency": {"pods": 2}})
    await create(api, namespace, "first", "sleep", "30", pool=pool)
    await note(api, namespace, "first", "Granted")
    wide = load.labelled_job("wide", "bob", ["true"], pool=pool)
    wide["spec"] |= {"parallelism": 2, "completions": 2}
    await api.create(load.jobs_path(namespace), wide)
    assert "all of its 2 pods" in await note(api, namespace, "wide", "TurnTaken")
    await create(api, namespace, "late", pool=pool)
    assert f"room is being kept for the 2 pods of {namespace}/wide" in await note(
        api, namespace, "late", "Queued"
    )


async def test_a_job_of_an_unknown_pool_is_set_aside_until_the_pool_exists(
    operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    await create(api, namespace, "early", pool=f"{namespace}-main")
    said = await note(api, namespace, "early", "UnknownPool")
    assert said.startswith(f"there is no Pool {namespace}-main")
    await pools.pool()
    await observer.until(lambda o: "early" in o.complete)


async def test_a_lane_of_an_unknown_pool_says_so_and_the_others_go_on(
    operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    lane = await pools.declare("lanes", "lost", {"pool": "no-such-pool"})
    assert "no-such-pool" in (await condition(api, "lanes", lane, "UnknownPool"))["message"]
    await create(api, namespace, "stray", lane=lane)
    assert lane in await note(api, namespace, "stray", "UnknownLane")
    pool = await pools.pool()
    await create(api, namespace, "good", pool=pool)
    await observer.until(lambda o: "good" in o.complete)


def with_a_senseless_trait(job: Any) -> None:
    job["metadata"]["labels"]["trait.kwicket.dev/tier"] = "1e9"


def wider_than_its_limit(job: Any) -> None:
    job["spec"] |= {"parallelism": 3, "completions": 3}


@pytest.mark.parametrize(
    ("spoil", "reason", "said"),
    [
        (with_a_senseless_trait, "BadTrait", "'1e9'"),
        (wider_than_its_limit, "TooWide", "3 pods at once"),
    ],
)
async def test_a_job_that_can_never_start_is_set_aside_and_the_others_go_on(
    operator: Operator,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    spoil: Callable[[Any], None],
    reason: str,
    said: str,
) -> None:
    pool = await pools.pool()
    await pools.declare("limits", "pods", {"pool": pool, "concurrency": {"pods": 2}})
    odd = load.labelled_job("odd", "alice", ["true"], pool=pool)
    spoil(odd)
    await api.create(load.jobs_path(namespace), odd)
    assert said in await note(api, namespace, "odd", reason)
    await create(api, namespace, "good", pool=pool)
    await observer.until(lambda o: "good" in o.complete)


async def test_a_limit_of_a_newer_schema_closes_its_pool_and_says_so(
    operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/limits.kwicket.dev"
    before = await api.get(definition)
    spec = before["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec"
    rules = spec["x-kubernetes-validations"]
    await api.patch(
        definition, [{"op": "remove", "path": f"{path}/x-kubernetes-validations"}], "json"
    )
    try:
        shut, fine = await pools.pool(), await pools.declare("pools", "fine", {})
        limit = await declare_when_possible(pools, shut)
        assert (await condition(api, "limits", limit, "NotUnderstood"))["status"] == "False"
        await condition(api, "pools", shut, "LimitNotUnderstood")
        await create(api, namespace, "shut", pool=shut)
        assert limit in await note(api, namespace, "shut", "Queued")
        await create(api, namespace, "fine", pool=fine)
        await observer.until(lambda o: "fine" in o.complete)
        assert "shut" not in observer.started
    finally:
        restored = [{"op": "add", "path": f"{path}/x-kubernetes-validations", "value": rules}]
        await api.patch(definition, restored, "json")


async def declare_when_possible(pools: Pools, pool: str) -> str:
    """A Limit without any bound, as soon as the API server has taken the looser schema in."""
    async with asyncio.timeout(20):
        while True:
            try:
                return await pools.declare("limits", "odd", {"pool": pool})
            except ApiError as error:
                if error.status not in (422, 429):
                    raise
                await asyncio.sleep(0.1)


async def test_a_pool_says_which_silent_nodes_hold_its_slots(
    plane: Plane, operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    pool = await pools.pool(limit=1)
    await create(api, namespace, "first", "sleep", "60", pool=pool)
    await observer.until(lambda o: o.peak_running == 1)
    pods, _ = await api.list(f"/api/v1/namespaces/{namespace}/pods")
    node = pods[0]["spec"]["nodeName"]

    await asyncio.to_thread(plane.node, node, "silence")
    try:
        silent = await condition(api, "pools", pool, "NodeSilent", "NodesReachable")
        assert silent["status"] == "False"
        assert silent["message"].endswith(node)
    finally:
        await asyncio.to_thread(plane.node, node, "return")
    again = await condition(api, "pools", pool, "AllReady", "NodesReachable")
    assert again["status"] == "True"


async def test_sigterm_ends_it_at_once_and_its_log_is_json(
    account: Path, tmp_path: Path, pools: Pools, api: Api
) -> None:
    """Operator.end raises if it takes five seconds."""
    log = tmp_path / "operator.log"
    with operators.running(account, log) as process:
        await condition(api, "pools", await pools.pool(), "Serving")
        assert process.end() == 0
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {"time", "level", "message"} <= lines[-1].keys()
    assert "stopping" in [line["message"] for line in lines]


async def test_a_decision_is_one_line_of_the_log(
    account: Path, tmp_path: Path, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    log = tmp_path / "operator.log"
    pool = await pools.pool(limit=1)
    with operators.running(account, log):
        await create(api, namespace, "one", pool=pool)
        await observer.until(lambda o: "one" in o.complete)
    granted = [json.loads(line) for line in log.read_text().splitlines() if '"granted"' in line]
    assert [(line["job"], line["tenant"], line["pool"]) for line in granted] == [
        (f"{namespace}/one", "alice", pool)
    ]
