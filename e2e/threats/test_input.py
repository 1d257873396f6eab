"""T9 to T13: numbers, sizes and shapes that are meant to break something, and one that is not."""

from pathlib import Path

import msgspec
import pytest

from e2e import load, statuses
from e2e.objects import TOKEN, appearance, start, token_of
from e2e.plane import Plane
from e2e.plane.api import Api, ApiError, Object
from e2e.threats.conftest import drop_pool
from e2e.threats.test_belonging import told
from e2e.threats.test_starting import changes_nothing
from e2e.threats.world import (
    LIVE,
    OPERATED,
    RUNNING,
    STOPPED,
    World,
    in_pool,
    is_over,
    jobs,
    refusal,
    refused_in_time,
)

TIER = "trait.kwicket.dev/tier"
REFUSED = 400
LARGEST = 1.5
"""Megabytes of a Job that can be stored."""
TOO_MANY = "at most 256 labels, annotations and containers"


async def test_t09_a_trait_rises_while_its_job_waits(world: World, alice: Api) -> None:
    wanted = world.job()
    wanted["metadata"]["labels"][TIER] = "0.1"
    where = await world.submit(alice, wanted)
    for value in ("1", "", None):
        change = {"metadata": {"labels": {TIER: value}}}
        await changes_nothing(alice, where, alice.patch(where, change))
    more = {"metadata": {"labels": {"trait.kwicket.dev/urgent": "1"}}}
    await changes_nothing(alice, where, alice.patch(where, more))


async def test_t09_the_priority_class_of_its_pods_starts_no_job(world: World, alice: Api) -> None:
    """It is Kubernetes' own word for pods, and no factor of a Pool."""
    wanted = world.job()
    wanted["spec"]["template"]["spec"]["priorityClassName"] = "system-cluster-critical"
    assert (await alice.create(jobs(world.home), wanted))["spec"]["suspend"] is True


@RUNNING
async def test_t09_a_trait_is_capped_by_its_namespace(
    world: World, alice: Api, admin: Api, other: str
) -> None:
    """Whatever its author writes; the caps of a namespace are an administrator's to write."""
    await admin.patch(f"/api/v1/namespaces/{other}", {"metadata": {"labels": {TIER: "0.2"}}})
    pool, trait = other, {"factor": "Trait", "trait": "tier", "weight": 1}
    await load.make_pool(admin, pool, limit=1, priority=[trait])
    await is_over(alice, await world.submit(alice, in_pool(pool, world.job()), other))
    await statuses.hold(admin, pool)
    places = []
    for namespace, tier in ((world.home, "0.199"), (other, "1"), (world.home, "0.201")):
        wanted = in_pool(pool, world.job())
        wanted["metadata"]["labels"][TIER] = tier
        places.append(await world.submit(alice, wanted, namespace))
    await statuses.shown(admin, pool, waiting=3)
    await load.pause(admin, pool, False)
    for where in places:
        await is_over(alice, where)
    lower, capped, higher = [token_of(await alice.get(where)) for where in places]
    assert higher < capped < lower
    await drop_pool(admin, pool)


BAD_TRAITS = [
    "NaN", "nan", "inf", "1e999", "0x10", "1_000", "1.001", "2", "00.5", "0.5555", "9" * 63,
]  # fmt: skip
NO_LABELS = ["-0", "-1", "+5", " 7 ", "٣", "0,5", "9" * 64, "\u200b1", "1\n"]


@OPERATED
async def test_t10_a_trait_that_is_no_number(
    world: World, alice: Api, admin: Api, pool: str
) -> None:
    """It is refused by the webhook, else set aside with a reason; one that follows starts."""
    names = []
    for value in BAD_TRAITS:
        wanted = world.job()
        wanted["metadata"]["labels"] |= {TIER: value, "kwicket.dev/pool": pool}
        if world.webhook is not None:
            said = await refusal(alice, jobs(world.home), wanted)
            assert f"has trait tier = {value!r}, which is no number" in said
            continue
        names.append(wanted["metadata"]["name"])
        await world.submit(alice, wanted)
    good = world.job()
    good["metadata"]["labels"] |= {TIER: "0.5", "kwicket.dev/pool": pool}
    await is_over(alice, await world.submit(alice, good))
    for name in names:
        await told(admin, world.home, name, "BadTrait")
        assert (await alice.get(jobs(world.home, name)))["spec"]["suspend"] is True


@STOPPED
async def test_t10_a_trait_that_is_no_number_while_the_operator_is_stopped(
    world: World, alice: Api
) -> None:
    """Nobody is there to say so; the Job waits all the same, and keeps the trait."""
    for value in BAD_TRAITS:
        wanted = world.job()
        wanted["metadata"]["labels"][TIER] = value
        where = await world.submit(alice, wanted)
        assert (await alice.get(where))["spec"]["suspend"] is True
        for change in ({"spec": {"suspend": False}}, {"metadata": {"labels": {TIER: "1"}}}):
            await changes_nothing(alice, where, alice.patch(where, change))


@pytest.mark.parametrize("value", NO_LABELS, ids=ascii)
async def test_t10_a_trait_that_is_no_label(world: World, alice: Api, value: str) -> None:
    """The API server refuses it before anybody reads it as a number."""
    wanted = world.job()
    wanted["metadata"]["labels"][TIER] = value
    with pytest.raises(ApiError, match="is invalid"):
        await alice.create(jobs(world.home), wanted)


WIDTHS: list[Object] = [
    {"parallelism": -1},
    {"parallelism": 2**31},
    {"completions": -1},
    {"parallelism": 1.5},
    {"parallelism": "1Ei"},
    {"parallelism": 9e30},
]


@pytest.mark.parametrize("spec", WIDTHS, ids=str)
async def test_t11_a_width_that_is_none(world: World, alice: Api, spec: Object) -> None:
    refused = await refusal(alice, jobs(world.home), world.job(**spec))
    assert refused


@OPERATED
async def test_t11_the_greatest_width(world: World, alice: Api, admin: Api, pool: str) -> None:
    """Too wide for the pool for ever, so it is refused or set aside, and keeps nobody."""
    limit = {"pool": pool, "concurrency": {"pods": 3}}
    name = f"{pool}-pods"
    await admin.create(f"{load.GROUP}/limits", load.declared("Limit", name, limit))
    wanted = in_pool(pool, world.job(parallelism=2**31 - 1, completions=2**31 - 1))
    if world.webhook is not None:
        await refused_in_time(alice, jobs(world.home), wanted, "it runs 2147483647 pods at once")
    else:
        await world.submit(alice, wanted)
        await told(admin, world.home, wanted["metadata"]["name"], "TooWide")
    other = in_pool(pool, world.job())
    await is_over(alice, await world.submit(alice, other))
    # Without the limit it would start, and make pods for ever.
    await admin.delete(jobs(world.home), {})
    await admin.delete(f"{load.GROUP}/limits/{name}")


@pytest.mark.parametrize("plural", ["pools", "lanes", "limits", "ledgers"])
async def test_t11_a_tenant_declares_weights_and_limits(
    world: World, alice: Api, plural: str
) -> None:
    with pytest.raises(ApiError, match="cannot create resource"):
        await alice.create(f"{load.GROUP}/{plural}", {"metadata": {"name": "mine"}})


def crowd(count: int, prefix: str = "a") -> dict[str, str]:
    return {f"{prefix}{number}": "" for number in range(count)}


GIANTS: dict[str, Object] = {
    "one-annotation": {"annotations": {"note": "<" * 250_000}},
    "annotations": {"annotations": crowd(3_000)},
    "labels": {"labels": crowd(3_000)},
    "our-annotations": {"annotations": crowd(3_000, "kwicket.dev/a")},
    "most-annotations": {"annotations": crowd(256)},
    "most-labels": {"labels": crowd(250)},
    "most-traits": {"labels": dict.fromkeys(crowd(250, "trait.kwicket.dev/a"), "1")},
    "owners": {
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": f"c-{n}", "uid": f"{n}"}
            for n in range(1_000)
        ]
    },
}


@pytest.mark.parametrize("giant", GIANTS)
async def test_t12_a_giant_is_refused_or_lives_and_dies_like_others(
    world: World, alice: Api, kwicket: Api, giant: str
) -> None:
    """What the policies once let in they let start, finish and go: its size locks it nowhere."""
    wanted = world.job()
    metadata = wanted["metadata"]
    for key, value in GIANTS[giant].items():
        metadata[key] = metadata.get(key, {}) | value if isinstance(value, dict) else value
    said = await refusal(alice, jobs(world.home), wanted)
    if not giant.startswith(("most-", "one-")):
        assert TOO_MANY in said or "belong to Kwicket" in said
        return
    assert said == ""
    where = jobs(world.home, metadata["name"])
    await kwicket.patch(where, start("10"))
    await is_over(alice, where)
    await alice.delete(where, {"propagationPolicy": "Foreground"})
    assert await alice.until(where, lambda seen: seen is None) is None


@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
@pytest.mark.parametrize("world", ["now-webhook"], indirect=True)
@pytest.mark.timeout(120)
@pytest.mark.parametrize("megabytes", [1.3, 4])
async def test_t12_a_job_of_any_size_harms_nothing(
    world: World, alice: Api, pool: str, megabytes: float
) -> None:
    """By the API server's policy, and past the webhook, to which `<` comes as six bytes."""
    wanted = in_pool(pool, world.job())
    wanted["spec"]["template"]["spec"]["containers"][0]["args"] = ["<" * int(megabytes * 1e6)]
    said = await refusal(alice, jobs(world.home), wanted)
    if megabytes < LARGEST:
        assert said == ""
        where = jobs(world.home, wanted["metadata"]["name"])
        started = {"metadata": {"annotations": {TOKEN: "9"}}, "spec": {"suspend": False}}
        await changes_nothing(alice, where, alice.patch(where, started))
        await alice.delete(where)
    else:
        assert said
    made = await alice.create(jobs(world.home), in_pool(pool, world.job()), dryRun="All")
    assert made["spec"]["suspend"] is True


@pytest.mark.parametrize("owners", [1, 65])
async def test_t12_a_job_that_grows_while_it_waits_takes_nobody_who_would_start_it_too(
    world: World, alice: Api, admin: Api, kwicket: Api, owners: int
) -> None:
    """Its pods' labels may grow until it starts; however big it is, its owners are looked at."""
    roles, _ = await admin.list("/apis/rbac.authorization.k8s.io/v1/clusterroles", limit="66")
    harmless = [owner_of(role) for role in roles]
    rival = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "controller": True}
    where = await world.submit(alice)
    # More than 64 are given by Kwicket alone, or were there before the policies.
    kept = harmless[:owners]
    await kwicket.patch(where, owned_by(kept))
    swapped = owned_by([*kept[1:], harmless[0] | rival])
    grown = {"spec": {"template": {"metadata": {"labels": crowd(257)}}}}
    for change in (swapped, swapped | grown):
        with pytest.raises(ApiError, match=r"its controller, JobSet .*, would start"):
            await alice.patch(where, change)
    await alice.patch(where, grown)
    with pytest.raises(ApiError, match=r"its controller, JobSet .*, would start"):
        await alice.patch(where, swapped)
    with pytest.raises(ApiError, match=TOO_MANY):
        await alice.patch(where, owned_by(harmless[: owners + 1]))
    await alice.patch(where, owned_by(kept[1:]))


def owner_of(role: Object) -> Object:
    """A reference to this ClusterRole, which stays where it is."""
    named = {key: role["metadata"][key] for key in ("name", "uid")}
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"} | named


def owned_by(owners: list[Object]) -> Object:
    """A patch to these owners."""
    return {"metadata": {"ownerReferences": owners}}


@pytest.mark.parametrize(
    ("containers", "variables"), [(1, 1000), (100, 100), (1, 1001), (1, 1002), (257, 1)]
)
async def test_t12_a_giant_environment(
    world: World, alice: Api, containers: int, variables: int
) -> None:
    wanted = world.job()
    pod = wanted["spec"]["template"]["spec"]
    env = [{"name": f"A{n}", "value": "<"} for n in range(variables)]
    main = pod["containers"][0] | {"env": env}
    pod["containers"] = [main | {"name": f"c-{n}"} for n in range(containers)]
    said = await refusal(alice, jobs(world.home), wanted, dryRun="All")
    if containers > 256 or variables > 1000:
        assert TOO_MANY in said
        return
    assert said == ""


async def test_t12_the_token_is_none_of_the_variables(world: World, alice: Api) -> None:
    """Where we put it; a Job that was read and is made again has it there."""
    wanted = world.job()
    [main] = wanted["spec"]["template"]["spec"]["containers"]
    main["env"] = [{"name": "KWICKET_TOKEN", "value": "999"}]
    main["env"] += [{"name": f"A{n}", "value": "<"} for n in range(1000)]
    assert await refusal(alice, jobs(world.home), wanted, dryRun="All") == ""
    main["env"].reverse()
    assert TOO_MANY in await refusal(alice, jobs(world.home), wanted, dryRun="All")


SHAPES = {
    "deep": b'{"metadata":{"name":"deep"},"spec":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "not-utf-8": b'{"metadata":{"name":"\xff\xfe"}}',
    "not-a-number": b'{"metadata":{"name":"nan"},"spec":{"parallelism":NaN}}',
    "cut": b'{"metadata":{"name":"cut"',
    "list": b"[]",
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_t13_a_body_that_is_no_job(world: World, alice: Api, shape: str) -> None:
    """The API server refuses it before any policy; the webhook's own bounds are its tests'."""
    with pytest.raises(ApiError) as refused:
        await alice.create(jobs(world.home), msgspec.Raw(SHAPES[shape]))  # type: ignore[arg-type]  # sent as it is
    assert REFUSED <= refused.value.status < 500
    assert await alice.list(jobs(world.home), limit="1")


async def test_t13_a_key_that_is_there_twice(world: World, alice: Api) -> None:
    """The last one counts, for the policies as for whoever reads the Job."""
    text = msgspec.json.encode(world.job(suspend=True)).decode()
    twice = text.replace('"suspend":true', '"suspend":true,"suspend":false')
    body = msgspec.Raw(twice.encode())
    if world.mutates:
        made = await alice.create(jobs(world.home), body)  # type: ignore[arg-type]  # sent as it is
        assert made["spec"]["suspend"] is True
        return
    with pytest.raises(ApiError, match="starts suspended"):
        await alice.create(jobs(world.home), body)  # type: ignore[arg-type]  # sent as it is


@LIVE
async def test_variables_and_arguments_that_name_the_token_hold_its_number(
    world: World, alice: Api, pool: str, plane: Plane, tmp_path: Path
) -> None:
    """By the API server's policy and by the webhook; the author's own variables come after ours."""
    told = tmp_path / "told"
    wanted = in_pool(pool, world.manifest("alice"))
    env = [{"name": "OUT", "value": "/out/$(KWICKET_TOKEN)"}, {"name": "KWICKET_TOKEN"}]
    script = f'echo "$OUT $1" >{told}.new; mv {told}.new {told}'
    command = ["sh", "-c", script, "sh", "--fence=$(KWICKET_TOKEN)"]
    pod = wanted["spec"]["template"]["spec"]
    pod["containers"][0] |= {"env": env, "command": command}
    where = await world.submit(alice, wanted)
    await appearance(told)
    token = token_of(await alice.get(where))
    assert token > 0
    assert told.read_text() == f"/out/{token} --fence={token}\n"
