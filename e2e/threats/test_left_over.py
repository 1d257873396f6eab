"""What is left of a time without enforcement: it can be changed, started, finished and deleted."""

import contextlib

import pytest

from e2e import homes
from e2e.objects import TOKEN, start
from e2e.plane import lifecycle
from e2e.plane.api import Api, ApiError, Object
from e2e.threats.test_belonging import bare_pod
from e2e.threats.test_exit import until_enforced
from e2e.threats.world import World, is_over, jobs, pods

OWNER = {
    "apiVersion": "jobset.x-k8s.io/v1",
    "kind": "JobSet",
    "name": "p",
    "uid": "1",
    "controller": True,
}
NOTES = {TOKEN: "rubbish", "kwicket.dev/deliveries": "-1", "kwicket.dev/charged": "NaN"}
RUBBISH: dict[str, Object] = {
    "token": {"annotations": NOTES},
    "long-token": {"annotations": {TOKEN: "9" * 40}},
    "empty-token": {"annotations": {TOKEN: ""}},
    "empty-labels": {"labels": {"kwicket.dev/tenant": "", "kwicket.dev/pool": ""}},
    "empty-trait": {"labels": {"kwicket.dev/tenant": "alice", "trait.kwicket.dev/x": ""}},
    "rival": {"labels": {"kwicket.dev/tenant": "alice"}, "ownerReferences": [OWNER]},
    "two-queues": {"labels": {"kwicket.dev/tenant": "alice", "kueue.x-k8s.io/queue-name": "x"}},
    "crowded": {
        "labels": {"kwicket.dev/tenant": "alice"} | {f"a{n}": "" for n in range(2_000)},
        "annotations": {f"kwicket.dev/a{n}": "" for n in range(1_000)},
    },
}


def left_over(name: str) -> Object:
    """A Job that enforcement would have refused or changed."""
    wanted = World.manifest("alice", suspend=True)
    wanted["metadata"] |= RUBBISH[name] | {"name": f"left-{name}"}
    wanted["spec"]["template"]["metadata"] = {"labels": {"kwicket.dev/tenant": "bob"}}
    return wanted


def enforce(world: World, wanted: bool) -> None:
    """As an administrator does, until it is so."""
    with world.following() if wanted else contextlib.nullcontext():
        world.upgrade(f"policies.enforce={str(wanted).lower()}")

    async def so() -> None:
        async with Api.open(world.kubeconfig("alice")) as alice:
            await until_enforced(world, alice, wanted)

    lifecycle.run(so())


@pytest.fixture(scope="module")
def rubbish(world: World) -> World:
    """The world after such a time."""
    lifecycle.run(homes.make(world.kubeconfig, {"name": f"{world.home}-gone"}))
    enforce(world, False)

    async def litter() -> None:
        async with Api.open(world.kubeconfig("alice")) as alice:
            for name in RUBBISH:
                await alice.create(jobs(world.home), left_over(name))
                await alice.create(jobs(f"{world.home}-gone"), left_over(name))
            await alice.create(jobs(world.home), _running())
            forged = bare_pod({"labels": {"kwicket.dev/tenant": "bob"}, "name": "left-pod"})
            await alice.create(pods(world.home), forged)

    with contextlib.ExitStack() as stack:
        stack.callback(enforce, world, True)
        lifecycle.run(litter())
    return world


def _running() -> Object:
    wanted = left_over("token")
    wanted["metadata"]["name"] = "left-running"
    wanted["spec"]["suspend"] = False
    wanted["spec"]["template"]["spec"]["containers"][0]["command"] = ["sleep", "1000"]
    wanted["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 1
    return wanted


@pytest.mark.parametrize("name", RUBBISH)
async def test_a_job_with_rubbish_lives_and_dies_like_others(
    rubbish: World, alice: Api, kwicket: Api, name: str
) -> None:
    """Its author may change what is the author's, and only Kwicket may start it."""
    where = jobs(rubbish.home, f"left-{name}")
    if name != "crowded":
        assert await alice.patch(where, {"metadata": {"labels": {"team": "a"}}})
    assert await alice.patch(where, {"spec": {"activeDeadlineSeconds": 60}})
    with contextlib.suppress(ApiError):
        await alice.patch(where, {"spec": {"suspend": False}})
    assert (await alice.get(where))["spec"]["suspend"] is True
    await kwicket.patch(where, start("1764000000001"))
    await is_over(alice, where)
    await alice.delete(where, {"propagationPolicy": "Foreground"})
    assert await alice.until(where, lambda seen: seen is None) is None


async def test_a_job_that_was_started_without_kwicket_can_be_suspended_and_deleted(
    rubbish: World, alice: Api
) -> None:
    """The operator suspends it itself, where one runs."""
    where = jobs(rubbish.home, "left-running")
    await alice.patch(where, {"spec": {"suspend": True}})
    with contextlib.suppress(ApiError):
        await alice.patch(where, {"spec": {"suspend": False}})
    assert (await alice.get(where))["spec"]["suspend"] is True
    await alice.delete(where, {"propagationPolicy": "Foreground"})
    assert await alice.until(where, lambda seen: seen is None) is None


async def test_a_forged_pod_from_before_can_be_deleted(rubbish: World, alice: Api) -> None:
    where = pods(rubbish.home, "left-pod")
    assert await alice.patch(where, {"metadata": {"labels": {"team": "a"}}})
    await alice.delete(where)
    assert await alice.until(where, lambda seen: seen is None) is None


async def test_a_namespace_full_of_rubbish_goes(rubbish: World, admin: Api) -> None:
    name = f"{rubbish.home}-gone"
    assert len((await admin.list(jobs(name)))[0]) == len(RUBBISH)
    await admin.delete(f"/api/v1/namespaces/{name}")
    where = f"/api/v1/namespaces/{name}"
    assert await admin.until(where, lambda seen: seen is None) is None
