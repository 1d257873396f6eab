"""What the webhook tells the author of a Job, by kubectl: what is wrong with it, or its place."""

import asyncio
import json
import re
from collections.abc import AsyncIterator

import pytest

from e2e import load, statuses
from e2e.plane.api import Api, ApiError, Object
from e2e.threats.conftest import drop_pool
from e2e.threats.world import LIVE, PAUSED, World, in_pool, jobs, labels, refusal, refused_in_time

pytestmark = LIVE

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
COUNT = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/count/enum"
TIER = "trait.kwicket.dev/tier"


@pytest.fixture
async def lane(pool: str, admin: Api) -> AsyncIterator[str]:
    """A Lane of the Pool, and a Limit of three pods in it."""
    name = f"{pool}-gpu"
    limit = {"lane": name, "concurrency": {"pods": 3}}
    await admin.create(f"{load.GROUP}/lanes", load.declared("Lane", name, {"pool": pool}))
    await admin.create(f"{load.GROUP}/limits", load.declared("Limit", name, limit))
    yield name
    for plural in ("limits", "lanes"):
        await admin.delete(f"{load.GROUP}/{plural}/{name}")


@pytest.fixture
async def closed(pool: str, admin: Api) -> AsyncIterator[str]:
    """A Pool for another namespace's Jobs."""
    name = f"{pool}-closed"
    elsewhere = {"matchLabels": {"kubernetes.io/metadata.name": "elsewhere"}}
    await load.make_pool(admin, name, namespaceSelector=elsewhere)
    yield name
    await drop_pool(admin, name)


WRONG: dict[str, tuple[dict[str, str], Object, str]] = {
    "unknown-pool": (
        {"kwicket.dev/pool": "nowhere"},
        {},
        r"there is no Pool nowhere; there are: .*\b{pool}\b",
    ),
    "unknown-lane": (
        {"kwicket.dev/lane": "nowhere"},
        {},
        r"there is no Lane nowhere of a known Pool; there are: .*\b{lane}\b",
    ),
    "lane-of-another-pool": (
        {"kwicket.dev/lane": "{lane}", "kwicket.dev/pool": "{closed}"},
        {},
        "lane {lane} belongs to pool {pool}, not to {closed}",
    ),
    "bad-trait": (
        {TIER: "1.5", "kwicket.dev/pool": "{pool}"},
        {},
        r"the Job has trait tier = '1\.5', which is no number from 0 to 1 with at most three"
        r" decimals, such as 0\.5",
    ),
    "too-big": (
        {"kwicket.dev/lane": "{lane}"},
        {"parallelism": 4, "completions": 4},
        "it runs 4 pods at once and limit {lane} admits 3: it can never start",
    ),
    "not-for-this-namespace": (
        {"kwicket.dev/pool": "{closed}"},
        {},
        "pool {closed} does not admit Jobs of namespace {home}: its namespaceSelector decides",
    ),
}


@pytest.mark.parametrize("mistake", WRONG)
async def test_what_is_wrong_with_a_job_is_said_when_it_is_applied(
    world: World, alice: Api, pool: str, lane: str, closed: str, mistake: str
) -> None:
    """What is right is named beside it, where there is something, and nothing is stored."""
    own, spec, pattern = WRONG[mistake]
    known = {"pool": pool, "lane": lane, "closed": closed, "home": world.home}
    wanted = world.job(**spec)
    wanted["metadata"]["labels"] |= {key: value.format(**known) for key, value in own.items()}
    words = pattern.format(**known)
    await refused_in_time(alice, jobs(world.home), wanted, "jobs.kwicket.dev")
    said = applied(world, wanted, world.home)
    name = wanted["metadata"]["name"]
    denied = (
        rf'admission webhook "jobs\.kwicket\.dev" denied the request: Job {world.home}/{name}: '
    )
    assert re.search(f"{denied}.*{words}", said), said
    with pytest.raises(ApiError, match="not found"):
        await alice.get(jobs(world.home, name))


def applied(world: World, wanted: Object, namespace: str, *more: str) -> str:
    """What `kubectl apply` says of it to its author."""
    words = ("apply", "-n", namespace, "-f", "-", *more)
    answer = world.kubectl(*words, who="alice", stdin=json.dumps(wanted), check=False)
    return answer.stderr


async def test_a_tenant_that_is_not_the_namespaces_is_told_whose_it_is(
    world: World, alice: Api, admin: Api, pool: str, other: str
) -> None:
    """The API server's own policy is the first to say so."""
    await admin.patch(f"/api/v1/namespaces/{other}", labels(tenant="bob"))
    wanted = in_pool(pool, world.job())
    message = f"namespace {other} belongs to tenant bob, not "
    await refused_in_time(alice, jobs(other), wanted, message)
    said = await asyncio.to_thread(applied, world, wanted, other)
    assert f"{message}alice" in said


async def test_who_applies_a_job_is_told_its_place_in_line(
    world: World, alice: Api, admin: Api, pool: str
) -> None:
    """And why it waits there; the figures are those of the Pool's status."""
    await statuses.hold(admin, pool)
    for _ in range(2):
        await world.submit(alice, in_pool(pool, world.job()))
    await statuses.shown(admin, pool, waiting=2)
    wanted = in_pool(pool, world.job())
    name = wanted["metadata"]["name"]
    place = f"Job {world.home}/{name} waits in pool {pool} at position 3 or before, while 0 run"
    async with asyncio.timeout(10):
        while place not in applied(world, wanted, world.home, "--dry-run=server"):  # noqa: ASYNC110 - nothing tells when the webhook has heard of it
            await asyncio.sleep(0.1)
    said = applied(world, wanted, world.home)
    assert f"Warning: {place}: pool {pool} is paused" in said
    assert (await alice.get(jobs(world.home, name)))["spec"]["suspend"] is True


async def test_who_declares_a_second_default_pool_is_told_which_one_counts(
    world: World, pool: str
) -> None:
    second = json.dumps(load.declared("Pool", f"{pool}-default", {"default": True}))
    said = world.kubectl("apply", "--dry-run=server", "-f", "-", stdin=second).stderr
    words = f"Warning: Pools {PAUSED} and {pool}-default both have spec.default: true; the older,"
    assert f"{words} {PAUSED}, is the default" in said


async def test_what_the_webhook_does_not_understand_is_refused(
    world: World, admin: Api, pool: str
) -> None:
    """As where the definitions are newer than it is: the Limit would close its Pool."""
    definition = f"{DEFINITIONS}/limits.kwicket.dev"
    newer = {"op": "add", "path": f"{COUNT}/-", "value": "EachNamespace"}
    spec = {"pool": pool, "count": "EachNamespace", "concurrency": {"jobs": 1}}
    wanted = load.declared("Limit", f"{pool}-newer", spec)
    words = r'admission webhook "objects\.kwicket\.dev" denied the request: .*EachNamespace'
    before = await admin.get(definition)
    await admin.patch(definition, [newer], "json")
    try:
        said = "Unsupported value"
        async with asyncio.timeout(20):
            while "Unsupported value" in said:
                said = await refusal(admin, f"{load.GROUP}/limits", wanted, dryRun="All")
    finally:
        version = before["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
        enum = version["spec"]["properties"]["count"]["enum"]
        await admin.patch(
            definition, [newer | {"op": "replace", "path": COUNT, "value": enum}], "json"
        )
    assert re.search(words, said), said
