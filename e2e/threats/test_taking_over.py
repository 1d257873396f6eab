"""T27: a tenant takes what guards the Jobs away, or takes rights that only Kwicket has.

alice may edit what is in her namespaces, as tenants mostly do. All that is tried here RBAC refuses,
or the policies by the verb that they ask for.
"""

import asyncio
import contextlib
import itertools
from pathlib import Path

import pytest
import yaml

from e2e import homes, load
from e2e.objects import start, token_of
from e2e.plane import Plane, kubeconfigs, tenants
from e2e.plane.api import Api, ApiError, Object
from e2e.release import RELEASE
from e2e.threats.rights import Used, granted
from e2e.threats.test_belonging import APPS, bare_pod, deployment
from e2e.threats.test_starting import changes_nothing
from e2e.threats.world import (
    LIVE,
    PAUSED,
    World,
    in_pool,
    is_over,
    its_pods,
    jobs,
    pods,
    refusal,
)

RBAC = "/apis/rbac.authorization.k8s.io/v1"
SYSTEM = "kwicket-system"
HOME = f"/api/v1/namespaces/{SYSTEM}"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases/kwicket"
GROUP = "rbac.authorization.k8s.io"
GRANT = {"apiGroups": ["kwicket.dev"], "resources": ["grants"], "verbs": ["grant"]}
ESCALATES = "is attempting to grant RBAC permissions not currently held"
ALWAYS = {
    "ClusterRole",
    "ClusterRoleBinding",
    "ConfigMap",
    "CustomResourceDefinition",
    "Deployment",
    "Lease",
    "Role",
    "RoleBinding",
    "Secret",
    "ServiceAccount",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
}
BY_POLICY = {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}
BY_WEBHOOK = {"MutatingWebhookConfiguration"}
REVIEWS = {"ValidatingWebhookConfiguration", "Service", "CronJob"}


async def guards(world: World, admin: Api) -> dict[str, str]:
    """The kind of each object that the release is made of, by its path.

    Helm's own record of it, from which the next upgrade starts, and the Lease are among them.
    """
    text = world.helm("get", "manifest", *RELEASE[:1], *RELEASE[2:]).stdout
    objects = [made for made in yaml.safe_load_all(text) if made]
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    objects.append(lease | {"metadata": {"name": "kwicket", "namespace": SYSTEM}})
    records, _ = await admin.list(f"{HOME}/secrets", labelSelector="owner=helm")
    objects += [{"apiVersion": "v1", "kind": "Secret"} | record for record in records]
    assert records
    return {await _path(admin, made): made["kind"] for made in objects}


async def _path(admin: Api, made: Object) -> str:
    version, meta = made["apiVersion"], made["metadata"]
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    served = (await admin.get(base))["resources"]
    [kind] = (r for r in served if r["kind"] == made["kind"] and "/" not in r["name"])
    within = f"/namespaces/{meta.get('namespace', SYSTEM)}" if kind["namespaced"] else ""
    return f"{base}{within}/{kind['name']}/{meta['name']}"


async def test_t27_what_guards_the_jobs_is_taken_away(world: World, alice: Api, admin: Api) -> None:
    """Nothing of the release is a tenant's to change, and no Secret of it to read."""
    found = await guards(world, admin)
    mutates = BY_POLICY if world.by_policy else BY_WEBHOOK if world.webhook else set()
    assert set(found.values()) >= ALWAYS | mutates | (REVIEWS if world.webhook else set())
    for where, kind in found.items():
        with pytest.raises(ApiError, match="cannot delete resource"):
            await alice.delete(where)
        with pytest.raises(ApiError, match="cannot patch resource"):
            await alice.patch(where, {"metadata": {"labels": {"x": "y"}}})
        with pytest.raises(ApiError, match="cannot update resource"):
            await alice.replace(where, {"metadata": {"name": where.rpartition("/")[2]}})
        if kind == "Secret":
            with pytest.raises(ApiError, match="cannot get resource"):
                await alice.get(where)


OTHERS = [
    {"Impersonate_User": "system:serviceaccount:kwicket-system:kwicket"},
    {"Impersonate_User": "admin"},
    {"Impersonate_User": "alice", "Impersonate_Group": "system:masters"},
    {"Impersonate_User": "system:kube-controller-manager"},
]


@pytest.mark.parametrize("headers", OTHERS, ids=lambda headers: "-".join(headers.values()))
async def test_t27_a_tenant_acts_as_somebody_else(
    world: World, alice: Api, headers: dict[str, str]
) -> None:
    where = await world.submit(alice)
    async with Api.open(world.kubeconfig("alice"), **headers) as other:
        with pytest.raises(ApiError, match="cannot impersonate"):
            await other.patch(where, start("999"))
    assert (await alice.get(where))["spec"]["suspend"] is True


ACCOUNTS = ("kwicket", "kwicket-webhook", "kwicket-certificates", "default")


async def test_t27_a_tenant_takes_the_token_of_an_account_of_the_release(
    world: World, alice: Api
) -> None:
    """Asked for, had made as a Secret, read from one, or mounted by a pod that runs there."""
    for account in ACCOUNTS:
        with pytest.raises(ApiError, match='cannot create resource "serviceaccounts/token"'):
            await alice.create(f"{HOME}/serviceaccounts/{account}/token", {"spec": {}})
        meta = {"name": "mine", "annotations": {"kubernetes.io/service-account.name": account}}
        made = {"metadata": meta, "type": "kubernetes.io/service-account-token"}
        with pytest.raises(ApiError, match='cannot create resource "secrets"'):
            await alice.create(f"{HOME}/secrets", made)
        pod = bare_pod({})
        pod["spec"]["serviceAccountName"] = account
        with pytest.raises(ApiError, match='cannot create resource "pods"'):
            await alice.create(f"{HOME}/pods", pod)
    with pytest.raises(ApiError, match='cannot list resource "secrets"'):
        await alice.list(f"{HOME}/secrets")


async def test_t27_an_account_of_the_same_name_elsewhere_is_nobody(
    world: World, alice: Api, tmp_path: Path
) -> None:
    """A tenant makes accounts in its own namespace as it likes, and none of them is Kwicket."""
    accounts = f"/api/v1/namespaces/{world.home}/serviceaccounts"
    await alice.create(accounts, {"metadata": {"name": "kwicket"}})
    mine = tmp_path / "mine.yaml"
    await kubeconfigs.for_service_account(world.kubeconfig("alice"), f"{world.home}/kwicket", mine)
    where = await world.submit(alice)
    async with Api.open(mine) as account:
        with pytest.raises(ApiError, match="cannot patch resource"):
            await account.patch(where, {"spec": {"suspend": False}})
    await alice.delete(f"{accounts}/kwicket")


WRITES: dict[str, tuple[str, Object]] = {
    "configmaps": (f"{HOME}/configmaps", {"metadata": {"name": "kwicket-policies"}}),
    "serviceaccounts": (f"{HOME}/serviceaccounts", {"metadata": {"name": "mine"}}),
    "services": (f"{HOME}/services", {"metadata": {"name": "kwicket-webhook"}}),
    "endpoints": (f"{HOME}/endpoints", {"metadata": {"name": "kwicket-webhook"}}),
    "events": (f"{HOME}/events", {"metadata": {"name": "mine"}}),
    "resourcequotas": (f"{HOME}/resourcequotas", {"metadata": {"name": "none"}}),
    "pods/exec": (f"{HOME}/pods/kwicket/exec", {}),
    "pods/portforward": (f"{HOME}/pods/kwicket/portforward", {}),
    "pods/eviction": (f"{HOME}/pods/kwicket/eviction", {}),
    "pods/binding": (f"{HOME}/pods/kwicket/binding", {}),
    "deployments": (f"{APPS}/{SYSTEM}/deployments", deployment({})),
    "jobs": (jobs(SYSTEM), {"metadata": {"name": "mine"}}),
    "cronjobs": (jobs(SYSTEM).replace("/jobs", "/cronjobs"), {"metadata": {"name": "mine"}}),
    "networkpolicies": (
        f"/apis/networking.k8s.io/v1/namespaces/{SYSTEM}/networkpolicies",
        {"metadata": {"name": "shut"}},
    ),
    "leases": (
        f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases",
        {"metadata": {"name": "kwicket"}},
    ),
    "roles": (f"{RBAC}/namespaces/{SYSTEM}/roles", {"metadata": {"name": "mine"}}),
}


@pytest.mark.parametrize("resource", WRITES)
async def test_t27_a_tenant_writes_in_the_namespace_of_the_release(
    world: World, alice: Api, resource: str
) -> None:
    where, body = WRITES[resource]
    with pytest.raises(ApiError, match=f'cannot create resource "{resource}"'):
        await alice.create(where, body)


async def test_t27_a_tenant_stops_what_runs_of_the_release(world: World, alice: Api) -> None:
    """By its number, its pods, its node's view of it, or all of its kind."""
    scale = f"{APPS}/{SYSTEM}/deployments/kwicket/scale"
    with pytest.raises(ApiError, match='cannot patch resource "deployments/scale"'):
        await alice.patch(scale, {"spec": {"replicas": 0}})
    more = f"{HOME}/pods/kwicket/ephemeralcontainers"
    with pytest.raises(ApiError, match='cannot patch resource "pods/ephemeralcontainers"'):
        await alice.patch(more, {"spec": {"ephemeralContainers": []}})
    for kind in (pods(SYSTEM), f"{APPS}/{SYSTEM}/deployments", f"{HOME}/secrets"):
        with pytest.raises(ApiError, match="cannot deletecollection resource"):
            await alice.delete(kind)


def rule(name: str, *rules: Object, **more: Object) -> Object:
    """A role."""
    return {"metadata": {"name": name} | more, "rules": list(rules)}


def binding(kind: str, name: str, user: str = "alice") -> Object:
    """Gives a user a role."""
    return {
        "metadata": {"name": "mine"},
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": name},
        "subjects": [{"apiGroup": GROUP, "kind": "User", "name": user}],
    }


async def test_t27_a_tenant_gives_itself_the_verb(world: World, alice: Api, keeper: Api) -> None:
    """By a role of its own, by one that is aggregated into its own, or by a binding."""
    into_edit = {f"{GROUP}/aggregate-to-edit": "true"}
    within = f"{RBAC}/namespaces/{world.home}"
    attempts = [
        (f"{RBAC}/clusterroles", rule("mine", GRANT)),
        (f"{RBAC}/clusterroles", rule("mine", GRANT, labels=into_edit)),
        (f"{RBAC}/clusterrolebindings", binding("ClusterRole", "kwicket")),
        (f"{RBAC}/clusterrolebindings", binding("ClusterRole", "cluster-admin")),
        (f"{within}/roles", rule("mine", GRANT)),
        (f"{within}/rolebindings", binding("ClusterRole", "kwicket")),
    ]
    for api in (alice, keeper):
        for where, body in attempts:
            with pytest.raises(ApiError, match="cannot create resource"):
                await api.create(where, body)
        for role in ("edit", "view", "kwicket-view", "cluster-admin"):
            with pytest.raises(ApiError, match="cannot patch resource"):
                await api.patch(f"{RBAC}/clusterroles/{role}", {"rules": [GRANT]})


@pytest.mark.parametrize("namespace", ["", "home"])
async def test_t27_a_tenant_does_not_hold_the_verb(
    world: World, alice: Api, keeper: Api, namespace: str
) -> None:
    """Nor the one by which namespaces are assigned, nor those by which rights are given."""
    asked = [
        ("kwicket.dev", "grants", "grant"),
        ("kwicket.dev", "tenants", "assign"),
        (GROUP, "clusterroles", "escalate"),
        (GROUP, "clusterroles", "bind"),
        (GROUP, "roles", "escalate"),
        ("", "users", "impersonate"),
        ("", "serviceaccounts", "impersonate") if not namespace else ("", "groups", "impersonate"),
    ]
    reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    for group, resource, verb in asked:
        attributes = {"group": group, "resource": resource, "verb": verb}
        if namespace:
            attributes["namespace"] = world.home
        for api in (alice, keeper):
            answer = await api.create(reviews, {"spec": {"resourceAttributes": attributes}})
            assert answer["status"]["allowed"] is False, attributes


async def test_t27_the_owner_of_a_namespace_gives_the_verb_away(
    world: World, alice: Api, admin: Api, other: str
) -> None:
    """Who has Kubernetes' role `admin` in it makes roles there, but gives only what it has."""
    within = f"{RBAC}/namespaces/{other}"
    await admin.create(f"{within}/rolebindings", binding("ClusterRole", "admin"))
    await tenants.allowed(admin, "alice", other, verb="create", group=GROUP, resource="roles")
    own = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
    assert await alice.create(f"{within}/roles", rule("fine", own))
    anything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    for one in (GRANT, anything, GRANT | {"verbs": ["*"]}):
        with pytest.raises(ApiError, match=ESCALATES):
            await alice.create(f"{within}/roles", rule("mine", one))
        with pytest.raises(ApiError, match=ESCALATES):
            await alice.patch(f"{within}/roles/fine", {"rules": [own, one]})
    for role in ("kwicket", "kwicket-admin", "cluster-admin"):
        bound = binding("ClusterRole", role) | {"metadata": {"name": "yours"}}
        with pytest.raises(ApiError, match=ESCALATES):
            await alice.create(f"{within}/rolebindings", bound)


async def test_t27_the_verb_within_a_namespace_is_not_enough(
    world: World, alice: Api, admin: Api, other: str
) -> None:
    """It counts for the whole cluster, or not at all."""
    roles = f"{RBAC}/namespaces/{other}"
    await admin.create(f"{roles}/roles", rule("mine", GRANT))
    await admin.create(f"{roles}/rolebindings", binding("Role", "mine"))
    await tenants.allowed(
        admin, "alice", other, verb="grant", group="kwicket.dev", resource="grants"
    )
    where = await world.submit(alice, namespace=other)
    await changes_nothing(alice, where, alice.patch(where, {"spec": {"suspend": False}}))
    assert (await alice.get(where))["spec"]["suspend"] is True


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


async def test_t27_a_tenant_relabels_namespaces(world: World, alice: Api, admin: Api) -> None:
    """Its own, and that of the release: by any verb, of any label, and away with all of it."""
    for name in (world.home, SYSTEM):
        where = f"/api/v1/namespaces/{name}"
        stored = await admin.get(where)
        for label in ("team", "kwicket.dev/tenant", "pod-security.kubernetes.io/enforce"):
            change = {"metadata": {"labels": {label: "x"}}}
            for part in ("", "/status", "/finalize"):
                with pytest.raises(ApiError, match=r"cannot (patch|update) resource"):
                    await alice.patch(f"{where}{part}", change)
        for part in ("", "/status", "/finalize"):
            with pytest.raises(ApiError, match="cannot update resource"):
                await alice.replace(f"{where}{part}", stored | {"spec": {"finalizers": []}})
        with pytest.raises(ApiError, match="cannot delete resource"):
            await alice.delete(where)
    with pytest.raises(ApiError, match="cannot create resource"):
        await alice.create(homes.NAMESPACES, {"metadata": {"name": f"{world.home}-mine"}})


NOT_ASKED = {
    ("kwicket", "kwicket.dev/grants", "grant"): "the policies ask for it; it is no request",
}

TO_1_35 = {("kwicket", "batch/jobs/status", "patch"): "up to Kubernetes 1.35"}


@pytest.fixture
def audit(request: pytest.FixtureRequest, world: World) -> Used:
    """What the accounts of the release have asked of the API server; of a plane only."""
    now = request.node.callspec.params["world"].startswith("now")
    plane: Plane = request.getfixturevalue("plane" if now else "older")
    return Used(plane.audit)


@pytest.mark.timeout(120)
@LIVE
async def test_t27_the_release_holds_no_right_that_it_does_not_use(
    world: World, alice: Api, admin: Api, pool: str, audit: Used
) -> None:
    """What it does not hold nobody can take from it. All else was used when the world was made."""
    text = world.helm("get", "manifest", *RELEASE[:1], *RELEASE[2:]).stdout
    elsewhere = TO_1_35.keys() if world.by_policy else set()
    wanted, before = granted(text) - NOT_ASKED.keys() - elsewhere, audit.so_far()
    await admin.until(LEASE, bool)
    await admin.delete(LEASE)
    await a_job_in_a_lane(world, alice, admin, pool)
    await what_the_webhook_looks_up(world, alice)
    if not world.by_policy:
        await a_job_that_starts_again(world, alice, pool)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(40):
            while wanted - audit.so_far():
                await a_start_that_meets_other_writes(world, alice, admin, pool)
    assert wanted - audit.so_far() == set()
    assert audit.so_far() - before <= granted(text)


async def a_job_in_a_lane(world: World, alice: Api, admin: Api, pool: str) -> None:
    lanes = f"{load.GROUP}/lanes"
    await admin.create(lanes, load.declared("Lane", pool, {"pool": pool}))
    wanted = world.job()
    wanted["metadata"]["labels"]["kwicket.dev/lane"] = pool
    await is_over(alice, await world.submit(alice, wanted))
    await admin.delete(f"{lanes}/{pool}")


async def what_the_webhook_looks_up(world: World, alice: Api) -> None:
    """All there is, before it refuses a Job; and whether who starts a Job may."""
    lost = world.job()
    lost["metadata"]["labels"]["kwicket.dev/pool"] = "nowhere"
    assert "there is no Pool nowhere" in await refusal(alice, jobs(world.home), lost)
    where = await world.submit(alice)
    await changes_nothing(alice, where, alice.patch(where, {"spec": {"suspend": False}}))


async def a_job_that_starts_again(world: World, alice: Api, pool: str) -> None:
    """Its author suspends it, and it waits for its turn like any other."""
    wanted = in_pool(pool, world.job())
    spec = wanted["spec"]["template"]["spec"]
    spec["terminationGracePeriodSeconds"] = 1
    spec["containers"][0]["command"] = ["sh", "-c", "trap 'exit 1' TERM; sleep 60 & wait"]
    where = await world.submit(alice, wanted)
    first = token_of(await alice.until(where, lambda job: token_of(job) > 0))
    await its_pods(alice, where)
    await alice.patch(where, {"spec": {"suspend": True}})
    await alice.until(where, lambda job: token_of(job) > first, seconds=60)
    await alice.delete(where)


async def a_start_that_meets_other_writes(world: World, alice: Api, admin: Api, pool: str) -> None:
    """Its author writes on the Job all the time, so that the operator must read it again."""
    await load.pause(admin, pool, True)
    wanted = in_pool(pool, world.job())
    where = await world.submit(alice, wanted)

    async def storm(name: str) -> None:
        for number in itertools.count():
            await alice.patch(where, {"metadata": {"annotations": {name: str(number)}}})

    async with asyncio.TaskGroup() as group:
        storms = [group.create_task(storm(name)) for name in ("a", "b", "c", "d")]
        await load.pause(admin, pool, False)
        await alice.until(where, lambda job: token_of(job) > 0)
        for one in storms:
            one.cancel()
    await is_over(alice, where)
