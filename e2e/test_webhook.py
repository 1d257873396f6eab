"""The webhook where the API server has no MutatingAdmissionPolicy, as before Kubernetes 1.36.

On a plane of the tests' own that emulates 1.34: while the webhook is up, while it is down, and
while it hangs. The guard policies are those of the chart.
"""

import asyncio
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from e2e import homes, webhooks
from e2e.held import comparable, held
from e2e.job_specs import population
from e2e.objects import start
from e2e.plane import Plane
from e2e.plane.api import Api, ApiError, Object
from e2e.recoveries import Recovered
from e2e.release import Kubeconfig, job
from e2e.tools import Tool
from e2e.webhooks import Switch, Webhook

GUARDS = ("templates/policies/guard.yaml", "templates/policies/tenants.yaml")
SEED, NUMBER = 6, 80
TENANT = "kwicket.dev/tenant"
JOBS = "/apis/batch/v1/namespaces/team/jobs"
POOLS = "/apis/kwicket.dev/v1alpha1/pools"
NOT_HELD = "a Job with a tenant starts suspended; Kwicket starts it when its turn comes"
CALLS = re.compile(
    r'^apiserver_admission_webhook_request_total\{.*name="(?:hold|jobs)\.kwicket\.dev".*\} (\d+)',
    re.M,
)

large = pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
"""The client sends it in one piece, which is all the same here."""


@pytest.fixture(scope="module")
def plane(own_planes: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    made = Plane.up(tmp_path_factory.mktemp("emulated"), emulate="1.34")
    yield made
    made.down()


@pytest.fixture(scope="module")
def kubectl(plane: Plane, tmp_path_factory: pytest.TempPathFactory) -> Tool:
    return Tool(plane.bin("kubectl"), plane.kubeconfig, tmp_path_factory.mktemp("kubectl"))


@pytest.fixture(scope="module")
def people(plane: Plane) -> Kubeconfig:
    return plane.kubeconfig


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("webhook") / "webhook.log"


@pytest.fixture(scope="module", autouse=True)
def switch(plane: Plane, kubectl: Tool, log: Path) -> Iterator[Switch]:
    """The webhook; it is up, and everything is in force."""
    webhooks.prepare(plane, kubectl, log.parent)
    asyncio.run(homes.make(plane.kubeconfig, {"name": "team"}))
    webhooks.apply(kubectl, webhooks.rendered(plane, log.parent, *GUARDS))
    switch = Switch(plane, log)
    webhook = switch.up()
    webhooks.apply(kubectl, webhooks.registrations(plane, log.parent, webhook))
    asyncio.run(_until_in_force(plane))
    yield switch
    switch.down()


@pytest.fixture
def webhook(switch: Switch) -> Webhook:
    """It is up."""
    return switch.up()


@pytest.fixture
def down(switch: Switch) -> None:
    """It is down."""
    switch.down()


async def _until_in_force(plane: Plane) -> None:
    """Labelled Jobs are held by the webhook, and empty labels refused by the guard."""
    async with Api.open(plane.kubeconfig("alice")) as api, asyncio.timeout(30):
        for labels, fate in (({}, "held"), ({"kwicket.dev/lane": ""}, "not be empty")):
            while fate not in await _fate(api, labels):  # noqa: ASYNC110 - nothing tells when
                await asyncio.sleep(0.1)


async def _fate(api: Api, labels: dict[str, str]) -> str:
    try:
        made = await api.create(JOBS, labelled("probe", labels), dryRun="All")
    except ApiError as error:
        return error.message
    return "held" if made["spec"]["suspend"] else "free"


def labelled(name: str, labels: dict[str, str], **spec: Any) -> Object:
    made = job(name, **spec)
    made["metadata"]["labels"] |= labels
    return made


def succeeded(seen: Object | None) -> bool:
    return bool(seen and seen["status"].get("succeeded"))


@contextmanager
def refused(words: str) -> Iterator[None]:
    with pytest.raises(ApiError) as error:
        yield
    assert words in error.value.message


async def calls(admin: Api) -> int:
    """How often the API server has called the webhook for Jobs."""
    text = (await admin.get("/metrics"))["text"]
    return sum(int(found) for found in CALLS.findall(text))


async def test_a_labelled_job_waits_and_starts_by_a_grant_with_its_token(
    webhook: Webhook, alice: Api, bob: Api
) -> None:
    made = await alice.create(JOBS, job("walk"))
    assert made["spec"]["suspend"] is True
    assert made["spec"]["podReplacementPolicy"] == "Failed"
    started = await bob.patch(f"{JOBS}/walk", start("10"))
    assert started["spec"]["suspend"] is False
    uid = made["metadata"]["uid"]
    pods = await alice.until_all(
        "/api/v1/namespaces/team/pods",
        bool,
        labelSelector=f"batch.kubernetes.io/controller-uid={uid}",
    )
    [pod] = pods.values()
    assert pod["metadata"]["labels"]["kwicket.dev/tenant"] == "alice"
    assert pod["spec"]["containers"][0]["env"][0]["name"] == "KWICKET_TOKEN"
    done = await alice.until(f"{JOBS}/walk", succeeded)
    assert done


async def test_a_tenants_start_is_kept_back_with_a_warning(
    webhook: Webhook, alice: Api, kubectl: Tool
) -> None:
    await alice.create(JOBS, job("eager"))
    patch = '{"spec": {"suspend": false}}'
    said = kubectl("patch", "job/eager", "-n", "team", "-p", patch, who="alice").stderr
    assert "Warning: spec.suspend stays true" in said
    assert (await alice.get(f"{JOBS}/eager"))["spec"]["suspend"] is True


@pytest.mark.parametrize("way", [("--server-side",), ("--server-side=false",)])
async def test_an_unchanged_manifest_is_applied_again_and_again_without_a_word(
    webhook: Webhook, alice: Api, bob: Api, kubectl: Tool, way: tuple[str, ...]
) -> None:
    name = f"again{way[0].replace('=', '')}"
    text = json.dumps(job(name) | {"apiVersion": "batch/v1", "kind": "Job"})
    words = ("apply", "-n", "team", "-f", "-", *way)
    kubectl(*words, who="alice", stdin=text)
    for _ in range(2):
        assert "Warning" not in kubectl(*words, who="alice", stdin=text).stderr
    assert (await alice.get(f"{JOBS}/{name}"))["spec"]["suspend"] is True
    await bob.patch(f"{JOBS}/{name}", start("10"))
    kubectl(*words, who="alice", stdin=text)
    assert (await alice.get(f"{JOBS}/{name}"))["spec"]["suspend"] is False


async def test_the_author_is_told_the_place_in_line(
    webhook: Webhook, admin: Api, kubectl: Tool
) -> None:
    await admin.create(
        POOLS, {"apiVersion": "kwicket.dev/v1alpha1", "kind": "Pool", "metadata": {"name": "gpu"}}
    )
    await admin.patch(f"{POOLS}/gpu/status", {"status": {"waiting": 41, "running": 8}})
    text = json.dumps(labelled("placed", {"kwicket.dev/pool": "gpu"}))
    await _until_known(kubectl, text)
    said = kubectl("create", "-n", "team", "-f", "-", who="alice", stdin=text).stderr
    assert (
        "Warning: Job team/placed waits in pool gpu at position 42 or before, while 8 run" in said
    )


async def _until_known(kubectl: Tool, text: str) -> None:
    """A status reaches the webhook a moment after it is written."""
    words = ("create", "-n", "team", "-f", "-", "--dry-run=server")
    async with asyncio.timeout(10):
        while "position 42" not in kubectl(*words, who="alice", stdin=text).stderr:  # noqa: ASYNC110 - nothing tells when
            await asyncio.sleep(0.05)


async def test_all_that_is_wrong_with_a_job_is_said_at_once(webhook: Webhook, alice: Api) -> None:
    wrong = {"kwicket.dev/pool": "nowhere", "trait.kwicket.dev/urgent": "2"}
    with pytest.raises(ApiError) as error:
        await alice.create(JOBS, labelled("wrong", wrong))
    assert 'admission webhook "jobs.kwicket.dev" denied the request: Job team/wrong: ' in str(
        error.value
    )
    for words in ("there is no Pool nowhere", "the Job has trait urgent = '2'"):
        assert words in error.value.message


async def test_a_pool_and_a_job_for_it_may_be_in_one_file(webhook: Webhook, kubectl: Tool) -> None:
    pool = {"apiVersion": "kwicket.dev/v1alpha1", "kind": "Pool", "metadata": {"name": "fresh"}}
    wanted = labelled("fresh", {"kwicket.dev/pool": "fresh"})
    wanted["metadata"]["namespace"] = "team"
    webhooks.apply(kubectl, [pool, wanted])


async def test_a_lane_of_no_pool_is_pointed_at(webhook: Webhook, kubectl: Tool) -> None:
    lane = {
        "apiVersion": "kwicket.dev/v1alpha1",
        "kind": "Lane",
        "metadata": {"name": "early"},
        "spec": {"pool": "later"},
    }
    said = kubectl("create", "-f", "-", stdin=json.dumps(lane)).stderr
    assert "Warning: there is no Pool later yet" in said


async def test_while_it_is_down_a_labelled_job_is_refused_unless_it_says_suspend(
    down: None,
    alice: Api,
) -> None:
    with refused(NOT_HELD):
        await alice.create(JOBS, job("down"))
    made = await alice.create(JOBS, job("down", suspend=True))
    assert made["spec"]["suspend"] is True


async def test_while_it_is_down_nobody_else_notices(down: None, alice: Api, bob: Api) -> None:
    """Unlabelled Jobs run, granted ones finish, and anything may be deleted."""
    await alice.create(JOBS, job("free", tenant=None))
    await alice.create(JOBS, job("granted", suspend=True))
    await bob.patch(f"{JOBS}/granted", start("10"))
    for name in ("free", "granted"):
        await alice.until(f"{JOBS}/{name}", succeeded)
        await alice.delete(f"{JOBS}/{name}")
        assert await alice.until(f"{JOBS}/{name}", lambda seen: seen is None) is None


async def test_while_it_is_down_a_tenant_starts_nothing(down: None, alice: Api) -> None:
    await alice.create(JOBS, job("still", suspend=True))
    with refused("only Kwicket starts a Job that waits in a pool"):
        await alice.patch(f"{JOBS}/still", {"spec": {"suspend": False}})


async def test_an_unlabelled_job_is_never_reviewed(
    webhook: Webhook, alice: Api, admin: Api
) -> None:
    await alice.create(JOBS, job("counted"))
    before = await calls(admin)
    assert before > 0
    await alice.create(JOBS, job("unseen", tenant=None))
    await alice.patch(f"{JOBS}/unseen", {"metadata": {"labels": {"team": "a"}}})
    await alice.until(f"{JOBS}/unseen", succeeded)
    await alice.delete(f"{JOBS}/unseen")
    await alice.until(f"{JOBS}/unseen", lambda seen: seen is None)
    assert await calls(admin) == before


async def test_while_it_hangs_unlabelled_jobs_run_and_labelled_ones_are_refused(
    webhook: Webhook, alice: Api, recovered: Recovered
) -> None:
    """Row 19 of the fault matrix."""
    with webhook.frozen():
        await alice.create(JOBS, job("unhung", tenant=None))
        await alice.until(f"{JOBS}/unhung", succeeded)
        with refused(NOT_HELD):
            await alice.create(JOBS, job("hung"))
    begin = time.monotonic()
    made = await alice.create(JOBS, job("hung"))
    recovered("19", "the webhook hangs; the next Job is held", time.monotonic() - begin)
    assert made["spec"]["suspend"] is True


@pytest.mark.timeout(300)
async def test_any_new_job_differs_only_where_it_has_to(webhook: Webhook, alice: Api) -> None:
    """From itself as it is with another label in place of the tenant's, which nobody looks at."""
    for wanted in population(SEED, NUMBER, newest=False):
        made = await alice.create(JOBS, wanted, dryRun="All")
        free = await alice.create(JOBS, relabelled(wanted, TENANT, "team"), dryRun="All")
        assert comparable(made) == comparable(held(relabelled(free, "team", TENANT)))


def relabelled(job: Object, old: str, new: str) -> Object:
    """The Job with one label under another key."""
    labels = {(new if key == old else key): v for key, v in job["metadata"]["labels"].items()}
    return job | {"metadata": job["metadata"] | {"labels": labels}}


@large
@pytest.mark.parametrize("megabytes", [0.1, 0.9, 1.1, 1.3])
async def test_a_job_of_any_size_that_can_be_stored_is_held(
    webhook: Webhook, alice: Api, megabytes: float
) -> None:
    """A review writes `<` as six bytes, and an update has the Job twice."""
    name = f"large-{int(megabytes * 10)}"
    wanted = job(name)
    wanted["spec"]["template"]["spec"]["containers"][0]["args"] = ["<" * int(megabytes * 1e6)]
    made = await alice.create(JOBS, wanted)
    assert made["spec"]["suspend"] is True
    kept = await alice.patch(f"{JOBS}/{name}", {"spec": {"suspend": False}})
    assert kept["spec"]["suspend"] is True


@large
@pytest.mark.parametrize("megabytes", [2.9, 4])
async def test_a_job_that_cannot_be_stored_harms_nothing(
    webhook: Webhook, alice: Api, megabytes: float, recovered: Recovered
) -> None:
    """Row 20 of the fault matrix.

    The smaller one is reviewed, in 17 MB, before it turns out to be too large to be stored.
    """
    wanted = job("huge")
    wanted["spec"]["template"]["spec"]["containers"][0]["args"] = ["<" * int(megabytes * 1e6)]
    with pytest.raises(ApiError):
        await alice.create(JOBS, wanted)
    begin = time.monotonic()
    made = await alice.create(JOBS, job("small"), dryRun="All")
    took = time.monotonic() - begin
    recovered("20", f"a Job of {megabytes:g} MB is reviewed; the next one is held", took)
    assert made["spec"]["suspend"] is True
