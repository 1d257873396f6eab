"""The cluster port: a grant is written on one version of one submission, or it is said why not."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from kwicket.core.jobs import JobSeen
from kwicket.kube.client import Client
from kwicket.kube.cluster import JOBS as JOBS_RESOURCE
from kwicket.kube.cluster import PODS as PODS_RESOURCE
from kwicket.kube.cluster import KubernetesCluster
from kwicket.kube.reflector import Reflector
from kwicket.ports.cluster import Denied, Gone, Order, Replaced, Stale, Started, Stopped
from kwicket.ports.errors import UnavailableError
from support.api_server import JOBS, NODES, PODS, ApiServer
from support.reflection import job, reflecting

PATH = "/apis/batch/v1/namespaces/team/jobs/x-1"
POD_PATH = "/api/v1/namespaces/team/pods"

UNREADABLE = [b"", b"<html>", b"[]", b"null", b"{}", b'{"metadata":{}}', b"\xff", b"[" * 100_000]


@pytest.fixture
def cluster(client: Client) -> KubernetesCluster:
    return KubernetesCluster(
        client, Reflector(client, JOBS_RESOURCE), Reflector(client, PODS_RESOURCE)
    )


async def waiting(api: ApiServer, cluster: KubernetesCluster) -> JobSeen:
    """A Job in line."""
    api.put(JOBS, job("x-1"))
    seen = await cluster.look("team", "x-1")
    assert seen is not None
    return seen


def order(seen: JobSeen, **fields: Any) -> Order:
    defaults: dict[str, Any] = {"pool": "gpu", "lane": "", "token": 42, "granted_at": 1000}
    return Order(job=seen, charged="1", **(defaults | fields))


async def test_a_grant_starts_the_job_and_stamps_it_and_its_pods(
    api: ApiServer, cluster: KubernetesCluster
) -> None:
    seen = await waiting(api, cluster)
    answer = await cluster.start(order(seen, lane="train"))
    assert isinstance(answer, Started)
    assert (answer.job.suspended, answer.job.token, answer.job.granted_pool) == (False, 42, "gpu")
    assert answer.job.version != seen.version
    stored = api.objects[JOBS]["team", "x-1"]
    assert stored["spec"]["template"]["metadata"]["annotations"] == {
        "kwicket.dev/token": "42",
        "kwicket.dev/pool": "gpu",
        "kwicket.dev/lane": "train",
    }
    assert stored["spec"]["parallelism"] == 1
    assert api.requests[-1].query == {"fieldManager": "kwicket"}
    assert api.requests[-1].headers["Content-Type"] == "application/merge-patch+json"


async def suspended_again(api: ApiServer, cluster: KubernetesCluster) -> JobSeen:
    """A Job in line that ran, as Kubernetes 1.35 leaves it: its template is closed."""
    api.put(JOBS, job("x-1") | {"status": {"startTime": "2026-11-02T08:00:00Z", "failed": 1}})
    seen = await cluster.look("team", "x-1")
    assert seen is not None
    return seen


async def test_the_template_of_a_job_that_ran_is_opened_before_it_is_stamped(
    api: ApiServer, cluster: KubernetesCluster
) -> None:
    answer = await cluster.start(order(await suspended_again(api, cluster)))
    assert isinstance(answer, Started)
    assert (answer.job.suspended, answer.job.token, answer.job.started) == (False, 42, False)
    assert api.objects[JOBS]["team", "x-1"]["status"] == {"failed": 1}
    _, opened, granted = api.requests
    assert (opened.path, granted.path) == (f"{PATH}/status", PATH)


async def test_a_job_that_never_ran_is_started_by_one_write(
    api: ApiServer, cluster: KubernetesCluster
) -> None:
    seen = await waiting(api, cluster)
    await cluster.start(order(seen))
    assert [request.method for request in api.requests] == ["GET", "PATCH"]


@pytest.mark.parametrize("field", ["version", "uid"])
async def test_the_template_of_a_job_that_has_changed_stays_closed(
    api: ApiServer, cluster: KubernetesCluster, field: str
) -> None:
    seen = await suspended_again(api, cluster)
    assert await cluster.start(order(replace(seen, **{field: "7"}))) == Stale()
    assert "startTime" in api.objects[JOBS]["team", "x-1"]["status"]
    assert len(api.asked("PATCH", PATH)) == 0


async def test_a_job_whose_template_stays_closed_is_not_started(
    api: ApiServer, cluster: KubernetesCluster
) -> None:
    seen = await suspended_again(api, cluster)
    api.fail(f"{PATH}/status", 403, method="PATCH")
    assert await cluster.start(order(seen)) == Denied("as scripted")
    api.fail(f"{PATH}/status", 504, method="PATCH", applied=True)
    with pytest.raises(UnavailableError):
        await cluster.start(order(seen))
    assert api.objects[JOBS]["team", "x-1"]["spec"]["suspend"] is True
    api.delete(JOBS, "x-1", "team")
    assert await cluster.start(order(seen)) == Gone()


async def test_a_job_is_suspended_at_the_version_that_was_read(
    api: ApiServer, cluster: KubernetesCluster
) -> None:
    api.put(JOBS, job("x-1", suspend=False))
    seen = await cluster.look("team", "x-1")
    assert seen is not None
    answer = await cluster.stop(seen, 3)
    assert isinstance(answer, Stopped)
    assert (answer.job.suspended, answer.job.deliveries, answer.job.token) == (True, 3, None)
    assert "template" not in api.objects[JOBS]["team", "x-1"]["spec"]
    assert await cluster.stop(seen, 3) == Stale()
    api.delete(JOBS, "x-1", "team")
    assert await cluster.stop(seen, 3) == Gone()
    api.fail(PATH, 403, method="PATCH")
    assert await cluster.stop(seen, 3) == Denied("as scripted")


async def test_beside_pods_that_never_end_pods_are_replaced_early_until_they_are_gone(
    api: ApiServer, cluster: KubernetesCluster
) -> None:
    answer = await cluster.start(order(await waiting(api, cluster), beside=True))
    assert isinstance(answer, Started)
    assert answer.job.beside
    replaced = await cluster.replace_late(answer.job)
    assert isinstance(replaced, Replaced)
    assert not replaced.job.beside
    stored = api.objects[JOBS]["team", "x-1"]["spec"]
    assert (stored["podReplacementPolicy"], stored["suspend"]) == ("Failed", False)
    assert await cluster.replace_late(answer.job) == Stale()


async def test_a_node_is_alive_while_it_is_there_and_heard_of(
    api: ApiServer, cluster: KubernetesCluster
) -> None:
    for name, ready in (("node-1", "Unknown"), ("node-2", "True")):
        conditions = [{"type": "Ready", "status": ready}]
        api.put(NODES, {"metadata": {"name": name}, "status": {"conditions": conditions}})
    alive = [await cluster.alive(name) for name in ("node-1", "node-2", "node-3")]
    assert alive == [False, True, False]
    api.fail(NODES, 403, method="GET")
    with pytest.raises(UnavailableError, match="node node-1: as scripted"):
        await cluster.alive("node-1")


async def test_a_grant_without_a_lane_takes_an_old_lane_away(
    api: ApiServer, cluster: KubernetesCluster
) -> None:
    seen = await waiting(api, cluster)
    first = await cluster.start(order(seen, lane="train"))
    assert isinstance(first, Started)
    await cluster.start(order(first.job, token=43))
    stored = api.objects[JOBS]["team", "x-1"]
    for metadata in (stored["metadata"], stored["spec"]["template"]["metadata"]):
        assert "kwicket.dev/lane" not in metadata["annotations"]
        assert metadata["annotations"]["kwicket.dev/token"] == "43"


@pytest.mark.parametrize("field", ["version", "uid"])
async def test_a_job_that_has_changed_is_not_started(
    api: ApiServer, cluster: KubernetesCluster, field: str
) -> None:
    seen = await waiting(api, cluster)
    assert await cluster.start(order(replace(seen, **{field: "7"}))) == Stale()
    assert api.objects[JOBS]["team", "x-1"]["spec"]["suspend"] is True


async def test_a_job_that_is_gone_is_not_started(
    api: ApiServer, cluster: KubernetesCluster
) -> None:
    seen = await waiting(api, cluster)
    api.delete(JOBS, "x-1", "team")
    assert await cluster.start(order(seen)) == Gone()
    assert await cluster.look("team", "x-1") is None


@pytest.mark.parametrize("status", [400, 403, 413, 422])
async def test_a_refused_start_says_why(
    api: ApiServer, cluster: KubernetesCluster, status: int
) -> None:
    seen = await waiting(api, cluster)
    api.fail(PATH, status, method="PATCH")
    assert await cluster.start(order(seen)) == Denied("as scripted")


@pytest.mark.parametrize("status", [401, 429, 500, 504])
async def test_a_start_without_an_answer_may_have_happened(
    api: ApiServer, cluster: KubernetesCluster, status: int
) -> None:
    seen = await waiting(api, cluster)
    api.fail(PATH, status, method="PATCH", applied=True)
    with pytest.raises(UnavailableError):
        await cluster.start(order(seen))
    read = await cluster.look("team", "x-1")
    assert read is not None
    assert read.token == 42


@pytest.mark.parametrize("body", UNREADABLE)
async def test_an_answer_that_cannot_be_read_proves_nothing(
    api: ApiServer, cluster: KubernetesCluster, body: bytes
) -> None:
    """Neither that the Job has started, nor that it is gone, nor that it has no pods."""
    seen = await waiting(api, cluster)
    api.fail(PATH, 200, method="PATCH", body=body)
    with pytest.raises(UnavailableError, match="not understood"):
        await cluster.start(order(seen))
    api.fail(PATH, 200, body=body)
    with pytest.raises(UnavailableError, match="not understood"):
        await cluster.look("team", "x-1")
    api.fail(POD_PATH, 200, body=body)
    with pytest.raises(UnavailableError, match="not understood"):
        await cluster.pods("team", "x-1")


@pytest.mark.parametrize("status", [403, 410, 503])
async def test_a_refused_read_proves_nothing(
    api: ApiServer, cluster: KubernetesCluster, status: int
) -> None:
    api.fail(PATH, status)
    with pytest.raises(UnavailableError):
        await cluster.look("team", "x-1")
    api.fail(POD_PATH, status)
    with pytest.raises(UnavailableError):
        await cluster.pods("team", "x-1")


async def test_a_job_without_tenant_is_not_managed(
    api: ApiServer, cluster: KubernetesCluster
) -> None:
    api.put(JOBS, job("x-1", tenant=None))
    assert await cluster.look("team", "x-1") is None


async def test_names_are_never_more_than_names(api: ApiServer, cluster: KubernetesCluster) -> None:
    assert await cluster.look("a/../b", "x?y=z") is None
    [request] = api.requests
    assert request.path == "/apis/batch/v1/namespaces/a/../b/jobs/x?y=z"
    assert request.query == {}


def pod(
    name: str, uid: str, tenant: str | None = "alice", owner: str | None = None
) -> dict[str, Any]:
    labels = {"batch.kubernetes.io/controller-uid": uid}
    if tenant is not None:
        labels["kwicket.dev/tenant"] = tenant
    metadata: dict[str, Any] = {"name": name, "namespace": "team", "labels": labels}
    if owner is not None:
        metadata |= {"ownerReferences": [{"kind": "Job", "uid": owner, "controller": True}]}
    return {"metadata": metadata, "status": {}}


async def test_all_pods_of_a_submission_are_found_with_and_without_owner_and_tenant(
    api: ApiServer, cluster: KubernetesCluster
) -> None:
    api.put(PODS, pod("a", "u"))
    api.put(PODS, pod("b", "u", tenant=None, owner="u"))
    api.put(PODS, pod("c", "other"))
    found = await cluster.pods("team", "u")
    assert [(one.name, one.live) for one in found] == [("a", True), ("b", True)]
    [request] = api.requests
    assert request.query == {"labelSelector": "batch.kubernetes.io/controller-uid=u"}


async def test_a_pod_on_which_somebody_has_written_the_uid_is_none_of_the_jobs(
    api: ApiServer, cluster: KubernetesCluster
) -> None:
    api.put(PODS, pod("bare", "u", tenant=None))
    api.put(PODS, pod("of-another", "u", tenant=None, owner="other"))
    assert await cluster.pods("team", "u") == ()


async def test_no_pods_may_be_written_as_null(api: ApiServer, cluster: KubernetesCluster) -> None:
    api.fail(POD_PATH, 200, body=b'{"items":null}')
    assert await cluster.pods("team", "u") == ()


async def test_a_pod_that_is_not_understood_is_not_counted_out(
    api: ApiServer, cluster: KubernetesCluster
) -> None:
    items = [pod("a", "u"), {"metadata": {"name": "b"}}]
    api.fail(POD_PATH, 200, body=json.dumps({"items": items}).encode())
    with pytest.raises(UnavailableError, match="not understood"):
        await cluster.pods("team", "u")


async def test_a_relist_is_of_jobs_and_of_pods(api: ApiServer, client: Client) -> None:
    async with reflecting(client) as jobs, reflecting(client, PODS_RESOURCE) as pods:
        cluster = KubernetesCluster(client, jobs.reflector, pods.reflector)
        await api.until(lambda: api.watches == 2)
        await cluster.relist()
    assert len(api.asked("GET", JOBS)) == 2
    assert len(api.asked("GET", PODS)) == 2
