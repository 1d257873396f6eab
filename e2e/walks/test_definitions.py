"""The definitions of Kwicket's kinds: too old, nothing is granted; made anew, tokens still rise."""

import asyncio
from collections.abc import Callable

import pytest

from e2e import load, release
from e2e.observer import Observer
from e2e.operators import Operator
from e2e.plane.api import Api
from e2e.release import KINDS, Kubeconfig
from e2e.statuses import condition
from e2e.tools import Tool
from e2e.walks.conftest import Pools
from e2e.walks.test_telling import create, note

PAUSED = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/paused"


@pytest.mark.timeout(180)
async def test_while_a_definition_is_older_than_the_operator_nothing_is_granted(
    operator: Operator,
    kubectl: Tool,
    restore: Callable[[], None],
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
) -> None:
    pool = await pools.pool()
    await create(api, namespace, "runs", "sleep", "15", pool=pool)
    await observer.until(lambda o: o.peak_running == 1)
    remove = f'[{{"op": "remove", "path": "{PAUSED}"}}]'
    kubectl("patch", "crd", "pools.kwicket.dev", "--type=json", "-p", remove)
    ready = await condition(api, "pools", pool, "DefinitionsOutdated")
    said = "CustomResourceDefinition pools.kwicket.dev does not know .spec.paused"
    assert ready["message"].startswith(said)
    await create(api, namespace, "waits", pool=pool)
    assert said in await note(api, namespace, "waits", "Queued")
    assert "waits" not in observer.started

    await asyncio.to_thread(restore)
    await observer.until(lambda o: {"waits", "runs"} <= o.complete.keys())
    assert len(observer.pods["runs"]) == 1


@pytest.mark.timeout(420)
async def test_over_definitions_deleted_and_made_again_tokens_rise_and_what_runs_is_counted(
    operator: Operator,
    kubeconfig: Kubeconfig,
    kubectl: Tool,
    restore: Callable[[], None],
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
) -> None:
    pool = await pools.pool(limit=1)
    for name in ("first", "second"):
        await create(api, namespace, name, pool=pool)
    await observer.until(lambda o: {"first", "second"} <= o.complete.keys())
    await create(api, namespace, "runs", "sleep", "infinity", pool=pool)
    await observer.until(lambda o: "runs" in o.started)
    definitions = [f"{plural}.kwicket.dev" for plural in KINDS]
    await asyncio.to_thread(kubectl, "delete", "crd", *definitions, "--timeout=200s")
    pools.forget()

    await asyncio.to_thread(restore)
    await asyncio.to_thread(release.await_force, kubeconfig)
    await pools.pool(limit=1)
    await create(api, namespace, "last", pool=pool)
    await pools.until(pool, waiting=1, running=1)
    assert "last" not in observer.started
    await api.delete(f"{load.jobs_path(namespace)}/runs")
    await observer.until(lambda o: "last" in o.complete)
    tokens = [min(observer.tokens[name]) for name in ("first", "second", "runs", "last")]
    assert tokens == sorted(set(tokens))
