"""T18 and forged pods: keeping a slot, slipping out of one, or holding one without a Job."""

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from e2e import load
from e2e.objects import TOKEN, start
from e2e.observer import Observer
from e2e.plane.api import Api, ApiError, Object
from e2e.threats.conftest import drop_pool
from e2e.threats.test_belonging import APPS, bare_pod, deployment
from e2e.threats.test_starting import changes_nothing
from e2e.threats.world import OPERATED, World, is_over, its_pods, jobs, pods, refusal

UID = "batch.kubernetes.io/controller-uid"
TRACKING = "batch.kubernetes.io/job-tracking"
FORGERIES: dict[str, Object] = {
    "tenant": {"labels": {"kwicket.dev/tenant": "alice"}},
    "slot": {
        "labels": {"kwicket.dev/tenant": "bob", UID: "6e8a2e48-0000-4000-8000-000000000000"},
        "annotations": {TOKEN: "1764000000001", "kwicket.dev/pool": "main"},
    },
}
ONLY = "only the pods of a Job carry the label kwicket.dev/tenant"


def sleeping(world: World, seconds: str, **spec: Any) -> Object:
    """A Job whose pod runs until then, or until it is told to end."""
    wanted = world.job(**spec)
    wanted["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 1
    wanted["spec"]["template"]["spec"]["containers"][0]["command"] = ["sleep", seconds]
    wanted["spec"]["template"]["metadata"] = {"labels": {"kwicket.dev/tenant": "alice"}}
    return wanted


@pytest.mark.parametrize("forgery", FORGERIES)
async def test_t18_a_bare_pod_holds_a_slot(world: World, alice: Api, forgery: str) -> None:
    """By itself, or given the labels once it is there."""
    with pytest.raises(ApiError, match=ONLY):
        await alice.create(pods(world.home), bare_pod(FORGERIES[forgery]))
    plain = bare_pod({"generateName": "bare-", "name": None})
    made = await alice.create(pods(world.home), plain)
    where = pods(world.home, made["metadata"]["name"])
    with pytest.raises(ApiError, match=r"by which Kwicket knows a pod do not change"):
        await alice.patch(where, {"metadata": FORGERIES[forgery]})


@pytest.mark.parametrize("forgery", FORGERIES)
async def test_t18_pods_of_another_kind_hold_a_slot(
    world: World, alice: Api, admin: Api, other: str, forgery: str
) -> None:
    """What is no Job may not make such pods either, and its author is told by its events."""
    await admin.until(f"/api/v1/namespaces/{other}/serviceaccounts/default", bool)
    await alice.create(f"{APPS}/{other}/deployments", deployment(FORGERIES[forgery]))
    events = f"/apis/events.k8s.io/v1/namespaces/{other}/events"
    await admin.until_all(events, lambda seen: any(ONLY in e["note"] for e in seen.values()))
    assert (await admin.list(pods(other)))[0] == []


@pytest.mark.parametrize("forgery", FORGERIES)
async def test_t18_the_pods_of_an_unlabelled_job_hold_a_slot(
    world: World, alice: Api, forgery: str
) -> None:
    """At once, or by a template that changes while the Job is suspended."""
    wanted = world.job(None)
    wanted["metadata"]["labels"] = {"team": "a"}
    notes = FORGERIES[forgery].get("annotations", {})
    forged = {"labels": {"kwicket.dev/tenant": "bob"}, "annotations": notes}
    wanted["spec"]["template"]["metadata"] = forged
    message = "the pods of a Job carry kwicket.dev/tenant only if the Job does"
    with pytest.raises(ApiError, match=message):
        await alice.create(jobs(world.home), wanted)
    plain = world.job(None, suspend=True)
    plain["metadata"]["labels"] = {"team": "a"}
    where = await world.submit(alice, plain)
    with pytest.raises(ApiError, match=message):
        await alice.patch(where, {"spec": {"template": {"metadata": forged}}})


@pytest.fixture
async def narrow(world: World, admin: Api) -> AsyncIterator[str]:
    """A Pool of one slot."""
    name = f"p-{uuid.uuid4().hex[:8]}"
    await load.make_pool(admin, name, limit=1)
    yield name
    await drop_pool(admin, name)


@OPERATED
async def test_t18_a_bare_pod_with_the_uid_of_a_deleted_job_keeps_its_slot(
    world: World, alice: Api, admin: Api, narrow: str
) -> None:
    """It names another controller, so that the Job does not adopt it, and is never scheduled."""

    async def starts() -> str:
        wanted = sleeping(world, "30")
        wanted["metadata"]["labels"]["kwicket.dev/pool"] = narrow
        where = await world.submit(alice, wanted)
        await admin.until(where, lambda job: bool(job and not job["spec"]["suspend"]))
        return where

    first = await starts()
    uid = (await alice.get(first))["metadata"]["uid"]
    own = await alice.create(
        f"/api/v1/namespaces/{world.home}/configmaps", {"metadata": {"name": "own"}}
    )
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "own", "controller": True}
    forged = bare_pod({"name": "forged", "labels": {UID: uid}})
    forged["metadata"]["ownerReferences"] = [owner | {"uid": own["metadata"]["uid"]}]
    forged["spec"]["nodeSelector"] = {"no": "where"}
    await alice.create(pods(world.home), forged)
    await alice.delete(first)
    await alice.delete(await starts())


async def test_t18_pods_without_our_labels_are_as_they_were(world: World, alice: Api) -> None:
    own = {"labels": {"team": "a", UID: "x"}, "annotations": {"kwicket.dev/note": "mine"}}
    made = await alice.create(pods(world.home), bare_pod(own | {"name": "free"}))
    where = pods(world.home, made["metadata"]["name"])
    assert await alice.patch(where, {"metadata": {"labels": {UID: None, "team": ""}}})


HIDDEN: dict[str, Object] = {
    "tenant": {"labels": {"kwicket.dev/tenant": None}},
    "other-tenant": {"labels": {"kwicket.dev/tenant": "bob"}},
    "job": {"labels": {UID: None}},
    "token": {"annotations": {TOKEN: "11"}},
    "pool": {"annotations": {"kwicket.dev/pool": "other"}},
    "index": {"annotations": {"batch.kubernetes.io/job-completion-index": "7"}},
    "owner": {"ownerReferences": None},
    "finalizer": {"finalizers": None},
}


@pytest.mark.parametrize("hidden", HIDDEN)
async def test_t18_a_running_pod_slips_out_of_its_slot(
    world: World, alice: Api, kwicket: Api, hidden: str
) -> None:
    """A pod that Kwicket or the Job controller no longer knew would run beside the next one."""
    where = await world.submit(alice, sleeping(world, "60"))
    await kwicket.patch(where, start("10"))
    [pod] = await its_pods(alice, where)
    named = pods(world.home, pod["metadata"]["name"])
    with pytest.raises(ApiError, match=r"by which Kwicket knows a pod|stays with its Job"):
        await alice.patch(named, {"metadata": HIDDEN[hidden]})
    own = {"metadata": {"labels": {"team": "a"}, "annotations": {"note": "x"}}}
    assert await alice.patch(named, own)
    await alice.delete(where)


async def test_t18_fields_that_move_the_job_elsewhere(world: World, alice: Api) -> None:
    selector = {"selector": {"matchLabels": {"a": "b"}}, "manualSelector": True}
    message = "has no managedBy and no manualSelector"
    for spec in ({"managedBy": "example.com/mine"}, selector):
        wanted = world.job(**spec)
        wanted["spec"]["template"]["metadata"] = {"labels": {"a": "b"}}
        with pytest.raises(ApiError, match=message):
            await alice.create(jobs(world.home), wanted)
    said_outright = world.job(managedBy="kubernetes.io/job-controller")
    assert await refusal(alice, jobs(world.home), said_outright, dryRun="All") == ""
    where = await world.submit(alice)
    changes: list[Object] = [{"managedBy": "example.com/mine"}, {"manualSelector": True}]
    for spec in changes:
        await changes_nothing(alice, where, alice.patch(where, {"spec": spec}), but=_suspended)


def _suspended(item: Object) -> Object:
    return {key: item["spec"].get(key) for key in ("suspend", "managedBy", "selector")}


async def test_t18_a_job_waits_in_two_queues(world: World, alice: Api) -> None:
    """Kueue's label is refused on a new Job and on one in line; what is there may stay."""
    kueue = {"kueue.x-k8s.io/queue-name": "main"}
    wanted = world.job()
    wanted["metadata"]["labels"] |= kueue
    with pytest.raises(ApiError, match="waits either in Kwicket or in Kueue"):
        await alice.create(jobs(world.home), wanted)
    where = await world.submit(alice)
    with pytest.raises(ApiError, match="waits either in Kwicket or in Kueue"):
        await alice.patch(where, {"metadata": {"labels": kueue}})


async def test_t18_a_deadline_and_clean_up_are_the_authors_own(
    world: World, alice: Api, kwicket: Api
) -> None:
    where = await world.submit(alice)
    own = {"activeDeadlineSeconds": 30, "ttlSecondsAfterFinished": 0, "backoffLimit": 1}
    assert await alice.patch(where, {"spec": own})
    await kwicket.patch(where, start("10"))
    assert await alice.until(where, lambda seen: seen is None) is None


async def in_line(
    world: World, alice: Api, pool: str, seconds: str, namespace: str = ""
) -> tuple[str, str]:
    """A Job that runs in a pool of one slot, and another that waits for it."""
    paths = []
    for wanted in (sleeping(world, seconds), sleeping(world, "0")):
        wanted["metadata"]["labels"]["kwicket.dev/pool"] = pool
        paths.append(await world.submit(alice, wanted, namespace))
        if len(paths) == 1:
            await its_pods(alice, paths[0])
    return paths[0], paths[1]


@OPERATED
async def test_t18_a_job_deleted_without_its_pods_keeps_its_slot(
    world: World, alice: Api, admin: Api, pool: str, other: str
) -> None:
    await admin.until(f"/api/v1/namespaces/{other}/serviceaccounts/default", bool)
    async with Observer.watching(admin, other) as seen:
        first, second = await in_line(world, alice, pool, "3", other)
        await alice.delete(first, {"propagationPolicy": "Orphan"})
        await is_over(alice, second)
        assert seen.succeeded[_name(first)] <= seen.started[_name(second)]


@OPERATED
async def test_t18_a_finalizer_keeps_no_slot(
    world: World, alice: Api, admin: Api, pool: str
) -> None:
    """A pod that has ended holds nothing, however long its object is kept."""
    first, second = await in_line(world, alice, pool, "2")
    [pod] = await its_pods(alice, first)
    named = pods(world.home, pod["metadata"]["name"])
    kept = [*pod["metadata"]["finalizers"], "example.com/kept"]
    await alice.patch(named, {"metadata": {"finalizers": kept}})
    await is_over(alice, second)
    await alice.patch(named, {"metadata": {"finalizers": None}})


@OPERATED
async def test_a_job_with_a_foreign_finalizer_is_no_ticket_once_it_is_deleted(
    world: World, alice: Api, admin: Api, pool: str
) -> None:
    """Neither while it waits, nor while it runs: its slot is free when its pods have ended."""
    first, waiting = await in_line(world, alice, pool, "60")
    for where in (first, waiting):
        await alice.patch(where, {"metadata": {"finalizers": ["example.com/kept"]}})
    await alice.delete(waiting)
    await alice.delete(first, {"propagationPolicy": "Foreground"})
    third = sleeping(world, "0")
    third["metadata"]["labels"]["kwicket.dev/pool"] = pool
    where = await world.submit(alice, third)
    await is_over(alice, where)
    left = await alice.get(waiting)
    assert left["spec"]["suspend"] is True
    assert TOKEN not in left["metadata"].get("annotations", {})
    for where in (first, waiting):
        await alice.patch(where, {"metadata": {"finalizers": None}})
        assert await alice.until(where, lambda seen: seen is None) is None


def _name(where: str) -> str:
    return where.rpartition("/")[2]
