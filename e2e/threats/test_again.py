"""An unchanged manifest is applied again and again: accepted, and without effect.

Below 1.36 the webhook adds what the policies add here. While it is down a manifest there says
`suspend: true` itself, and is applied while the Job waits.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.objects import TOKEN, appearance, start
from e2e.observer import Observer
from e2e.plane.api import Api, Object
from e2e.threats.test_slots import sleeping
from e2e.threats.world import World, intent, is_over, its_pods, jobs
from e2e.tools import Tool

MUTATED = pytest.mark.parametrize(
    "world", ["now-stopped", "now-running", "now-webhook", "1.34-webhook"], indirect=True
)

MINE = {"name": "KWICKET_TOKEN", "value": "999"}
FENCE = {
    "name": "KWICKET_TOKEN",
    "valueFrom": {"fieldRef": {"fieldPath": f"metadata.annotations['{TOKEN}']"}},
}
OTHERS = [{"name": "B", "value": "--fence=$(KWICKET_TOKEN)"}, {"name": "A", "value": "1"}]


def plain(_: Object) -> None:
    """As most are."""


def unsuspended(manifest: Object) -> None:
    manifest["spec"]["suspend"] = False


def replacing(manifest: Object) -> None:
    manifest["spec"]["podReplacementPolicy"] = "TerminatingOrFailed"


def written_out(manifest: Object) -> None:
    """With every default, as a tool prints it."""
    manifest["spec"] |= {"suspend": False, "podReplacementPolicy": "TerminatingOrFailed"}
    manifest["spec"] |= {"parallelism": 1, "completions": 1, "completionMode": "NonIndexed"}
    manifest["spec"] |= {"backoffLimit": 6, "manualSelector": False}


def from_a_backup(manifest: Object) -> None:
    """Of a Job that was granted, notes and all."""
    notes = {TOKEN: "1764000000001", "kwicket.dev/pool": "main"}
    manifest["metadata"]["annotations"] = notes | {"kwicket.dev/deliveries": "3", "note": "mine"}
    pods = {"labels": {"kwicket.dev/tenant": "alice"}, "annotations": notes}
    manifest["spec"]["template"]["metadata"] = pods
    manifest["spec"]["suspend"] = False


def with_variables(manifest: Object) -> None:
    manifest["spec"]["template"]["spec"]["containers"][0]["env"] = OTHERS


def with_a_fence_of_its_own(manifest: Object) -> None:
    manifest["spec"]["template"]["spec"]["containers"][0]["env"] = [*OTHERS, FENCE]


def with_a_forged_fence(manifest: Object) -> None:
    [main] = manifest["spec"]["template"]["spec"]["containers"]
    side = main | {"name": "side", "env": [MINE]}
    main["env"] = [*OTHERS, MINE]
    manifest["spec"]["template"]["spec"]["initContainers"] = [side]


def of_another_tenants_pods(manifest: Object) -> None:
    manifest["spec"]["template"]["metadata"] = {"labels": {"kwicket.dev/tenant": "bob"}}


SHAPES: list[Callable[[Object], None]] = [
    plain, unsuspended, replacing, written_out, from_a_backup, with_variables,
    with_a_fence_of_its_own, with_a_forged_fence, of_another_tenants_pods,
]  # fmt: skip


def client_side(kubectl: Tool, namespace: str, manifest: Object, who: str) -> None:
    kubectl("apply", "-n", namespace, "-f", "-", who=who, stdin=json.dumps(manifest))


def server_side(kubectl: Tool, namespace: str, manifest: Object, who: str) -> None:
    words = ("apply", "--server-side", "--force-conflicts", "-n", namespace, "-f", "-")
    kubectl(*words, who=who, stdin=json.dumps(manifest))


def as_a_tool_does(kubectl: Tool, namespace: str, manifest: Object, who: str) -> None:
    """Server-side, by force, under a field manager of its own, as GitOps tools do."""
    words = ("apply", "--server-side", "--force-conflicts", "--field-manager=gitops-controller")
    kubectl(*words, "-n", namespace, "-f", "-", who=who, stdin=json.dumps(manifest))


WAYS = [client_side, server_side, as_a_tool_does]


@pytest.mark.parametrize("world", ["now-stopped", "now-webhook", "1.34-webhook"], indirect=True)
@pytest.mark.parametrize(
    ("way", "who"), [(client_side, "alice"), (server_side, "alice"), (as_a_tool_does, "admin")]
)
@pytest.mark.parametrize("shape", SHAPES)
async def test_it_changes_nothing_while_the_job_waits_or_after_its_start(
    world: World, alice: Api, kwicket: Api, shape: Callable[[Object], None],
    way: Callable[[Tool, str, Object, str], None], who: str,
) -> None:  # fmt: skip
    """An administrator's tool has every right, and starts nothing either."""
    manifest = sleeping(world, "60")
    shape(manifest)
    where = jobs(world.home, manifest["metadata"]["name"])
    way(world.kubectl, world.home, manifest, who)
    waiting = await alice.get(where)
    assert waiting["spec"]["suspend"] is True
    way(world.kubectl, world.home, manifest, who)
    assert intent(await alice.get(where)) == intent(waiting)
    await kwicket.patch(where, start("1764000000002"))
    granted = await alice.get(where)
    for _ in range(2):
        way(world.kubectl, world.home, manifest, who)
        assert intent(await alice.get(where)) == intent(granted)
    [pod] = await its_pods(alice, where)
    assert pod["metadata"]["annotations"][TOKEN] == "1764000000002"
    await alice.delete(where)


@pytest.mark.parametrize("world", ["1.34-stopped"], indirect=True)
@pytest.mark.parametrize("way", WAYS)
async def test_it_changes_nothing_while_the_job_waits_where_nothing_mutates(
    world: World, alice: Api, way: Callable[[Tool, str, Object, str], None]
) -> None:
    manifest = sleeping(world, "60")
    where = jobs(world.home, manifest["metadata"]["name"])
    way(world.kubectl, world.home, manifest, "alice")
    waiting = await alice.get(where)
    way(world.kubectl, world.home, manifest, "alice")
    assert intent(await alice.get(where)) == intent(waiting)


@MUTATED
@pytest.mark.parametrize("who", ["alice", "admin"])
async def test_a_job_read_stripped_and_put_back_is_as_it_was(
    world: World, kwicket: Api, alice: Api, admin: Api, who: str
) -> None:
    """Tools that replace keep what the server needs, and bring their own words for the rest."""
    api = {"alice": alice, "admin": admin}[who]
    where = await world.submit(alice, sleeping(world, "60"))
    for granted in (False, True):
        if granted:
            await kwicket.patch(where, start("10"))
        before = await alice.get(where)
        for without in ({}, {"note": "mine"}):
            body = json.loads(json.dumps(before))
            del body["metadata"]["resourceVersion"]
            body["metadata"]["annotations"] = without
            body["spec"]["suspend"] = False
            del body["spec"]["podReplacementPolicy"]
            await api.replace(where, body)
            after = await alice.get(where)
            assert intent(after) == intent(before)
            assert after["metadata"].get("annotations", {}).get("note") == without.get("note")
    await alice.delete(where)


def deaf(world: World, tenant: str | None, ready: Path) -> Object:
    """A Job that would have its pod replaced before it ends, 15 s after it is told to.

    There is a file once it is deaf; the pod after it ends at once. The Job controller replaces no
    pod in the first 10 s, so the first has to live longer.
    """
    manifest = world.job(tenant)
    written_out(manifest)
    pod = manifest["spec"]["template"]["spec"]
    pod["terminationGracePeriodSeconds"] = 15
    script = f"trap '' TERM; [ -e {ready} ] && exit; : >{ready}; sleep 60"
    pod["containers"][0]["command"] = ["sh", "-c", script]
    return manifest


@pytest.mark.timeout(120)
@pytest.mark.parametrize("world", ["now-running", "now-webhook", "1.34-webhook"], indirect=True)
async def test_two_pods_never_share_a_slot(
    world: World, alice: Api, admin: Api, pool: str, other: str, tmp_path: Path
) -> None:
    """Though its manifest says otherwise, and is applied while its pod is being ended."""
    await admin.until(f"/api/v1/namespaces/{other}/serviceaccounts/default", bool)
    manifest = deaf(world, "alice", tmp_path / "ready")
    manifest["metadata"]["labels"]["kwicket.dev/pool"] = pool
    where = jobs(other, manifest["metadata"]["name"])
    async with Observer.watching(admin, other) as seen:
        server_side(world.kubectl, other, manifest, "alice")
        [pod] = await its_pods(alice, where)
        await appearance(tmp_path / "ready")
        as_a_tool_does(world.kubectl, other, manifest, "admin")
        await alice.delete(f"/api/v1/namespaces/{other}/pods/{pod['metadata']['name']}")
        client_side(world.kubectl, other, manifest, "alice")
        await is_over(alice, where)
        assert seen.peak_live == 1
        assert len(seen.pods[manifest["metadata"]["name"]]) > 1


@pytest.mark.timeout(120)
@pytest.mark.parametrize("world", ["now-running", "1.34-running"], indirect=True)
async def test_two_pods_of_a_job_that_nobody_guards_live_at_once(
    world: World, alice: Api, admin: Api, other: str, tmp_path: Path
) -> None:
    """What the test before would see if a Job kept what its manifest says."""
    await admin.until(f"/api/v1/namespaces/{other}/serviceaccounts/default", bool)
    async with Observer.watching(admin, other) as seen:
        where = await world.submit(alice, deaf(world, None, tmp_path / "ready"), other)
        [pod] = await its_pods(alice, where)
        await appearance(tmp_path / "ready")
        await alice.delete(f"/api/v1/namespaces/{other}/pods/{pod['metadata']['name']}")
        await seen.until(lambda seen: seen.peak_live == 2)
