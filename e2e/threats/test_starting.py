"""T1 to T4, T36, T37: starting a Job oneself, or by a forged grant.

Of row 36 of the fault matrix what the policies refuse.
"""

import json
from collections.abc import Awaitable, Callable

import pytest

from e2e.objects import TOKEN, start
from e2e.plane.api import Api, ApiError, Object
from e2e.threats.world import World, intent, is_over, its_pods, jobs, labels

FROM_ANNOTATION = "metadata.annotations['kwicket.dev/token']"
STARTS: dict[str, tuple[str, object]] = {
    "merge": ("merge", {"spec": {"suspend": False}}),
    "null": ("merge", {"spec": {"suspend": None}}),
    "strategic": ("strategic", {"spec": {"suspend": False}}),
    "json": ("json", [{"op": "replace", "path": "/spec/suspend", "value": False}]),
    "json-remove": ("json", [{"op": "remove", "path": "/spec/suspend"}]),
    "with-a-token": ("merge", start("999999999999999")),
    "with-nonsense": ("merge", start("nan")),
}


async def changes_nothing(
    api: Api, where: str, attempt: Awaitable[object], but: Callable[[Object], object] = intent
) -> None:
    """The attempt is refused, or leaves everything as it was."""
    before = but(await api.get(where))
    try:
        await attempt
    except ApiError as refused:
        assert refused.status in (400, 403, 404, 409, 415, 422), refused  # noqa: PT017
    assert but(await api.get(where)) == before


@pytest.mark.parametrize("way", STARTS)
async def test_t01_a_tenant_starts_its_own_job(world: World, alice: Api, way: str) -> None:
    where = await world.submit(alice)
    kind, body = STARTS[way]
    await changes_nothing(alice, where, alice.patch(where, body, kind))


async def test_t01_a_tenant_starts_it_by_forced_apply(world: World, alice: Api) -> None:
    where = await world.submit(alice)
    body = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"suspend": False}}
    forced = alice.patch(where, body, "apply", fieldManager="mine", force="true")
    await changes_nothing(alice, where, forced)


async def test_t01_a_tenant_starts_it_by_replacing_it(world: World, alice: Api) -> None:
    where = await world.submit(alice)
    body = await alice.get(where)
    body["spec"]["suspend"] = False
    await changes_nothing(alice, where, alice.replace(where, body))


async def test_t01_a_tenant_starts_it_under_another_tenant_or_none(
    world: World, alice: Api
) -> None:
    """A label that goes in the same write does not take the Job out of the policies."""
    where = await world.submit(alice)
    for tenant in (None, "", "bob"):
        body = labels(tenant=tenant) | {"spec": {"suspend": False}}
        await changes_nothing(alice, where, alice.patch(where, body))


async def test_t01_there_is_no_back_door_by_a_subresource(
    world: World, alice: Api, keeper: Api
) -> None:
    where = await world.submit(alice)
    for part in ("scale", "suspend", "status"):
        body = {"spec": {"suspend": False, "replicas": 1}}
        await changes_nothing(alice, where, keeper.patch(f"{where}/{part}", body))


async def test_t02_a_job_is_created_running(world: World, alice: Api) -> None:
    """It is held where a policy does so, and refused with a sentence before Kubernetes 1.36."""
    wanted = world.job(suspend=False)
    if world.mutates:
        made = await alice.create(jobs(world.home), wanted)
        assert made["spec"]["suspend"] is True
        return
    with pytest.raises(ApiError, match="write suspend: true into its spec"):
        await alice.create(jobs(world.home), wanted)


async def test_t02_a_job_is_applied_running(world: World, alice: Api) -> None:
    wanted = world.job(suspend=False)
    where = jobs(world.home, wanted["metadata"]["name"])
    query = {"fieldManager": "mine", "force": "true"}
    if world.mutates:
        made = await alice.patch(where, wanted, "apply", **query)
        assert made["spec"]["suspend"] is True
        return
    with pytest.raises(ApiError, match="write suspend: true into its spec"):
        await alice.patch(where, wanted, "apply", **query)


async def test_t02_a_job_with_a_generated_name_is_created_running(world: World, alice: Api) -> None:
    wanted = world.job()
    wanted["metadata"] = {"generateName": "made-", "labels": wanted["metadata"]["labels"]}
    made = await alice.create(jobs(world.home), wanted)
    assert made["spec"]["suspend"] is True


async def test_an_administrator_starts_a_job_only_as_kwicket(
    world: World, alice: Api, admin: Api
) -> None:
    """Under its field manager and with a higher token; a tool that holds every right does not.

    Where nothing mutates the guard knows the administrator by the verb alone.
    """
    where = await world.submit(alice)
    if world.mutates:
        await changes_nothing(alice, where, admin.patch(where, start("10")))
    with pytest.raises(ApiError, match="a start needs a token higher than"):
        await admin.patch(where, {"spec": {"suspend": False}}, fieldManager="kwicket")
    started = await admin.patch(where, start("10"), fieldManager="kwicket")
    assert started["spec"]["suspend"] is False


FORGED = ["token", "granted-at", "deliveries", "charged", "pool", "lane"]


@pytest.mark.parametrize("key", FORGED)
async def test_t03_forged_notes_on_a_new_job(world: World, alice: Api, key: str) -> None:
    """On the Job, and on the pods it will have."""
    for part in ("job", "pods"):
        wanted = world.job()
        template = wanted["spec"]["template"]
        forged = {f"kwicket.dev/{key}": "999", "note": "mine"}
        (wanted if part == "job" else template).setdefault("metadata", {})["annotations"] = forged
        if not world.mutates:
            with pytest.raises(ApiError, match="belong to Kwicket"):
                await alice.create(jobs(world.home), wanted)
            continue
        made = await alice.create(jobs(world.home), wanted)
        seen = made if part == "job" else made["spec"]["template"]
        assert seen["metadata"]["annotations"] == {"note": "mine"}


@pytest.mark.parametrize("granted", [False, True], ids=["waiting", "granted"])
@pytest.mark.parametrize("key", FORGED)
async def test_t03_forged_notes_on_a_job_in_line(
    world: World, alice: Api, kwicket: Api, keeper: Api, key: str, granted: bool
) -> None:
    """Changed, added or taken away, also by way of the Job's status."""
    where = await world.submit(alice)
    if granted:
        await kwicket.patch(where, start("10"))
    for value in ("11", "nan", "", None):
        forged = {"metadata": {"annotations": {f"kwicket.dev/{key}": value}}}
        await changes_nothing(alice, where, alice.patch(where, forged))
        await changes_nothing(alice, where, keeper.patch(f"{where}/status", forged))
        template = {"spec": {"template": forged}}
        await changes_nothing(alice, where, alice.patch(where, template))


async def test_t03_a_tenant_brings_its_parked_job_back(
    world: World, alice: Api, kwicket: Api, admin: Api
) -> None:
    """Only who may grant writes its count of deliveries, whatever a tenant calls itself."""
    where = await world.submit(alice)
    await kwicket.patch(where, start("10"))
    parked = {"spec": {"suspend": True}, **notes(deliveries="6")}
    await kwicket.patch(where, parked, fieldManager="kwicket")
    back = notes(deliveries="0")
    await changes_nothing(alice, where, alice.patch(where, back, fieldManager="kwicket"))
    assert (await admin.patch(where, back, fieldManager="kwicket"))["metadata"]["annotations"][
        "kwicket.dev/deliveries"
    ] == "0"


def notes(**values: str) -> Object:
    """A patch of annotations of ours."""
    return {"metadata": {"annotations": {f"kwicket.dev/{k}": v for k, v in values.items()}}}


async def test_t03_notes_of_the_operators_framework_mean_nothing(world: World, alice: Api) -> None:
    """kopf keeps no state on Jobs, so what a tenant writes there is the tenant's."""
    where = await world.submit(alice)
    forged = {"kopf.zalando.org/last-handled-configuration": "{}"}
    made = await alice.patch(where, {"metadata": {"annotations": forged}})
    assert made["spec"]["suspend"] is True
    assert "finalizers" not in made["metadata"]


async def test_t04_a_token_is_copied_from_another_job(
    world: World, alice: Api, kwicket: Api
) -> None:
    """The Job's own lease is the annotation, which is not there; the variable is Kwicket's to fill.

    Before 1.36 the webhook puts the variable in place; without it the copy stays, and whatever the
    Job writes to judges it by order.
    """
    first = await world.submit(alice)
    await kwicket.patch(first, start("10"))
    copied = (await alice.get(first))["metadata"]["annotations"][TOKEN]
    wanted = world.job()
    [container] = wanted["spec"]["template"]["spec"]["containers"]
    container["env"] = [{"name": "KWICKET_TOKEN", "value": copied}]
    made = await alice.create(jobs(world.home), wanted)
    assert TOKEN not in made["metadata"].get("annotations", {})
    assert made["spec"]["suspend"] is True
    if world.mutates:
        [container] = made["spec"]["template"]["spec"]["containers"]
        assert [e["valueFrom"]["fieldRef"]["fieldPath"] for e in container["env"]] == [
            FROM_ANNOTATION
        ]


async def test_t36_an_invented_age_counts_for_nothing(world: World, alice: Api) -> None:
    """The server stamps the time of creation, whatever the manifest says."""
    wanted = world.job()
    wanted["metadata"]["creationTimestamp"] = "2001-01-01T00:00:00Z"
    made = await alice.create(jobs(world.home), wanted)
    assert not made["metadata"]["creationTimestamp"].startswith("2001")
    where = jobs(world.home, made["metadata"]["name"])
    older = {"metadata": {"creationTimestamp": "2001-01-01T00:00:00Z"}}
    await changes_nothing(alice, where, alice.patch(where, older))
    same = (await alice.get(where))["metadata"]["creationTimestamp"]
    assert same == made["metadata"]["creationTimestamp"]


GROWN = {
    "parallelism": {"parallelism": 50},
    "no-parallelism": {"parallelism": None, "completions": 50},
    "both": {"parallelism": 50, "completions": 50},
}


@pytest.mark.parametrize("granted", [False, True], ids=["waiting", "granted"])
@pytest.mark.parametrize("growth", GROWN)
async def test_t37_a_job_grows_after_it_was_submitted(
    world: World, alice: Api, kwicket: Api, growth: str, granted: bool
) -> None:
    """An Indexed Job is one whose completions Kubernetes lets grow."""
    indexed = world.job(completionMode="Indexed", parallelism=2, completions=2)
    where = await world.submit(alice, indexed)
    if granted:
        await kwicket.patch(where, start("10"))
    await changes_nothing(alice, where, alice.patch(where, {"spec": GROWN[growth]}))


async def test_t37_the_pods_of_a_granted_job_become_others(
    world: World, alice: Api, kwicket: Api
) -> None:
    where = await world.submit(alice)
    await kwicket.patch(where, start("10"))
    bigger = {"name": "main", "resources": {"requests": {"cpu": "64"}}}
    template = {"spec": {"containers": [bigger]}, "metadata": {"annotations": {TOKEN: "99"}}}
    body = {"spec": {"template": template}}
    await changes_nothing(alice, where, alice.patch(where, body, "strategic"))
    [pod] = await its_pods(alice, where)
    assert pod["metadata"]["annotations"][TOKEN] == "10"
    assert pod["metadata"]["labels"].get("kwicket.dev/tenant") == (
        "alice" if world.mutates else None
    )
    await is_over(alice, where)


async def test_t37_a_waiting_job_goes_over_to_pods_of_another_tenant(
    world: World, alice: Api
) -> None:
    where = await world.submit(alice)
    for tenant in ("bob", "", None):
        body = {"spec": {"template": labels(tenant=tenant)}}
        await changes_nothing(alice, where, alice.patch(where, body))


async def test_t37_a_pod_is_replaced_before_it_has_ended(world: World, alice: Api) -> None:
    wanted = world.job(podReplacementPolicy="Failed")
    where = await world.submit(alice, wanted)
    for policy in ("TerminatingOrFailed", None):
        body = {"spec": {"podReplacementPolicy": policy}}
        await changes_nothing(alice, where, alice.patch(where, body))
    assert json.dumps((await alice.get(where))["spec"]).count('"Failed"') == 1
