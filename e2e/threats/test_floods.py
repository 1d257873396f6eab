"""T14, T15, T27, T38: floods, the policies themselves, and requests that are only tried."""

import asyncio
from collections.abc import Iterator

import pytest

from e2e import load
from e2e.objects import TOKEN
from e2e.plane.api import Api, ApiError, Object
from e2e.threats.world import PAUSED, RUNNING, World, is_over, its_pods, jobs, labels

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
IN_FLIGHT = 16


def many(world: World, count: int, tenant: str, pool: str) -> Iterator[Object]:
    """Jobs that are over at once."""
    for _ in range(count):
        wanted = world.job(tenant)
        wanted["metadata"]["labels"]["kwicket.dev/pool"] = pool
        yield wanted


@RUNNING
async def test_t14_a_flood_of_jobs(world: World, alice: Api, admin: Api, pool: str) -> None:
    """The Job of another tenant starts second, at the latest, and not behind all of them."""
    await load.pause(admin, pool, True)
    await load.create_jobs(alice, world.home, many(world, 200, "alice", pool))
    [small] = many(world, 1, "carol", pool)
    where = await world.submit(alice, small)
    await load.pause(admin, pool, False)
    await is_over(alice, where)
    listed, _ = await alice.list(jobs(world.home), labelSelector=f"kwicket.dev/pool={pool}")
    tokens = {
        job["metadata"]["name"]: job["metadata"].get("annotations", {}).get(TOKEN) for job in listed
    }
    mine = int(tokens.pop(small["metadata"]["name"]) or 0)
    assert sum(token is not None and int(token) < mine for token in tokens.values()) <= 1
    await load.pause(admin, pool, True)
    await alice.delete(jobs(world.home), labelSelector=f"kwicket.dev/pool={pool}")


async def test_t14_a_quota_bounds_the_jobs_of_a_namespace(
    world: World, alice: Api, admin: Api, other: str
) -> None:
    """Kubernetes' own quota counts waiting Jobs like others: docs/policies.md recommends one."""
    hard = {"count/jobs.batch": "2"}
    quota = {"metadata": {"name": "jobs"}, "spec": {"hard": hard}}
    quotas = f"/api/v1/namespaces/{other}/resourcequotas"
    await admin.create(quotas, quota)
    await admin.until(
        f"{quotas}/jobs", lambda seen: bool(seen and seen.get("status", {}).get("hard"))
    )
    for _ in range(2):
        await world.submit(alice, namespace=other)
    await admin.until(
        f"{quotas}/jobs",
        lambda seen: seen is not None and seen["status"].get("used") == hard,
    )
    with pytest.raises(ApiError, match="exceeded quota"):
        await world.submit(alice, namespace=other)


@RUNNING
async def test_t15_an_update_storm(world: World, alice: Api, pool: str) -> None:
    """A tenant that never stops changing its Job keeps nobody else's from starting."""
    [restless, quiet] = [*many(world, 1, "alice", pool), *many(world, 1, "carol", pool)]
    restless["metadata"]["labels"]["kwicket.dev/hold"] = "true"
    where = await world.submit(alice, restless)

    async def storm() -> None:
        number = 0
        while True:
            number += 1
            await alice.patch(where, {"metadata": {"annotations": {"note": str(number)}}})
            await alice.patch(where, labels(hold="true" if number % 2 else "false"))
            await alice.patch(where, labels(hold="true"))

    storming = asyncio.create_task(storm())
    await is_over(alice, await world.submit(alice, quiet))
    assert not storming.done()
    storming.cancel()
    await asyncio.wait([storming])


@RUNNING
async def test_t15_churn_of_jobs(world: World, alice: Api, pool: str) -> None:
    """A Job made and deleted again and again is a new submission each time."""
    [churned, quiet] = [*many(world, 1, "alice", pool), *many(world, 1, "carol", pool)]
    where = jobs(world.home, churned["metadata"]["name"])
    for _ in range(20):
        await alice.create(jobs(world.home), churned)
        await alice.delete(where)
        await alice.until(where, lambda seen: seen is None)
    await is_over(alice, await world.submit(alice, quiet))


@RUNNING
async def test_t15_a_job_that_starts_and_is_suspended_frees_its_slot(
    world: World, alice: Api, pool: str
) -> None:
    """Its author may take it back; the next tenant's Job then starts, with one slot in all."""
    [first, quiet] = [*many(world, 1, "alice", pool), *many(world, 1, "carol", pool)]
    first["spec"]["template"]["spec"]["containers"][0]["command"] = ["sleep", "60"]
    first["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 1
    where = await world.submit(alice, first)
    await its_pods(alice, where)
    change = labels(hold="true") | {"spec": {"suspend": True}}
    await alice.patch(where, change)
    await is_over(alice, await world.submit(alice, quiet))


GUARDS = [
    *(
        f"{REGISTRATION}/validatingadmissionpolic{end}/kwicket-{name}"
        for name in ("guard", "ledgers", "managed", "namespaces", "pods", "templates", "tenants")
        for end in ("ies", "ybindings")
    ),
    f"{RBAC}/clusterroles/kwicket",
    f"{RBAC}/clusterrolebindings/kwicket",
    *(
        f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.kwicket.dev"
        for plural in ("pools", "lanes", "limits", "ledgers")
    ),
]
HOLDS = [f"{REGISTRATION}/mutatingadmissionpolic{end}/kwicket-hold" for end in ("ies", "ybindings")]


async def test_t27_the_policies_are_taken_away(world: World, alice: Api) -> None:
    """RBAC keeps them, and the roles and definitions; the operator watches for their absence."""
    for where in GUARDS + (HOLDS if world.mutates else []):
        with pytest.raises(ApiError, match="cannot delete resource"):
            await alice.delete(where)
        with pytest.raises(ApiError, match="cannot patch resource"):
            await alice.patch(where, {"metadata": {"labels": {"x": "y"}}})


async def test_t27_a_tenant_gives_itself_the_verb(world: World, alice: Api, keeper: Api) -> None:
    rule = {"apiGroups": ["kwicket.dev"], "resources": ["grants"], "verbs": ["grant"]}
    role = {"metadata": {"name": "mine"}, "rules": [rule]}
    for api in (alice, keeper):
        with pytest.raises(ApiError, match="cannot create resource"):
            await api.create(f"{RBAC}/clusterroles", role)
        with pytest.raises(ApiError, match="cannot create resource"):
            await api.create(f"{RBAC}/namespaces/{world.home}/roles", role)


async def test_t27_the_verb_within_a_namespace_is_not_enough(
    world: World, alice: Api, admin: Api, other: str
) -> None:
    """It counts for the whole cluster, or not at all."""
    rule = {"apiGroups": ["kwicket.dev"], "resources": ["grants"], "verbs": ["grant"]}
    roles = f"{RBAC}/namespaces/{other}"
    await admin.create(f"{roles}/roles", {"metadata": {"name": "mine"}, "rules": [rule]})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "mine"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}
    binding = {"metadata": {"name": "mine"}, "roleRef": reference, "subjects": [subject]}
    await admin.create(f"{roles}/rolebindings", binding)
    where = await world.submit(alice, namespace=other)
    for _ in range(20):
        try:
            changed = await alice.patch(where, {"spec": {"suspend": False}})
        except ApiError as refused:
            assert "only Kwicket starts" in refused.message  # noqa: PT017 - or without effect
        else:
            assert changed["spec"]["suspend"] is True


@pytest.mark.parametrize("write", ["create", "patch", "delete"])
async def test_t27_a_ledger_is_forged(world: World, admin: Api, keeper: Api, write: str) -> None:
    """bob may write Ledgers, by some role of the cluster's; the policy still asks for the verb."""
    ledgers, name = f"{load.GROUP}/ledgers", f"forged-{write}"
    body = load.declared("Ledger", name, {"version": "1", "scale": "1"})
    with pytest.raises(ApiError, match="Ledgers are written by Kwicket alone"):
        await keeper.create(ledgers, body)
    if not world.running or write == "create":
        return
    await admin.until(f"{ledgers}/{PAUSED}", bool)
    where = f"{ledgers}/{PAUSED}"
    attempt = (
        keeper.delete(where)
        if write == "delete"
        else keeper.patch(where, {"metadata": {"labels": {"x": "y"}}})
    )
    with pytest.raises(ApiError, match="Ledgers are written by Kwicket alone"):
        await attempt


@RUNNING
async def test_t38_a_thousand_dry_runs(world: World, alice: Api, admin: Api, pool: str) -> None:
    """No Job, no turn, no token comes of them: the Ledger stays byte for byte what it was."""
    [seen] = many(world, 1, "alice", pool)
    await is_over(alice, await world.submit(alice, seen))
    ledger = f"{load.GROUP}/ledgers/{pool}"
    before = await admin.until(ledger, lambda book: not (book or {})["spec"].get("intents"))
    gate = asyncio.Semaphore(IN_FLIGHT)

    async def try_one(wanted: Object) -> None:
        async with gate:
            await alice.create(jobs(world.home), wanted, dryRun="All")

    await asyncio.gather(*(try_one(wanted) for wanted in many(world, 1000, "dry", pool)))
    assert await admin.get(ledger) == before
