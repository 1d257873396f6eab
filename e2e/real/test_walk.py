"""From `helm install` to `helm uninstall`, step by step: these tests run in their order."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator

import pytest

from e2e import load, release
from e2e.conftest import Cluster
from e2e.load import jobs_path
from e2e.objects import TOKEN
from e2e.plane import Plane
from e2e.plane.api import Api, ApiError, Object
from e2e.real import workloads
from e2e.real.databases import reached
from e2e.real.workloads import TELL, UNTIL_TOLD
from e2e.release import RELEASE, Kubeconfig
from e2e.tools import Tool
from kwicket_storage.schema import migrate
from support.databases import Database
from support.postgres import running

pytestmark = pytest.mark.timeout(300)

NAMESPACE = RELEASE[-1]
WAIT = ("--wait", "--timeout", "120s")
MINUTES = 150.0
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
GRANTED = "SELECT token FROM kwicket.grants WHERE pool = $1"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"


@pytest.fixture(scope="module", autouse=True)
def installed(helm: Tool, kubectl: Tool, kubeconfig: Kubeconfig, image: str) -> Iterator[None]:
    """The release, until the last step takes it away."""
    assert image
    if release.is_installed(helm):
        pytest.fail(
            "Kwicket is installed here, and the walk would take it away: uninstall it first"
        )
    kubectl("apply", "-f", "-", stdin=json.dumps(workloads.namespace(NAMESPACE)))
    helm("install", *RELEASE, *WAIT, seconds=MINUTES)
    release.await_force(kubeconfig)
    yield
    if release.is_installed(helm):
        release.uninstall(helm, kubeconfig)


@pytest.fixture
async def pool(api: Api) -> AsyncIterator[str]:
    """A Pool in which two Jobs run at a time."""
    await load.make_pool(api, "walk", limit=2)
    yield "walk"
    await load.drop_pool(api, "walk")


class Jobs:
    """Jobs of one namespace and Pool that run until they are told to end."""

    def __init__(self, api: Api, kubectl: Tool, namespace: str, pool: str, image: str) -> None:
        self._api = api
        self._kubectl = kubectl
        self._namespace = namespace
        self._labels = {"pool": pool}
        self._pod = workloads.pod_spec(image, UNTIL_TOLD)

    async def submit(self, *names: str) -> None:
        """Their turns are in the order of their names, also when all are of one second."""
        for name in names:
            job = workloads.job(name, "alice", self._pod, **self._labels)
            await self._api.create(jobs_path(self._namespace), job)

    async def running(self, name: str) -> tuple[int, str]:
        """The token that the Job's only pod was given, once it says so, and the pod's name."""
        path = f"/api/v1/namespaces/{self._namespace}/pods"
        selector = f"batch.kubernetes.io/job-name={name}"
        pods = await self._api.until_all(path, _one_runs, seconds=60, labelSelector=selector)
        [(_, pod)] = pods
        follow = ("logs", "-n", self._namespace, pod, "--follow", "--limit-bytes=1")
        self._kubectl(*follow)
        return int(self._kubectl("logs", "-n", self._namespace, pod).stdout), pod

    async def token(self, name: str) -> str | None:
        """The token on the Job, None while it waits."""
        job = await self._api.get(f"{jobs_path(self._namespace)}/{name}")
        assert job["spec"]["suspend"] is (TOKEN not in job["metadata"].get("annotations", {}))
        found: str | None = job["metadata"].get("annotations", {}).get(TOKEN)
        return found

    async def end(self, name: str) -> None:
        """Tell the Job's pod to end, and wait until the Job is complete.

        Whoever tells is in the container too, and may be killed with it: that is no failure.
        """
        _, pod = await self.running(name)
        self._kubectl("exec", "-n", self._namespace, pod, "--", *TELL, check=False)
        path = f"{jobs_path(self._namespace)}/{name}"
        await self._api.until(path, lambda job: bool(job and job["status"].get("completionTime")))


def _one_runs(pods: object) -> bool:
    assert isinstance(pods, dict)
    return [pod["status"].get("phase") for pod in pods.values()] == ["Running"]


@pytest.fixture
async def jobs(api: Api, kubectl: Tool, namespace: str, pool: str, image: str) -> Jobs:
    """Of the test's namespace, where Pod Security enforces `restricted` too."""
    await api.patch(f"/api/v1/namespaces/{namespace}", workloads.namespace(namespace))
    return Jobs(api, kubectl, namespace, pool, image)


async def deployments(api: Api) -> list[Object]:
    found, _ = await api.list(DEPLOYMENTS)
    return found


async def operators(api: Api) -> list[str]:
    """The names of the operator's pods."""
    return await pods_of(api, "operator")


async def pods_of(api: Api, command: str) -> list[str]:
    """The names of the pods that run this, whatever the Deployment is called; none comes twice."""
    pods, _ = await api.list(PODS)
    running = (p for p in pods if command in p["spec"]["containers"][0].get("command", []))
    return [pod["metadata"]["name"] for pod in running]


async def until_gone(api: Api, names: list[str]) -> None:
    """Wait until none of these pods of the release is left."""
    gone = {(NAMESPACE, name) for name in names}
    await api.until_all(PODS, lambda pods: gone.isdisjoint(pods), seconds=60)


def is_ready(deployment: Object) -> bool:
    wanted, status = deployment["spec"]["replicas"], deployment["status"]
    current = status.get("observedGeneration") == deployment["metadata"]["generation"]
    counts = {status.get(f"{which}Replicas", 0) for which in ("ready", "updated", "available")}
    return wanted > 0 and current and counts == {wanted} and status["replicas"] == wanted


async def test_every_deployment_is_ready_under_pod_security_restricted(
    api: Api, image: str
) -> None:
    """helm has waited for them; the namespace admits nothing that is not confined."""
    found = await deployments(api)
    assert {one["metadata"]["name"] for one in found} == {"kwicket", "kwicket-webhook"}
    assert all(is_ready(deployment) for deployment in found)
    loose = {"containers": [{"name": "main", "image": image}]}
    pod = {"metadata": {"name": "loose"}, "spec": loose}
    with pytest.raises(ApiError, match="restricted"):
        await api.create(PODS, pod, dryRun="All")


async def test_a_jobs_container_prints_its_token(jobs: Jobs) -> None:
    """In the environment of the container is the token that is on the Job."""
    await jobs.submit("worker")
    printed, _ = await jobs.running("worker")
    assert printed > 0
    assert await jobs.token("worker") == str(printed)
    await jobs.end("worker")


async def test_jobs_outlast_the_operators_pod_and_others_start_afterwards(
    api: Api, kubectl: Tool, jobs: Jobs
) -> None:
    """What runs goes on in the same pods; what waits starts when there is room again."""
    await jobs.submit("a", "b", "c")
    before = [await jobs.running(name) for name in ("a", "b")]
    kubectl("delete", "pod", "-n", NAMESPACE, *await operators(api))
    assert [await jobs.running(name) for name in ("a", "b")] == before
    assert await jobs.token("c") is None
    await jobs.end("a")
    token, _ = await jobs.running("c")
    assert token > max(token for token, _ in before)
    assert await jobs.running("b") == before[1]
    for name in ("b", "c"):
        await jobs.end(name)


async def test_the_webhook_is_reached_through_its_service(
    api: Api, kubectl: Tool, namespace: str, pool: str, image: str
) -> None:
    """Its words, which name the Pools there are, come back with an unknown Pool's Job."""
    lost = workloads.job("lost", "alice", workloads.pod_spec(image, "pass"), pool="nowhere")
    words = ("create", "-n", namespace, "-f", "-", "--dry-run=server")
    said = kubectl(*words, who="alice", stdin=json.dumps(lost), check=False)
    assert "nowhere" in said.stderr
    assert pool in said.stderr


def test_the_charts_own_test_passes(helm: Tool) -> None:
    """`helm test` runs in the cluster what the chart brings for it, and ends well without any."""
    assert "helm.sh/hook: test" in helm("get", "hooks", "kwicket", "-n", NAMESPACE).stdout
    helm("test", "kwicket", "-n", NAMESPACE, "--timeout", "60s", seconds=MINUTES)


async def test_an_upgrade_waits_for_new_pods_while_jobs_run_and_wait(
    api: Api, helm: Tool, jobs: Jobs
) -> None:
    """The operator's pods are new; the Jobs' are not, and what waited still starts."""
    await jobs.submit("a", "b", "c")
    before = [await jobs.running(name) for name in ("a", "b")]
    old = await operators(api)
    changed = ("--set", "operator.resources.requests.cpu=101m")
    helm("upgrade", *RELEASE, *changed, *WAIT, seconds=MINUTES)
    assert all(is_ready(deployment) for deployment in await deployments(api))
    await until_gone(api, old)
    assert [await jobs.running(name) for name in ("a", "b")] == before
    await jobs.end("a")
    token, _ = await jobs.running("c")
    assert token > max(token for token, _ in before)
    for name in ("b", "c"):
        await jobs.end(name)


async def test_no_job_is_refused_while_the_webhook_is_rolled_out(
    api: Api, helm: Tool, kubectl: Tool, kubeconfig: Kubeconfig, namespace: str, image: str
) -> None:
    """It suspends Jobs now, so one whose review got lost would be refused by the guard."""
    values = ("--set", "mutation=Webhook,webhook.timeoutSeconds=10")
    helm("upgrade", *RELEASE, *values, *WAIT, seconds=MINUTES)
    wanted = workloads.job("probe", "alice", workloads.pod_spec(image, "pass"))
    async with Api.open(kubeconfig("alice")) as alice:
        await until_held(alice, namespace, wanted)
        old = await pods_of(api, "webhook")
        kubectl("rollout", "restart", "deployment/kwicket-webhook", "-n", NAMESPACE)
        over = asyncio.create_task(until_gone(api, old))
        made = await asyncio.gather(*(submitting(alice, namespace, wanted, over) for _ in range(4)))
        await over
    assert all(is_ready(deployment) for deployment in await deployments(api))
    print(f"{sum(made)} Jobs were held while the webhook was rolled out")
    assert sum(made) > 100


async def until_held(alice: Api, namespace: str, wanted: Object) -> None:
    """A webhook configuration that an upgrade brings is trusted by the Job that comes with it."""
    async with asyncio.timeout(60):
        while not await _is_held(alice, namespace, wanted):  # noqa: ASYNC110 - nothing tells when
            await asyncio.sleep(0.2)


async def _is_held(alice: Api, namespace: str, wanted: Object) -> bool:
    try:
        made = await alice.create(jobs_path(namespace), wanted, dryRun="All")
    except ApiError:
        return False
    return bool(made["spec"]["suspend"])


async def submitting(alice: Api, namespace: str, wanted: Object, over: asyncio.Task[None]) -> int:
    """Creates Jobs without storing them until that is over; how many. None may be refused."""
    made = 0
    while not over.done():
        job = await alice.create(jobs_path(namespace), wanted, dryRun="All")
        assert job["spec"]["suspend"] is True
        made += 1
    return made


async def test_an_upgrade_to_postgres_shares_the_pools_while_jobs_run_and_wait(
    cluster: Cluster, api: Api, helm: Tool, kubectl: Tool, jobs: Jobs, pool: str
) -> None:
    """By a Secret that pods read as users without rights; the chart's own test looks at it too."""
    if not isinstance(cluster, Plane):
        pytest.skip("the database is in the network of a plane: python -m pytest e2e/real --e2e")
    await jobs.submit("a", "b", "c")
    before = [await jobs.running(name) for name in ("a", "b")]
    old = await operators(api)
    with running() as server:
        database = await Database.made(server.url)
        await migrate(database.url)
        async with reached(cluster, server) as host:
            user = (await database.member("kwicket_operator")).partition("@")[0]
            secret = f"--from-literal=url={user}@{host}/{database.name}"
            words = ("create", "secret", "generic", "shared", "-n", NAMESPACE, secret)
            kubectl(*words)
            values = ("--set", "ledger.postgres.secret=shared,ledger.postgres.cluster=real")
            upgrade = ("upgrade", *RELEASE, *values, *WAIT)
            await asyncio.to_thread(helm, *upgrade, seconds=MINUTES)
            await until_gone(api, old)
            test = ("test", "kwicket", "-n", NAMESPACE, "--timeout", "60s")
            await asyncio.to_thread(helm, *test, seconds=MINUTES)
            assert [await jobs.running(name) for name in ("a", "b")] == before
            await jobs.end("a")
            token, _ = await jobs.running("c")
            assert token > max(token for token, _ in before)
            kept = await database.told(GRANTED, pool)
            assert {row["token"] for row in kept} >= {token, before[1][0]}
            for name in ("b", "c"):
                await jobs.end(name)
            old = await operators(api)
            reset = ("upgrade", *RELEASE, "--reset-values", *WAIT)
            await asyncio.to_thread(helm, *reset, seconds=MINUTES)
            await until_gone(api, old)


async def test_uninstalling_takes_all_but_the_definitions_and_what_runs(
    api: Api, helm: Tool, kubeconfig: Kubeconfig, jobs: Jobs, pool: str
) -> None:
    """The walk's last step: running Jobs go on, waiting ones wait, and Pools are kept."""
    await jobs.submit("a", "b", "c")
    before = [await jobs.running(name) for name in ("a", "b")]
    release.uninstall(helm, kubeconfig)
    await api.until_all(PODS, lambda pods: not pods, seconds=60)
    assert await deployments(api) == []
    assert [await jobs.running(name) for name in ("a", "b")] == before
    await jobs.end("a")
    assert await jobs.token("c") is None
    assert await api.get(f"{load.GROUP}/pools/{pool}")
    await jobs.end("b")
