"""A running operator's metrics say what the API and an observer have seen."""

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from e2e import load, operators, release
from e2e.metrics import Metrics
from e2e.observer import Observer
from e2e.plane.api import Api
from e2e.recoveries import Recovered
from e2e.release import Kubeconfig
from e2e.statuses import condition
from e2e.tools import Tool
from e2e.walks.conftest import Pools
from e2e.walks.test_policies import BINDING
from e2e.walks.test_telling import create, note
from kwicket.kube.metrics.catalogue import COMMON, OPERATOR

HOLD = "mutatingadmissionpolicybinding/kwicket-hold"


@pytest.fixture
def metrics(account: Path, tmp_path: Path) -> Iterator[Metrics]:
    """Those of a running operator."""
    metrics = Metrics()
    with operators.running(account, tmp_path / "operator.log", *metrics.options):
        yield metrics


@pytest.mark.timeout(180)
async def test_grants_waiting_and_running_are_those_that_the_observer_sees(
    metrics: Metrics, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    pool = await pools.pool(limit=2)
    lane = await pools.declare("lanes", "lane", {"pool": pool})
    for number in range(4):
        await create(api, namespace, f"pool-{number}", pool=pool)
    for number in range(3):
        await create(api, namespace, f"lane-{number}", lane=lane)
    await observer.until(lambda o: len(o.complete) == 7, seconds=90)
    for number in range(3):
        await create(api, namespace, f"long-{number}", "sleep", "600", pool=pool)
    await pools.until(pool, waiting=1, running=2)
    await observer.until(lambda o: len(o.tokens) == 9)

    granted = {"": 0, lane: 0}
    for name in observer.tokens:
        granted[lane if name.startswith("lane-") else ""] += len(observer.tokens[name])
    assert granted == {"": 6, lane: 3}
    for name, count in granted.items():
        assert await metrics.number("kwicket_grants_total", pool=pool, lane=name) == count
    assert await metrics.number("kwicket_grant_wait_seconds_count", pool=pool) == 9
    assert await metrics.number("kwicket_waiting_jobs", pool=pool, lane="") == 1
    assert await metrics.number("kwicket_running_jobs", pool=pool, lane="") == 2
    labels = {"pool": pool, "lane": "", "limit": pool, "unit": "jobs"}
    assert await metrics.number("kwicket_limit_used", **labels) == 2
    assert await metrics.number("kwicket_limit_max", **labels) == 2
    assert await metrics.number("kwicket_leader") == 1
    assert await metrics.number("kwicket_ledger_up", pool=pool) == 1
    written = await metrics.number("kwicket_ledger_writes_total", pool=pool, outcome="written")
    assert written


async def test_what_a_running_operator_shows_is_what_is_documented(
    metrics: Metrics, pools: Pools, api: Api, namespace: str
) -> None:
    pool = await pools.pool(limit=1)
    await create(api, namespace, "lost", pool="nowhere")
    assert "nowhere" in await note(api, namespace, "lost", "UnknownPool")
    await condition(api, "pools", pool, "Serving")
    scraped = await metrics.scrape()
    await metrics.becomes(1, "kwicket_set_aside_jobs", reason="UnknownPool")
    kinds = {dict(labels)["resource"] for labels in scraped["kwicket_reflector_silence_seconds"]}
    assert kinds == {"jobs", "pods", "namespaces", "nodes"}
    endings = ("_bucket", "_count", "_sum")
    known = {metric.name for metric in (*COMMON, *OPERATOR)}
    known |= {name + ending for name in known for ending in endings}
    assert {name for name in scraped if not name.startswith("process_")} <= known


@pytest.mark.timeout(180)
async def test_strays_that_are_stopped_are_counted_and_missing_policies_shown(
    metrics: Metrics,
    kubectl: Tool,
    kubeconfig: Kubeconfig,
    restore: Callable[[], None],
    pools: Pools,
    api: Api,
    namespace: str,
    recovered: Recovered,
) -> None:
    """Row 36 of the fault matrix, where the policy that refuses it is absent."""
    pool = await pools.pool(limit=0)
    await condition(api, "pools", pool, "InForce", "PolicyMissing")
    assert await metrics.number("kwicket_policies_in_force") == 1
    assert await metrics.number("kwicket_strays_stopped_total") == 0
    kubectl("delete", HOLD, BINDING, "validatingadmissionpolicybinding/kwicket-tenants")
    await release.until_policies_act(kubeconfig("alice"), False)
    await condition(api, "pools", pool, "PolicyMissing", "PolicyMissing")
    await metrics.becomes(0, "kwicket_policies_in_force")
    for name in ("stray-1", "stray-2"):
        await create(api, namespace, name, "sleep", "600", pool=pool)
        await note(api, namespace, name, "StartedWithoutGrant")
    await metrics.becomes(2, "kwicket_set_aside_jobs", reason="StartedWithoutGrant")
    begin = time.monotonic()
    await asyncio.to_thread(restore)
    for name in ("stray-1", "stray-2"):
        await note(api, namespace, name, "StoppedWithoutGrant")
    recovered(
        "36",
        "Jobs started without a policy are suspended once it is back",
        time.monotonic() - begin,
    )
    for name in ("stray-1", "stray-2"):
        job = await api.get(f"{load.jobs_path(namespace)}/{name}")
        assert job["spec"]["suspend"] is True
    await metrics.becomes(2, "kwicket_strays_stopped_total")
    assert await metrics.number("kwicket_policies_in_force") == 1
