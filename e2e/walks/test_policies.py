"""The operator watches the policies: out of force nothing is granted, in force strays stop."""

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e import load, operators, release
from e2e.observer import Observer
from e2e.operators import Operator
from e2e.plane.api import Api
from e2e.release import Kubeconfig
from e2e.tools import Tool
from e2e.walks.conftest import Pools
from e2e.walks.test_telling import condition, create, note

GUARD = "validatingadmissionpolicy/kwicket-guard"
BINDING = "validatingadmissionpolicybinding/kwicket-guard"
HOLD = "mutatingadmissionpolicybinding/kwicket-hold"

type Spoil = Callable[[Tool], None]


def removes_a_binding(kubectl: Tool) -> None:
    kubectl("delete", BINDING)


def removes_a_policy(kubectl: Tool) -> None:
    kubectl("delete", GUARD)


def removes_the_mutation(kubectl: Tool) -> None:
    kubectl("delete", HOLD)


def only_audits(kubectl: Tool) -> None:
    spec = {"validationActions": ["Audit"]}
    kubectl("patch", BINDING, "--type=merge", "-p", json.dumps({"spec": spec}))


def fails_open(kubectl: Tool) -> None:
    kubectl("patch", GUARD, "--type=merge", "-p", '{"spec": {"failurePolicy": "Ignore"}}')


def allows_one_rule(kubectl: Tool) -> None:
    patch = [{"op": "replace", "path": "/spec/validations/1/expression", "value": "true"}]
    kubectl("patch", GUARD, "--type=json", "-p", json.dumps(patch))


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (removes_a_binding, "ValidatingAdmissionPolicyBinding kwicket-guard is missing"),
        (removes_a_policy, "ValidatingAdmissionPolicy kwicket-guard is missing"),
        (removes_the_mutation, "MutatingAdmissionPolicyBinding kwicket-hold is missing"),
        (only_audits, "kwicket-guard was changed: spec.validationActions is ['Audit']"),
        (fails_open, "kwicket-guard was changed: spec.failurePolicy is 'Ignore'"),
        (allows_one_rule, "kwicket-guard was changed: spec.validations[1].expression is 'true'"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_without_its_policies_nothing_is_granted_and_every_pool_says_which(
    operator: Operator,
    kubectl: Tool,
    restore: Callable[[], None],
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    spoil: Spoil,
    said: str,
) -> None:
    pool, other = await pools.pool(), await pools.declare("pools", "other", {})
    await create(api, namespace, "runs", "sleep", "20", pool=pool)
    await observer.until(lambda o: o.peak_running == 1)
    begin = time.monotonic()
    await asyncio.to_thread(spoil, kubectl)
    for name in (pool, other):
        missing = await condition(api, "pools", name, "PolicyMissing", "PolicyMissing")
        assert missing["status"] == "True"
        assert said in missing["message"]
        assert "run helm upgrade" in missing["message"]
    seen = time.monotonic() - begin
    waits = load.labelled_job("waits", "alice", ["true"], pool=pool)
    waits["spec"]["suspend"] = True
    await api.create(load.jobs_path(namespace), waits)
    assert said in await note(api, namespace, "waits", "Queued")
    assert "waits" not in observer.started

    begin = time.monotonic()
    await asyncio.to_thread(restore)
    await observer.until(lambda o: "waits" in o.started)
    back = time.monotonic() - begin
    print(f"{spoil.__name__}: told after {seen:.1f} s, granted {back:.1f} s after helm upgrade")
    assert seen < 60
    await condition(api, "pools", pool, "InForce", "PolicyMissing")
    await observer.until(lambda o: "runs" in o.complete)
    assert len(observer.pods["runs"]) == 1


@pytest.mark.timeout(180)
async def test_jobs_started_without_enforcement_are_suspended_when_it_is_back(
    operator: Operator,
    kubectl: Tool,
    kubeconfig: Kubeconfig,
    restore: Callable[[], None],
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
) -> None:
    """Meanwhile they behave as if Kwicket were absent."""
    pool = await pools.pool(limit=1)
    kubectl("delete", HOLD, BINDING, "validatingadmissionpolicybinding/kwicket-tenants")
    await release.until_policies_act(kubeconfig("alice"), False)
    await condition(api, "pools", pool, "PolicyMissing", "PolicyMissing")
    await create(api, namespace, "stray", "sleep", "20", pool=pool)
    await create(api, namespace, "quick", pool=pool)
    await observer.until(lambda o: "quick" in o.complete)
    told = await note(api, namespace, "stray", "StartedWithoutGrant")
    assert told.startswith("it runs without a grant")

    await asyncio.to_thread(restore)
    stopped = await note(api, namespace, "stray", "StoppedWithoutGrant")
    assert "leave spec.suspend to Kwicket, or delete the Job" in stopped
    await observer.until(lambda o: "stray" in o.complete)
    assert observer.peak_live <= 2
    job = await api.get(f"{load.jobs_path(namespace)}/stray")
    assert job["metadata"]["annotations"]["kwicket.dev/deliveries"] == "2"
    assert len(observer.tokens["stray"]) == 1
    assert len(observer.pods["stray"]) == 2


async def test_an_operator_that_starts_without_the_policies_grants_nothing(
    account: Path,
    tmp_path: Path,
    kubectl: Tool,
    restore: Callable[[], None],
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
) -> None:
    pool = await pools.pool()
    await create(api, namespace, "waits", pool=pool)
    kubectl("delete", BINDING)
    with operators.running(account, tmp_path / "operator.log"):
        ready = await condition(api, "pools", pool, "PolicyMissing")
        assert ready["status"] == "False"
        assert "waits" not in observer.started
        await asyncio.to_thread(restore)
        await observer.until(lambda o: "waits" in o.complete)


async def test_without_what_the_policies_should_be_it_says_so(
    operator: Operator,
    kubectl: Tool,
    restore: Callable[[], None],
    pools: Pools,
    api: Api,
) -> None:
    pool = await pools.pool()
    await condition(api, "pools", pool, "InForce", "PolicyMissing")
    kubectl("delete", "configmap", "kwicket-policies", "-n", "kwicket-system")
    missing = await condition(api, "pools", pool, "PolicyMissing", "PolicyMissing")
    assert "ConfigMap kwicket-system/kwicket-policies" in missing["message"]
    await asyncio.to_thread(restore)
    await condition(api, "pools", pool, "InForce", "PolicyMissing")
