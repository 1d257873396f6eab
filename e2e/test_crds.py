"""Pool, Lane, Limit and Ledger at the API server: good ones pass, bad ones learn what to write."""

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest

from e2e import release
from e2e.crd_cases import (
    BAD_LANES,
    BAD_LEDGERS,
    BAD_LIMITS,
    BAD_POOLS,
    BAD_STATUS,
    FULL_POOL,
    LEDGER,
    READY,
    STATUS,
    TOO_LONG,
    Case,
    Spec,
    lease,
    limit,
)
from e2e.plane.api import Api, ApiError, Object
from e2e.release import Kubeconfig
from e2e.tools import Tool

GROUP = "/apis/kwicket.dev/v1alpha1"
LONGEST = "p" * 63

type Store = Callable[[str, Spec], Awaitable[Object]]


def cases(table: list[Case]) -> pytest.MarkDecorator:
    names = [name for name, _, _ in table]
    return pytest.mark.parametrize(("spec", "message"), [case[1:] for case in table], ids=names)


def manifest(kind: str, spec: Spec, name: str = "probe") -> Object:
    metadata = {"name": name}
    return {"apiVersion": "kwicket.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}


def path(kind: str, name: str = "") -> str:
    return f"{GROUP}/{kind.lower()}s/{name}".rstrip("/")


async def accepted(api: Api, kind: str, spec: Spec, name: str = "probe") -> Spec:
    """The spec as the server would store it, defaults filled in; nothing is stored."""
    made = await api.create(
        path(kind), manifest(kind, spec, name), dryRun="All", fieldValidation="Strict"
    )
    stored: Spec = made["spec"]
    return stored


async def refusal(api: Api, kind: str, spec: Spec, name: str = "probe") -> str:
    with pytest.raises(ApiError) as refused:
        await accepted(api, kind, spec, name)
    assert "cost" not in refused.value.message
    assert "no such" not in refused.value.message
    return refused.value.message


@pytest.fixture(scope="module", autouse=True)
def installed(helm: Tool, kubeconfig: Kubeconfig) -> Iterator[None]:
    with release.installed(helm, kubeconfig):
        yield


@pytest.fixture
async def stored(api: Api) -> AsyncIterator[Store]:
    """Stores objects, each under a name of its own, and takes them away after the test."""
    names = (f"crds-{number}" for number in itertools.count())
    places = []

    async def store(kind: str, spec: Spec) -> Object:
        made = await api.create(path(kind), manifest(kind, spec, next(names)))
        places.append(path(kind, made["metadata"]["name"]))
        return made

    yield store
    for place in places:
        await api.delete(place)


async def test_a_pool_needs_no_fields_and_says_what_it_assumes(api: Api) -> None:
    assert await accepted(api, "Pool", {}) == {
        "default": False,
        "paused": False,
        "priority": [{"factor": "FairShare", "weight": 1}],
        "fairness": {"charge": "Starts"},
        "lease": {
            "duration": "5m",
            "startWithin": "10m",
            "onLapse": "Redeliver",
            "redeliveries": 5,
        },
    }


async def test_a_pool_needs_no_spec(api: Api) -> None:
    pool = manifest("Pool", {})
    del pool["spec"]
    made = await api.create(path("Pool"), pool, dryRun="All")
    assert made["spec"]["lease"]["duration"] == "5m"


async def test_a_pool_may_say_everything(api: Api) -> None:
    assert await accepted(api, "Pool", FULL_POOL, LONGEST) == FULL_POOL


@pytest.mark.parametrize("duration", ["10s", "90s", "1h30m", "1m1s", "24h", "1440m", "86400s"])
async def test_a_duration_may_be_written_in_many_ways(api: Api, duration: str) -> None:
    spec = await accepted(api, "Pool", lease(duration=duration))
    assert spec["lease"]["duration"] == duration


@cases(BAD_POOLS)
async def test_a_bad_pool_learns_what_to_write(api: Api, spec: Spec, message: str) -> None:
    assert message in await refusal(api, "Pool", spec)


@cases(BAD_LANES)
async def test_a_bad_lane_learns_what_to_write(api: Api, spec: Spec, message: str) -> None:
    assert message in await refusal(api, "Lane", spec)


@cases(BAD_LIMITS)
async def test_a_bad_limit_learns_what_to_write(api: Api, spec: Spec, message: str) -> None:
    assert message in await refusal(api, "Limit", spec)


@pytest.mark.parametrize(
    ("kind", "spec"),
    [("Pool", {}), ("Lane", {"pool": "main"}), ("Ledger", {"version": "1", "scale": "1"})],
)
async def test_a_name_that_fits_no_label_is_refused(api: Api, kind: str, spec: Spec) -> None:
    assert await accepted(api, kind, spec, LONGEST)
    assert "at most 63 characters" in await refusal(api, kind, spec, TOO_LONG)


@pytest.mark.parametrize(
    "spec",
    [
        limit(count="EachTenant"),
        {"count": "Together", "lane": "gpu.a", "concurrency": {"pods": 0}},
        {"count": "Together", "pool": "main", "rate": {"starts": 10000, "per": "24h"}},
    ],
)
async def test_a_limit_bounds_a_pool_or_a_lane(api: Api, spec: Spec) -> None:
    assert await accepted(api, "Limit", spec) == spec


async def test_a_limit_counts_all_tenants_together_unless_told_otherwise(api: Api) -> None:
    assert (await accepted(api, "Limit", limit()))["count"] == "Together"


async def test_a_ledger_holds_the_book_of_a_pool(api: Api) -> None:
    assert await accepted(api, "Ledger", LEDGER) == LEDGER


@cases(BAD_LEDGERS)
async def test_a_broken_ledger_is_refused(api: Api, spec: Spec, message: str) -> None:
    spec = spec if "version" in spec or not spec else LEDGER | spec
    assert message in await refusal(api, "Ledger", spec)


async def test_the_version_of_a_ledger_never_falls(api: Api, stored: Store) -> None:
    """Not even for whoever may write it; the same version, with other contents, is fine."""
    ledger = await stored("Ledger", LEDGER)
    where = path("Ledger", ledger["metadata"]["name"])
    same = await api.patch(where, {"spec": {"virtualTime": "3"}})
    assert same["spec"]["version"] == LEDGER["version"]
    higher = await api.patch(where, {"spec": {"version": "9764000000012"}})
    assert higher["spec"]["version"] == "9764000000012"
    for lower in ("9764000000011", "99", "1764000000012"):
        with pytest.raises(ApiError, match="write 9764000000012 or a higher number"):
            await api.patch(where, {"spec": {"version": lower}})


async def test_a_ledger_is_replaced_only_with_its_resource_version(api: Api, stored: Store) -> None:
    ledger = await stored("Ledger", LEDGER)
    where = path("Ledger", ledger["metadata"]["name"])
    again = await api.replace(where, ledger | {"spec": LEDGER | {"virtualTime": "3"}})
    with pytest.raises(ApiError) as stale:
        await api.replace(where, ledger)
    assert stale.value.status == 409
    del again["metadata"]["resourceVersion"]
    with pytest.raises(ApiError, match="resourceVersion: Invalid value"):
        await api.replace(where, again)


async def test_a_lane_stays_in_its_pool(api: Api, stored: Store) -> None:
    lane = await stored("Lane", {"pool": "main"})
    where = path("Lane", lane["metadata"]["name"])
    await api.patch(where, {"spec": {"pool": "main"}})
    with pytest.raises(ApiError, match="make a new Lane for another Pool"):
        await api.patch(where, {"spec": {"pool": "other"}})


@pytest.mark.parametrize(
    "change", [{"pool": "other"}, {"pool": None, "lane": "main"}], ids=["another", "a lane"]
)
async def test_a_limit_stays_with_its_pool(api: Api, stored: Store, change: Spec) -> None:
    made = await stored("Limit", limit())
    with pytest.raises(ApiError, match="make a new Limit for another one"):
        await api.patch(path("Limit", made["metadata"]["name"]), {"spec": change})


@pytest.mark.parametrize(
    "change", [{"lane": "other"}, {"lane": None, "pool": "gpu"}], ids=["another", "a pool"]
)
async def test_a_limit_stays_with_its_lane(api: Api, stored: Store, change: Spec) -> None:
    made = await stored("Limit", {"lane": "gpu", "concurrency": {"pods": 8}})
    with pytest.raises(ApiError, match="make a new Limit for another one"):
        await api.patch(path("Limit", made["metadata"]["name"]), {"spec": change})


async def test_a_limit_may_change_in_all_else(api: Api, stored: Store) -> None:
    made = await stored("Limit", limit())
    change = {"count": "EachTenant", "concurrency": None, "rate": {"starts": 1, "per": "1s"}}
    changed = await api.patch(path("Limit", made["metadata"]["name"]), {"spec": change})
    assert changed["spec"] == {
        "pool": "main",
        "count": "EachTenant",
        "rate": {"starts": 1, "per": "1s"},
    }


@cases(BAD_STATUS)
async def test_a_bad_status_is_refused(api: Api, stored: Store, spec: Spec, message: str) -> None:
    pool = await stored("Pool", {})
    where = path("Pool", pool["metadata"]["name"])
    with pytest.raises(ApiError) as refused:
        await api.patch(f"{where}/status", {"status": spec})
    assert message in refused.value.message


@pytest.mark.parametrize(
    ("kind", "spec"),
    [("Pool", {}), ("Lane", {"pool": "main"}), ("Limit", limit()), ("Ledger", LEDGER)],
)
async def test_spec_and_status_are_written_apart(
    api: Api, stored: Store, kind: str, spec: Spec
) -> None:
    made = await stored(kind, spec)
    where = path(kind, made["metadata"]["name"])
    status = {"conditions": [READY]}
    assert "status" not in await api.patch(where, {"status": status})
    judged = await api.patch(f"{where}/status", {"spec": None, "status": status})
    assert judged["status"] == status
    assert judged["spec"] == made["spec"]
    assert judged["metadata"]["generation"] == made["metadata"]["generation"]


def shown(kubectl: Tool, *words: str) -> list[str]:
    """The lines of a table, each with single blanks."""
    return [" ".join(line.split()) for line in kubectl("get", *words).stdout.splitlines()]


async def test_pools_are_read_at_a_glance(api: Api, stored: Store, kubectl: Tool) -> None:
    pool = await stored("Pool", {"default": True})
    name = pool["metadata"]["name"]
    await api.patch(f"{path('Pool', name)}/status", {"status": STATUS | {"conditions": [READY]}})
    short, wide = shown(kubectl, "pool", name), shown(kubectl, "kwp", name, "-o", "wide")
    assert short[0] == "NAME READY WAITING RUNNING TENANTS OLDEST WAITING AGE"
    assert short[1].startswith(f"{name} True 1204 8 17 ")
    assert wide[0] == "NAME READY WAITING RUNNING TENANTS OLDEST WAITING TOKEN DEFAULT PAUSED AGE"
    assert " 1764000000012 true false " in wide[1]


async def test_lanes_say_where_they_belong(stored: Store, kubectl: Tool) -> None:
    lane = await stored("Lane", {"pool": "main"})
    head, row = shown(kubectl, "kwla", lane["metadata"]["name"])
    assert head == "NAME POOL READY AGE"
    assert row.startswith(f"{lane['metadata']['name']} main ")


async def test_limits_say_what_they_bound(stored: Store, kubectl: Tool) -> None:
    """`kubectl get limits` means ours, though limits is also a short name of LimitRanges."""
    made = await stored("Limit", {"lane": "gpu", "rate": {"starts": 30, "per": "1m"}})
    name = made["metadata"]["name"]
    assert shown(kubectl, "kwli", name)[0] == "NAME POOL LANE COUNT READY AGE"
    head, row = shown(kubectl, "limits", name, "-o", "wide")
    assert head == "NAME POOL LANE COUNT JOBS PODS STARTS PER READY AGE"
    assert row.startswith(f"{name} gpu Together 30 1m ")


async def test_ledgers_say_how_far_they_are(stored: Store, kubectl: Tool) -> None:
    ledger = await stored("Ledger", LEDGER)
    head, row = shown(kubectl, "kwle", ledger["metadata"]["name"])
    assert head == "NAME VERSION AGE"
    assert row.startswith(f"{ledger['metadata']['name']} 1764000000012 ")


async def test_one_word_lists_them_all(stored: Store, kubectl: Tool) -> None:
    for kind, spec in [("Pool", {}), ("Lane", {"pool": "main"}), ("Limit", limit())]:
        await stored(kind, spec)
    listed = shown(kubectl, "kwicket", "-o", "name")
    assert {name.partition(".")[0] for name in listed} >= {"pool", "lane", "limit"}
