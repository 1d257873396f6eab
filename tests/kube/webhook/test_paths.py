"""What the paths answer, with an API server behind them."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from kwicket.kube.client import Client
from kwicket.kube.webhook import caches as module
from kwicket.kube.webhook.caches import Caches
from kwicket.kube.webhook.grantors import PATH, Grantors
from kwicket.kube.webhook.paths import Paths
from kwicket.kube.webhook.reviews import BadReviewError
from kwicket.ports.errors import UnavailableError
from support.api_server import LANES, LIMITS, NAMESPACES, POOLS, ApiServer
from support.reviews import encoded, job, response, review

LISTS = (POOLS, LANES, LIMITS, NAMESPACES)


@pytest.fixture
async def caches(api: ApiServer, client: Client) -> AsyncIterator[Caches]:
    """Caches at work; a test waits until they watch."""
    api.put(NAMESPACES, {"metadata": {"name": "team"}})
    made = Caches(client)
    running = asyncio.create_task(made.run())
    yield made
    running.cancel()
    await asyncio.wait([running])


@pytest.fixture
def paths(caches: Caches, client: Client) -> Paths:
    return Paths(caches, Grantors(client))


AS_KWICKET = {"kind": "PatchOptions", "fieldManager": "kwicket"}


def pooled(pool: str, **labels: str) -> dict[str, Any]:
    made = job()
    made["metadata"]["labels"] |= {"kwicket.dev/pool": pool, **labels}
    return made


async def watching(api: ApiServer) -> None:
    await api.until(lambda: api.watches == len(LISTS))


async def until(api: ApiServer, holds: Callable[[], bool]) -> None:
    """What the caches hear of, they hear of a moment after the API server has said it."""
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - caches tell nobody
            await asyncio.sleep(0.001)


async def validated(paths: Paths, new: Any, old: Any = None) -> dict[str, Any]:
    return response(await paths.validate_jobs(encoded(review(new, old))))


async def mutated(paths: Paths, new: Any, old: Any = None) -> dict[str, Any]:
    return response(await paths.mutate_jobs(encoded(review(new, old))))


def authorizer_says(api: ApiServer, allowed: bool) -> None:
    body = json.dumps({"status": {"allowed": allowed}}).encode()
    api.fail(PATH, 201, body=body, method="POST")


async def test_a_new_job_is_mutated_before_anything_is_known(client: Client) -> None:
    said = await mutated(Paths(Caches(client), Grantors(client)), job())
    assert said["allowed"] is True
    assert "/spec/suspend" in [one["path"] for one in said["patch"]]


async def test_jobs_are_let_through_before_anything_is_known(client: Client) -> None:
    paths = Paths(Caches(client), Grantors(client))
    assert await validated(paths, pooled("nowhere")) == {"uid": said_uid(), "allowed": True}
    pool = review({"metadata": {"name": "p"}}, kind="Pool")
    assert response(await paths.validate_objects(encoded(pool)))["allowed"] is True


def said_uid() -> str:
    uid: str = review(job())["request"]["uid"]
    return uid


async def test_whoever_may_grant_starts_a_job(api: ApiServer, paths: Paths) -> None:
    authorizer_says(api, True)
    waits = job(suspend=True, podReplacementPolicy="Failed")
    new = job(suspend=False, podReplacementPolicy="Failed")
    said = response(await paths.mutate_jobs(encoded(review(new, waits, options=AS_KWICKET))))
    assert said == {"uid": said_uid(), "allowed": True}


async def test_anyone_else_is_told_that_it_stays_suspended(api: ApiServer, paths: Paths) -> None:
    authorizer_says(api, False)
    new = job(suspend=False, podReplacementPolicy="Failed")
    new["metadata"]["managedFields"] = [{"fieldsV1": {"f:spec": {"f:suspend": {}}}}]
    said = await mutated(paths, new, job(suspend=True))
    assert said["patch"] == [{"op": "add", "path": "/spec/suspend", "value": True}]
    assert "spec.suspend stays true" in said["warnings"][0]


async def test_whoever_has_not_spoken_of_it_is_told_nothing(api: ApiServer, paths: Paths) -> None:
    authorizer_says(api, False)
    said = await mutated(paths, job(suspend=False), job(suspend=True))
    assert len(said["patch"]) == 2
    assert "warnings" not in said


async def test_without_an_answer_of_the_authorizer_there_is_none_of_ours(
    api: ApiServer, paths: Paths
) -> None:
    """Neither is a tenant let through nor is the operator's grant taken back."""
    api.fail(PATH, 503, method="POST")
    with pytest.raises(UnavailableError):
        await paths.mutate_jobs(encoded(review(job(suspend=False), job(suspend=True))))


async def test_the_authorizer_is_asked_only_where_an_update_would_be_changed(
    api: ApiServer, paths: Paths
) -> None:
    for new, old in [(job(), None), (job(suspend=True), job(suspend=True)), (job(None), job(None))]:
        assert (await mutated(paths, new, old))["allowed"] is True
    assert api.asked("POST", PATH) == []


async def test_a_job_is_told_its_place_by_the_status_of_its_pool(
    api: ApiServer, paths: Paths, caches: Caches
) -> None:
    await watching(api)
    api.put(POOLS, {"metadata": {"name": "gpu"}, "status": {"waiting": 3, "running": 2}})
    await until(api, lambda: "gpu" in caches.figures)
    said = await validated(paths, pooled("gpu"))
    assert said["allowed"] is True
    assert "at position 4 or before, while 2 run" in said["warnings"][0]


async def test_a_job_that_comes_right_after_its_pool_is_not_refused(
    api: ApiServer, paths: Paths
) -> None:
    """The watch has not told yet: nothing here has let it."""
    await watching(api)
    api.put(POOLS, {"metadata": {"name": "gpu"}})
    assert (await validated(paths, pooled("gpu")))["allowed"] is True


async def test_a_job_whose_namespace_was_just_labelled_is_not_refused(
    api: ApiServer, paths: Paths, caches: Caches
) -> None:
    selector = {"matchLabels": {"team": "red"}}
    api.put(POOLS, {"metadata": {"name": "red"}, "spec": {"namespaceSelector": selector}})
    await watching(api)
    await until(api, lambda: caches.synced)
    api.objects[NAMESPACES]["", "team"]["metadata"]["labels"] = {"team": "red"}  # no watch tells
    assert (await validated(paths, pooled("red")))["allowed"] is True


async def test_an_unknown_pool_is_refused_with_those_that_exist(
    api: ApiServer, paths: Paths
) -> None:
    api.put(POOLS, {"metadata": {"name": "gpu"}})
    await watching(api)
    said = await validated(paths, pooled("tpu"))
    assert said["allowed"] is False
    assert "there is no Pool tpu; there are: gpu" in said["status"]["message"]


async def test_what_is_deleted_is_unknown_again(
    api: ApiServer, paths: Paths, caches: Caches
) -> None:
    api.put(POOLS, {"metadata": {"name": "gpu"}})
    api.put(LANES, {"metadata": {"name": "big"}, "spec": {"pool": "gpu"}})
    api.put(LIMITS, {"metadata": {"name": "few"}, "spec": {"pool": "gpu", "rate": None}})
    await watching(api)
    known = caches.catalog
    assert [*known.pools, *known.lanes, *known.limits] == ["gpu", "big", "few"]
    for path, name in ((POOLS, "gpu"), (LANES, "big"), (LIMITS, "few"), (NAMESPACES, "team")):
        api.delete(path, name)
    await until(api, lambda: not (known.pools or known.lanes or known.limits))
    await until(api, lambda: caches.namespace("team") is None)


async def test_many_refusals_share_their_lists(api: ApiServer, paths: Paths) -> None:
    await watching(api)
    before = len(api.asked("GET", POOLS))
    said = await asyncio.gather(*(validated(paths, pooled("tpu")) for _ in range(50)))
    assert {one["allowed"] for one in said} == {False}
    assert len(api.asked("GET", POOLS)) - before <= 2


async def test_a_refusal_that_cannot_be_checked_is_a_warning(
    api: ApiServer, paths: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    await watching(api)
    api.fail(POOLS, 503, times=1000)
    said = await validated(paths, pooled("tpu"))
    assert said["allowed"] is True
    [warning] = said["warnings"]
    assert warning.startswith("not checked against the latest Pools, Lanes and Limits: Job team/")


async def test_an_update_is_not_judged_since_nothing_that_decides_may_change(
    api: ApiServer, paths: Paths
) -> None:
    await watching(api)
    gone = pooled("gone")
    with pytest.raises(BadReviewError, match="oldObject"):
        await validated(paths, gone, gone)


async def test_a_job_without_a_tenant_is_not_for_us(api: ApiServer, paths: Paths) -> None:
    """The webhook's objectSelector leaves it out; whoever sends it is told so, not obeyed."""
    await watching(api)
    with pytest.raises(BadReviewError, match="has no tenant"):
        await paths.validate_jobs(encoded(review(job(None))))


async def test_a_second_default_is_pointed_at(api: ApiServer, paths: Paths) -> None:
    api.put(POOLS, {"metadata": {"name": "gpu"}, "spec": {"default": True}})
    await watching(api)
    body = {"metadata": {"name": "cpu"}, "spec": {"default": True}}
    said = response(await paths.validate_objects(encoded(review(body, kind="Pool"))))
    assert said["allowed"] is True
    assert "the older, gpu, is the default" in said["warnings"][0]
