"""T5 to T8, T25, T28: whose share a Job counts in, and which Jobs and pods count at all."""

import asyncio
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from e2e import homes, load
from e2e.objects import start
from e2e.plane.api import Api, ApiError, Object
from e2e.threats.test_starting import changes_nothing
from e2e.threats.world import (
    LIVE,
    OPERATED,
    PAUSED,
    World,
    in_pool,
    intent,
    is_over,
    jobs,
    labels,
    pods,
    refusal,
    refused_in_time,
)

APPS = "/apis/apps/v1/namespaces"
OURS = ["kwicket.dev/tenant", "kwicket.dev/managed", "trait.kwicket.dev/tier"]


async def test_t05_a_job_counts_in_the_share_of_another_tenant(
    world: World, alice: Api, admin: Api, other: str
) -> None:
    """Where the namespace says whose it is, nobody else's Job gets in, however it is made."""
    await admin.patch(f"/api/v1/namespaces/{other}", labels(tenant="bob"))
    message = f"namespace {other} belongs to tenant bob, not alice"
    await refused_in_time(alice, jobs(other), world.job(), message)
    for claimed in ("alice", "Bob", "bob.", "bo"):
        with pytest.raises(ApiError):
            await alice.create(jobs(other), world.job(claimed))
    where = await world.submit(alice, world.job("bob"), other)
    for tenant in ("alice", None):
        await changes_nothing(alice, where, alice.patch(where, labels(tenant=tenant)))
    assert await alice.create(jobs(other), world.job(None))


async def test_t05_a_job_moves_to_another_pool_or_lane(world: World, alice: Api) -> None:
    wanted = world.job()
    wanted["metadata"]["labels"] |= {"kwicket.dev/pool": PAUSED, "trait.kwicket.dev/tier": "0.1"}
    where = await world.submit(alice, wanted)
    values: list[str | None] = ["other", "", None]
    for key, value in itertools.product(("pool", "lane", "tenant"), values):
        await changes_nothing(alice, where, alice.patch(where, labels(**{key: value})))


@OPERATED
async def test_t05_a_pool_that_is_not_for_this_namespace(
    world: World, alice: Api, admin: Api, pool: str
) -> None:
    """A lane or pool is no secret, but its Pool chooses the namespaces; the webhook says so."""
    closed = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "elsewhere"}}}
    await admin.patch(f"{load.GROUP}/pools/{pool}", {"spec": closed})
    wanted = in_pool(pool, world.job())
    if world.webhook is not None:
        message = f"pool {pool} does not admit Jobs of namespace {world.home}"
        await refused_in_time(alice, jobs(world.home), wanted, message)
        return
    where = await world.submit(alice, wanted)
    await told(admin, world.home, wanted["metadata"]["name"], "NamespaceNotSelected")
    assert (await alice.get(where))["spec"]["suspend"] is True


async def told(admin: Api, namespace: str, name: str, reason: str) -> None:
    """Waits for an event of this reason on the Job."""

    def says(seen: Any) -> bool:
        return any(e["regarding"]["name"] == name and e["reason"] == reason for e in seen.values())

    await admin.until_all(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events", says)


@pytest.mark.parametrize("key", ["tenant", "pool", "lane", "hold"])
async def test_t05_a_label_of_ours_is_there_and_empty(world: World, alice: Api, key: str) -> None:
    """An empty name is none: whoever means none leaves the label out."""
    wanted = world.job()
    wanted["metadata"]["labels"][f"kwicket.dev/{key}"] = ""
    assert "must not be empty" in await refusal(alice, jobs(world.home), wanted)
    where = await world.submit(alice)
    with pytest.raises(ApiError):
        await alice.patch(where, labels(**{key: ""}))


async def test_t05_a_namespace_whose_labels_are_empty_is_nobodys(
    world: World, alice: Api, admin: Api, pool: str, other: str
) -> None:
    """Jobs of every tenant get in and have their turn, and what has no tenant runs."""
    await admin.patch(f"/api/v1/namespaces/{other}", labels(tenant="", managed=""))
    await is_over(alice, await world.submit(alice, world.job(None), other))
    for tenant in ("alice", "bob"):
        where = await world.submit(alice, in_pool(pool, world.job(tenant)), other)
        if world.running:
            await is_over(alice, where)
        else:
            assert (await alice.get(where))["spec"]["suspend"] is True


@pytest.mark.parametrize("part", ["", "/status"])
@pytest.mark.parametrize("key", OURS)
async def test_t06_a_namespace_is_moved_to_another_tenant(
    world: World, alice: Api, keeper: Api, key: str, part: str
) -> None:
    """alice may not write namespaces at all; bob may, but not these labels."""
    where = f"/api/v1/namespaces/{world.home}"
    forged = {"metadata": {"labels": {key: "true"}}}
    with pytest.raises(ApiError, match="cannot patch resource"):
        await alice.patch(where, forged)
    with pytest.raises(ApiError, match="only an administrator of Kwicket assigns namespaces"):
        await keeper.patch(f"{where}{part}", forged)
    assert await keeper.patch(f"{where}{part}", {"metadata": {"labels": {"team": "a"}}})


@pytest.mark.parametrize("key", OURS)
async def test_t06_a_namespace_is_made_for_another_tenant(
    world: World, keeper: Api, key: str
) -> None:
    fresh = {"metadata": {"name": f"{world.home}-fresh", "labels": {key: "true"}}}
    with pytest.raises(ApiError, match="only an administrator of Kwicket assigns namespaces"):
        await keeper.create("/api/v1/namespaces", fresh)


async def test_t06_a_namespace_is_freed_of_its_tenant(
    world: World, admin: Api, keeper: Api, other: str
) -> None:
    where = f"/api/v1/namespaces/{other}"
    given = {"metadata": {"labels": dict.fromkeys(OURS, "1")}}
    await admin.patch(where, given)
    for key in OURS:
        with pytest.raises(ApiError, match="only an administrator of Kwicket assigns namespaces"):
            await keeper.patch(where, {"metadata": {"labels": {key: None}}})
    assert await keeper.patch(where, {"metadata": {"labels": {"team": "a"}}})


async def test_t12_a_giant_namespace(world: World, admin: Api, keeper: Api, other: str) -> None:
    """What is long is an administrator's; who leaves its labels alone goes on."""
    where = f"/api/v1/namespaces/{other}"
    crowd = {"metadata": {"labels": {f"a{n}": "" for n in range(300)}}}
    with pytest.raises(ApiError, match="a namespace that has more than 256"):
        await keeper.patch(where, crowd)
    await admin.patch(where, crowd)
    assert await keeper.patch(where, {"metadata": {"annotations": {"team": "a"}}})
    for one in ({"team": "a"}, {"a1": None}, {"kwicket.dev/tenant": "bob"}):
        with pytest.raises(ApiError, match="a namespace that has more than 256"):
            await keeper.patch(where, {"metadata": {"labels": one}})
    await admin.patch(where, {"metadata": {"labels": {f"a{n}": None for n in range(300)}}})
    assert await keeper.patch(where, {"metadata": {"labels": {"team": "a"}}})


async def test_t07_the_label_is_left_off(world: World, alice: Api, admin: Api, other: str) -> None:
    """Where Jobs are managed one without a tenant is refused, and one with a tenant waits."""
    await admin.patch(f"/api/v1/namespaces/{other}", labels(managed="true"))
    message = f"Jobs in namespace {other} carry the label kwicket.dev/tenant"
    await refused_in_time(alice, jobs(other), world.job(None), message)
    assert message in await refusal(alice, jobs(other), world.job(None))
    made = await alice.create(jobs(other), world.job())
    assert made["spec"]["suspend"] is True


async def test_t07_the_label_is_left_off_a_cron_job(
    world: World, alice: Api, admin: Api, other: str
) -> None:
    """The schedule's last turn is put into the past, so that the next one is due at once."""
    await admin.patch(f"/api/v1/namespaces/{other}", labels(managed="true"))
    await refused_in_time(alice, jobs(other), world.job(None), "carry the label kwicket.dev/tenant")
    template = {"spec": world.job(None)["spec"]}
    cron = {
        "metadata": {"name": "nightly"},
        "spec": {"schedule": "* * * * *", "jobTemplate": template},
    }
    where = jobs(other).replace("/jobs", "/cronjobs")
    await alice.create(where, cron)
    past = {"status": {"lastScheduleTime": "2026-01-01T00:00:00Z"}}
    await admin.patch(f"{where}/nightly/status", past)
    await told(admin, other, "nightly", "FailedCreate")
    assert (await admin.list(jobs(other)))[0] == []


@LIVE
async def test_t07_where_the_chart_itself_is_managed_its_certificate_is_renewed(
    world: World, alice: Api, admin: Api
) -> None:
    """By the CronJob, and by who installs it; nobody else makes such a Job, and they no other."""
    system = "kwicket-system"
    message = f"Jobs in namespace {system} carry the label kwicket.dev/tenant"
    other, renewal = world.job(None), world.job(None)
    renewal["spec"]["template"]["spec"]["serviceAccountName"] = "kwicket-certificates"
    await admin.patch(f"/api/v1/namespaces/{system}", labels(managed="true"))
    try:
        with homes.opened(world.kubeconfig, system):
            await refused_in_time(alice, jobs(system), renewal, message)
        assert message in await refusal(admin, jobs(system), other, dryRun="All")
        assert await refusal(admin, jobs(system), renewal, dryRun="All") == ""
        cron = f"{jobs(system)}/kwicket-certificates".replace("/jobs/", "/cronjobs/")
        past = {"status": {"lastScheduleTime": "2026-01-01T00:00:00Z"}}
        await admin.patch(f"{cron}/status", past)
        await admin.until_all(jobs(system), lambda seen: any(map(_made_by_cron, seen.values())))
    finally:
        await admin.patch(f"/api/v1/namespaces/{system}", labels(managed=None))


def _made_by_cron(job: Any) -> bool:
    return any(o["kind"] == "CronJob" for o in job["metadata"].get("ownerReferences", ()))


async def test_t07_pods_without_a_job_are_no_jobs(
    world: World, alice: Api, admin: Api, other: str
) -> None:
    """A managed namespace holds Jobs to the label, and nothing else: docs/policies.md says so."""
    await admin.patch(f"/api/v1/namespaces/{other}", labels(managed="true"))
    await admin.until(f"/api/v1/namespaces/{other}/serviceaccounts/default", bool)
    await alice.create(pods(other), bare_pod({}), dryRun="All")
    await alice.create(f"{APPS}/{other}/deployments", deployment({}), dryRun="All")


def bare_pod(metadata: Object) -> Object:
    container = {"name": "main", "image": "busybox", "command": ["sleep", "1"]}
    spec = {"restartPolicy": "Never", "containers": [container]}
    return {"metadata": {"name": "bare"} | metadata, "spec": spec}


def deployment(metadata: Object) -> Object:
    wanted = {"labels": {"app": "x"} | metadata.get("labels", {})}
    pod = bare_pod({})["spec"] | {"restartPolicy": "Always"}
    template = {"metadata": metadata | wanted, "spec": pod}
    spec = {"selector": {"matchLabels": {"app": "x"}}, "template": template}
    return {"metadata": {"name": "bare"}, "spec": spec}


async def test_t08_there_is_no_kind_of_job_that_no_rule_matches(world: World, admin: Api) -> None:
    """A new version, kind or subresource in this group must be judged before it is let pass."""
    group = await admin.get("/apis/batch")
    assert [version["version"] for version in group["versions"]] == ["v1"]
    served = {resource["name"] for resource in (await admin.get("/apis/batch/v1"))["resources"]}
    assert served == {"cronjobs", "cronjobs/status", "jobs", "jobs/status"}
    policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    guard = await admin.get(f"{policies}/kwicket-guard")
    constraints = guard["spec"]["matchConstraints"]
    assert constraints["matchPolicy"] == "Equivalent"
    [rule] = constraints["resourceRules"]
    assert {"jobs", "jobs/status"} == set(rule["resources"])
    assert guard["spec"]["failurePolicy"] == "Fail"


OWNERS: list[tuple[str, str, bool]] = [
    ("batch/v1", "CronJob", True),
    ("example.com/v1", "CronJob", False),
    ("jobset.x-k8s.io/v1alpha2", "JobSet", False),
    ("argoproj.io/v1alpha1", "Workflow", False),
    ("batch/v1", "Job", False),
]


@pytest.mark.parametrize(("version", "kind", "fits"), OWNERS)
async def test_t25_a_job_of_somebody_who_would_start_it_too(
    world: World, alice: Api, version: str, kind: str, fits: bool
) -> None:
    """Refused when it is made, and when it is given such an owner later."""
    owner = {"apiVersion": version, "kind": kind, "name": "parent", "uid": "1", "controller": True}
    wanted = world.job()
    wanted["metadata"]["ownerReferences"] = [owner]
    said = await refusal(alice, jobs(world.home), wanted, dryRun="All")
    where = await world.submit(alice)
    if fits:
        assert said == ""
        return
    assert f"its controller, {kind} parent, would start and suspend it" in said
    owned = alice.patch(where, {"metadata": {"ownerReferences": [owner]}})
    with pytest.raises(ApiError, match=f"its controller, {kind} parent, would start"):
        await owned


@pytest.mark.timeout(180)
async def test_t25_a_kind_that_the_chart_lists_is_no_rival(world: World, alice: Api) -> None:
    """Such a parent leaves suspend alone, as its administrator vouches; others are refused, also
    of another group where the chart names one.
    """

    async def said_of(kind: str, group: str = "example.com") -> str:
        wanted = world.job()
        owner = {"apiVersion": f"{group}/v1", "kind": kind, "name": "parent", "uid": "1"}
        wanted["metadata"]["ownerReferences"] = [owner | {"controller": True}]
        return await refusal(alice, jobs(world.home), wanted, dryRun="All")

    with world.following():
        world.upgrade('policies.owners=["example.com/Batch", "Flow"]')
    async with asyncio.timeout(20):
        while await said_of("Flow"):  # noqa: ASYNC110 - nothing tells when a policy acts
            await asyncio.sleep(0.1)
    assert await said_of("Flow", "other.example") == ""
    assert await said_of("Batch") == ""
    for group in ("other.example", "example.com.evil", "com"):
        assert "its controller, Batch parent" in await said_of("Batch", group)
    assert "add JobSet to the chart value policies.owners" in await said_of("JobSet")
    with world.following():
        world.upgrade("policies.owners=[]")
    async with asyncio.timeout(20):
        while not await said_of("Flow"):  # noqa: ASYNC110 - nothing tells when a policy acts
            await asyncio.sleep(0.1)


async def test_t25_an_owner_that_does_not_control_is_no_rival(world: World, alice: Api) -> None:
    """An unlabelled Job may have whatever owner it likes."""
    owner = {"apiVersion": "example.com/v1", "kind": "Workflow", "name": "parent", "uid": "1"}
    wanted = world.job()
    wanted["metadata"]["ownerReferences"] = [owner]
    assert await refusal(alice, jobs(world.home), wanted, dryRun="All") == ""
    free = world.job(None)
    free["metadata"]["ownerReferences"] = [owner | {"controller": True}]
    assert await refusal(alice, jobs(world.home), free, dryRun="All") == ""


async def test_t25_a_job_points_at_a_job_of_another(world: World, alice: Api, kwicket: Api) -> None:
    """What it names as its owner is left as it was, and Kwicket looks at no owner."""
    theirs = await world.submit(alice, world.job("bob"))
    before = await alice.get(theirs)
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": before["metadata"]["name"],
        "uid": before["metadata"]["uid"],
        "blockOwnerDeletion": True,
    }
    mine = world.job()
    mine["metadata"]["ownerReferences"] = [owner]
    where = await world.submit(alice, mine)
    await kwicket.patch(where, start("10"))
    assert intent(await alice.get(theirs)) == intent(before)


@pytest.fixture(params=["kube-system", "kwicket-system", "default"])
def shared(world: World, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace that is no tenant's, and into which somebody has let alice."""
    if request.param == "default":
        yield "default"
        return
    with homes.opened(world.kubeconfig, request.param):
        yield request.param


async def test_t28_no_namespace_is_exempt(world: World, alice: Api, shared: str) -> None:
    said = await refusal(alice, jobs(shared), world.job() | {"status": {}}, dryRun="All")
    assert said == ""
    running = world.job(suspend=False)
    if world.mutates:
        made = await alice.create(jobs(shared), running, dryRun="All")
        assert made["spec"]["suspend"] is True
    else:
        assert "starts suspended" in await refusal(alice, jobs(shared), running, dryRun="All")
    empty = world.job()
    empty["metadata"]["labels"]["kwicket.dev/pool"] = ""
    assert "must not be empty" in await refusal(alice, jobs(shared), empty, dryRun="All")


def test_t28_no_policy_asks_for_a_label_that_exempts(world: World) -> None:
    listed = world.kubectl("get", "validatingadmissionpolicies", "-o", "json").stdout
    for policy in json.loads(listed)["items"]:
        if policy["metadata"]["name"].startswith("kwicket-"):
            selector = policy["spec"]["matchConstraints"]["namespaceSelector"]
            assert selector in ({}, {"matchLabels": {"kwicket.dev/managed": "true"}})
