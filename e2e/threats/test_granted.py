"""What a grant gives the pods of a Job, whoever suspended it and however often it starts."""

import contextlib
import uuid
from collections.abc import AsyncIterator

import pytest

from e2e import load
from e2e.objects import TOKEN, token_of
from e2e.plane.api import Api, Object
from e2e.threats.conftest import drop_pool
from e2e.threats.test_left_over import enforce
from e2e.threats.world import OPERATED, RUNNING, World, in_pool, is_over, its_pods

FENCED = {"fieldRef": {"fieldPath": f"metadata.annotations['{TOKEN}']"}}


@RUNNING
async def test_pods_get_their_tenant_and_token_and_a_failed_job_frees_its_slot(
    world: World, alice: Api, pool: str
) -> None:
    """Below Kubernetes 1.36 nothing has added these to the Job, but for the operator itself."""
    wanted = in_pool(pool, world.job(backoffLimit=0))
    wanted["spec"]["template"]["spec"]["containers"][0]["command"] = ["false"]
    where = await world.submit(alice, wanted)
    failed = await alice.until(where, has_failed)
    assert failed is not None
    assert failed["spec"]["podReplacementPolicy"] == "Failed"
    [pod] = await its_pods(alice, where)
    assert pod["metadata"]["labels"]["kwicket.dev/tenant"] == "alice"
    assert pod["metadata"]["annotations"][TOKEN] == str(token_of(failed))
    await is_over(alice, await world.submit(alice, in_pool(pool, world.job())))


def has_failed(seen: Object | None) -> bool:
    """The Job's own word for it."""
    conditions = (seen or {}).get("status", {}).get("conditions", [])
    return any(c["type"] == "Failed" and c["status"] == "True" for c in conditions)


@pytest.fixture
async def short(world: World, admin: Api) -> AsyncIterator[str]:
    """A Pool of one slot, whose Jobs must start soon."""
    name = f"p-{uuid.uuid4().hex[:8]}"
    await load.make_pool(admin, name, limit=1, lease={"startWithin": "10s"})
    yield name
    await drop_pool(admin, name)


@OPERATED
@pytest.mark.timeout(120)
async def test_a_job_is_put_back_by_a_lapse_and_by_somebody_who_suspends_it(
    world: World, alice: Api, admin: Api, short: str
) -> None:
    """Up to Kubernetes 1.35 its template is closed until its startTime is taken off."""
    wanted = in_pool(short, world.job())
    wanted["spec"]["template"]["spec"]["containers"][0]["image"] = "missing:1"
    where = await world.submit(alice, wanted)
    first = token_of(await admin.until(where, lambda job: token_of(job) > 0))
    second = token_of(await admin.until(where, lambda job: token_of(job) > first, seconds=60))
    await alice.patch(where, {"spec": {"suspend": True}})
    again = await admin.until(where, lambda job: token_of(job) > second, seconds=60)
    assert again is not None
    assert again["metadata"]["annotations"]["kwicket.dev/deliveries"] == "3"
    template = again["spec"]["template"]["metadata"]["annotations"]
    assert int(template[TOKEN]) == token_of(again)
    await alice.delete(where)


def waits_for_a_token(world: World, pool: str) -> Object:
    """A Job whose pods end by themselves only if they were given a token."""
    wanted = in_pool(pool, world.manifest("alice", suspend=False))
    spec = wanted["spec"]["template"]["spec"]
    spec["terminationGracePeriodSeconds"] = 1
    spec["containers"][0] |= {
        "command": ["sh", "-c", 'test "$KWICKET_TOKEN" || sleep 1000'],
        "env": [{"name": "KWICKET_TOKEN", "valueFrom": FENCED}],
    }
    return wanted


@RUNNING
async def test_a_stray_starts_again_with_a_token_in_its_pods(
    world: World, alice: Api, pool: str
) -> None:
    """Also up to Kubernetes 1.35, where the template of a Job that ran is closed."""
    enforce(world, False)
    with contextlib.ExitStack() as stack:
        stack.callback(enforce, world, True)
        where = await world.submit(alice, waits_for_a_token(world, pool))
        [first] = await its_pods(alice, where)
    await is_over(alice, where)
    stray = await alice.get(where)
    assert stray["metadata"]["annotations"]["kwicket.dev/deliveries"] == "2"
    pods = await alice.list(
        f"/api/v1/namespaces/{world.home}/pods",
        labelSelector=f"job-name={stray['metadata']['name']}",
    )
    [again] = [pod for pod in pods[0] if pod["metadata"]["name"] != first["metadata"]["name"]]
    assert again["metadata"]["annotations"][TOKEN] == stray["metadata"]["annotations"][TOKEN]
    await alice.delete(where, {"propagationPolicy": "Background"})
