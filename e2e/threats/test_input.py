"""T9 to T13: numbers, sizes and shapes that are meant to break something."""

import msgspec
import pytest

from e2e import load
from e2e.objects import start
from e2e.plane.api import Api, ApiError, Object
from e2e.threats.test_belonging import told
from e2e.threats.test_starting import changes_nothing
from e2e.threats.world import IN_ALL, World, is_over, jobs, refusal

TIER = "trait.kwicket.dev/tier"
REFUSED = 400
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


BAD_TRAITS = [
    "NaN", "nan", "inf", "1e999", "0x10", "1_000", "1.001", "2", "00.5", "0.5555", "9" * 63,
]  # fmt: skip
NO_LABELS = ["-0", "-1", "+5", " 7 ", "٣", "0,5", "9" * 64, "\u200b1", "1\n"]


@pytest.mark.parametrize("world", ["now-running", "1.34-running"], indirect=True)
async def test_t10_a_trait_that_is_no_number(
    world: World, alice: Api, admin: Api, pool: str
) -> None:
    """It is set aside with a reason; one that follows in the same pool starts."""
    names = []
    for value in BAD_TRAITS:
        wanted = world.job()
        wanted["metadata"]["labels"] |= {TIER: value, "kwicket.dev/pool": pool}
        names.append(wanted["metadata"]["name"])
        await world.submit(alice, wanted)
    good = world.job()
    good["metadata"]["labels"] |= {TIER: "0.5", "kwicket.dev/pool": pool}
    await is_over(alice, await world.submit(alice, good))
    for name in names:
        await told(admin, world.home, name, "BadTrait")
        assert (await alice.get(jobs(world.home, name)))["spec"]["suspend"] is True


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


@pytest.mark.parametrize("world", ["now-running", "1.34-running"], indirect=True)
async def test_t11_the_greatest_width(world: World, alice: Api, admin: Api, pool: str) -> None:
    """Too wide for the pool for ever, so it is set aside, and keeps nobody."""
    limit = {"pool": pool, "concurrency": {"pods": 3}}
    name = f"{pool}-pods"
    await admin.create(f"{load.GROUP}/limits", load.declared("Limit", name, limit))
    wanted = world.job(parallelism=2**31 - 1, completions=2**31 - 1)
    wanted["metadata"]["labels"]["kwicket.dev/pool"] = pool
    await world.submit(alice, wanted)
    await told(admin, world.home, wanted["metadata"]["name"], "TooWide")
    other = world.job()
    other["metadata"]["labels"]["kwicket.dev/pool"] = pool
    await is_over(alice, await world.submit(alice, other))
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


@IN_ALL
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


@IN_ALL
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
