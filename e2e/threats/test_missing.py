"""T27: policies taken away or changed by who may: nothing is granted meanwhile, and strays stop."""

import asyncio
import json
from collections.abc import Callable, Iterator

import pytest

from e2e import load, release
from e2e.observer import Observer
from e2e.plane.api import Api, Object
from e2e.statuses import condition, of_type
from e2e.threats.test_slots import sleeping
from e2e.threats.world import PAUSED, RUNNING, World, is_over, its_pods, jobs
from e2e.tools import Tool
from e2e.walks.test_telling import note

pytestmark = [RUNNING, pytest.mark.timeout(180)]

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
VALIDATING = ("guard", "ledgers", "managed", "namespaces", "pods", "templates", "tenants")
GUARD = "validatingadmissionpolicy/kwicket-guard"
BINDING = "validatingadmissionpolicybinding/kwicket-guard"
STOPPED = "kwicket_strays_stopped_total"
PATIENCE = 60
"""Seconds within which every Pool has to say so."""


@pytest.fixture
def restore(world: World) -> Iterator[Callable[[], None]]:
    """Puts policies back by the way that conditions name; at the latest when the test ends."""

    def upgrade() -> None:
        world.helm("upgrade", *release.RELEASE, "--reuse-values", "--force-conflicts")

    yield upgrade
    upgrade()
    release.await_force(world.kubeconfig)


async def says(admin: Api, pool: str, words: str) -> Object:
    """Waits until the Pool says in its condition PolicyMissing what is missing; the condition."""

    def so(body: Object | None) -> bool:
        missing = of_type(body, "PolicyMissing")
        return missing.get("status") == "True" and words in missing["message"]

    where = f"{load.GROUP}/pools/{pool}"
    return of_type(await admin.until(where, so, seconds=PATIENCE), "PolicyMissing")


def waiting(world: World, pool: str) -> Object:
    """A Job that waits though nothing makes it wait."""
    wanted = world.manifest("alice", suspend=True)
    wanted["metadata"]["labels"]["kwicket.dev/pool"] = pool
    return wanted


def registered(world: World) -> dict[str, list[str]]:
    """Where each policy and its binding are, by the policy's name."""
    kinds = dict.fromkeys(VALIDATING, "validating")
    if world.by_policy:
        kinds["hold"] = "mutating"
    return {
        name: [
            f"{REGISTRATION}/{kind}admissionpolic{end}/kwicket-{name}"
            for end in ("ies", "ybindings")
        ]
        for name, kind in kinds.items()
    }


async def test_each_policy_that_is_missing_stops_all_grants_and_every_pool_names_it(
    world: World, admin: Api, alice: Api, pool: str, restore: Callable[[], None]
) -> None:
    """One after the other, so that there is always just one of them missing."""
    places = registered(world)
    bodies = {where: await admin.get(where) for both in places.values() for where in both}
    where, before = "", ""
    for name, both in places.items():
        for one in both:
            await admin.delete(one)
        for one in places.get(before, ()):
            await admin.patch(one, as_applied(bodies[one]), "apply", fieldManager="helm")
        for asked in (pool, PAUSED):
            missing = await says(admin, asked, f"Policy kwicket-{name} is missing")
            assert missing["message"].count("is missing") == 2
            assert "run helm upgrade" in missing["message"]
        where = where or await world.submit(alice, waiting(world, pool))
        assert (await alice.get(where))["spec"]["suspend"] is True
        before = name
    await asyncio.to_thread(restore)
    await is_over(alice, where)
    await condition(admin, "pools", pool, "InForce", "PolicyMissing")


def as_applied(body: Object) -> Object:
    """As Helm has applied it."""
    meta = {k: v for k, v in body["metadata"].items() if k in ("name", "labels", "annotations")}
    return {key: body[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": meta}


type Spoil = Callable[[Tool], None]


def only_audits(kubectl: Tool) -> None:
    spec = {"validationActions": ["Audit"]}
    kubectl("patch", BINDING, "--type=merge", "-p", json.dumps({"spec": spec}))


def fails_open(kubectl: Tool) -> None:
    kubectl("patch", GUARD, "--type=merge", "-p", '{"spec": {"failurePolicy": "Ignore"}}')


def allows_one_rule(kubectl: Tool) -> None:
    patch = [{"op": "replace", "path": "/spec/validations/1/expression", "value": "true"}]
    kubectl("patch", GUARD, "--type=json", "-p", json.dumps(patch))


def removes_what_they_should_be(kubectl: Tool) -> None:
    kubectl("delete", "configmap", "kwicket-policies", "-n", "kwicket-system")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (only_audits, "kwicket-guard was changed: spec.validationActions is ['Audit']"),
        (fails_open, "kwicket-guard was changed: spec.failurePolicy is 'Ignore'"),
        (allows_one_rule, "kwicket-guard was changed: spec.validations[1].expression is 'true'"),
        (removes_what_they_should_be, "ConfigMap kwicket-system/kwicket-policies"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_while_one_is_changed_nothing_is_granted_and_what_runs_goes_on(
    world: World, admin: Api, alice: Api, pool: str, restore: Callable[[], None],
    spoil: Spoil, said: str,
) -> None:  # fmt: skip
    """Until it is put back; the Job that waits says why, too."""
    runs = sleeping(world, "15")
    runs["metadata"]["labels"]["kwicket.dev/pool"] = pool
    running = await world.submit(alice, runs)
    [pod] = await its_pods(alice, running)
    limit = {"spec": {"concurrency": {"jobs": 2}}}
    await admin.patch(f"{load.GROUP}/limits/{pool}", limit)
    await asyncio.to_thread(spoil, world.kubectl)
    for name in (pool, PAUSED):
        assert "run helm upgrade" in (await says(admin, name, said))["message"]
    wanted = waiting(world, pool)
    where = await world.submit(alice, wanted)
    assert said in await note(admin, world.home, wanted["metadata"]["name"], "Queued")
    assert (await alice.get(where))["spec"]["suspend"] is True
    await asyncio.to_thread(restore)
    await is_over(alice, where)
    await condition(admin, "pools", pool, "InForce", "PolicyMissing")
    await is_over(alice, running)
    assert [one["metadata"]["name"] for one in await its_pods(alice, running)] == [
        pod["metadata"]["name"]
    ]


async def test_jobs_started_without_enforcement_are_suspended_counted_and_told(
    world: World, admin: Api, alice: Api, pool: str, other: str, restore: Callable[[], None]
) -> None:
    """Meanwhile they behave as if Kwicket were absent."""
    await admin.until(f"/api/v1/namespaces/{other}/serviceaccounts/default", bool)
    assert world.metrics is not None
    stopped = await world.metrics.number(STOPPED) or 0
    for name, places in registered(world).items():
        if name in ("guard", "tenants", "hold"):
            await admin.delete(places[-1])
    await release.until_policies_act(world.kubeconfig("alice"), False)
    await says(admin, pool, "is missing")
    async with Observer.watching(admin, other) as seen:
        for name, command in (("stray", ["sleep", "20"]), ("quick", ["true"])):
            job = load.labelled_job(name, "alice", command, pool=pool)
            job["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 1
            await alice.create(jobs(other), job)
        await seen.until(lambda o: "quick" in o.complete)
        told = await note(admin, other, "stray", "StartedWithoutGrant")
        assert told.startswith("it runs without a grant")
        await asyncio.to_thread(restore)
        told = await note(admin, other, "stray", "StoppedWithoutGrant")
        assert "leave spec.suspend to Kwicket, or delete the Job" in told
        await seen.until(lambda o: "stray" in o.complete)
        assert seen.peak_live <= 2
        assert (len(seen.tokens["stray"]), len(seen.pods["stray"])) == (1, 2)
    stray = await admin.get(jobs(other, "stray"))
    assert stray["metadata"]["annotations"]["kwicket.dev/deliveries"] == "2"
    await world.metrics.becomes(stopped + 1, STOPPED)
