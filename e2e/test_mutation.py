"""Both ways to hold a Job give the same bytes: the API server's policy, and the webhook.

On a plane of the tests' own, namespaces of one label are the policy's, and those of another the
webhook's; in a third one nothing is changed, to tell what is.
"""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e import homes, webhooks
from e2e.held import FROM_ANNOTATION, comparable, held, plain
from e2e.job_specs import population
from e2e.objects import TOKEN
from e2e.plane import Plane
from e2e.plane.api import Api, ApiError, Object
from e2e.release import Kubeconfig, job
from e2e.tools import Tool
from e2e.webhooks import Webhook

SEED, NUMBER = 5, 120
WAYS = ("policy", "webhook")
HOLD = "templates/policies/hold.yaml"


@pytest.fixture(scope="module")
def plane(own_planes: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    made = Plane.up(tmp_path_factory.mktemp("mutation"))
    yield made
    made.down()


@pytest.fixture(scope="module")
def kubectl(plane: Plane, tmp_path_factory: pytest.TempPathFactory) -> Tool:
    return Tool(plane.bin("kubectl"), plane.kubeconfig, tmp_path_factory.mktemp("kubectl"))


@pytest.fixture(scope="module")
def people(plane: Plane) -> Kubeconfig:
    return plane.kubeconfig


@pytest.fixture(scope="module", autouse=True)
def both_ways(
    plane: Plane, kubectl: Tool, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """The policy acts in namespace `policy`, the webhook in `webhook`, nothing in `free`."""
    folder = tmp_path_factory.mktemp("webhook")
    for way in (*WAYS, "free"):
        asyncio.run(homes.make(plane.kubeconfig, {"name": way, "labels": {"way": way}}))
    webhooks.prepare(plane, kubectl, folder)
    webhooks.apply(kubectl, _policy(plane, folder))
    account = plane.kubeconfig(f"{webhooks.NAMESPACE}/{webhooks.ACCOUNT}")
    webhook = Webhook(account, folder / "webhook.log", webhooks.pair_of(plane))
    only = {"matchLabels": {"way": "webhook"}}
    webhooks.apply(kubectl, webhooks.registrations(plane, folder, webhook, only))
    asyncio.run(_until_held(plane))
    yield
    assert webhook.end() == 0


def _policy(plane: Plane, folder: Path) -> list[Object]:
    """The chart's, bound to one namespace."""
    documents = webhooks.rendered(plane, folder, HOLD)
    for one in documents:
        if one["kind"].endswith("Binding"):
            selector = {"namespaceSelector": {"matchLabels": {"way": "policy"}}}
            one["spec"]["matchResources"] = selector
    return documents


async def _until_held(plane: Plane) -> None:
    """Policies and webhooks begin to act a moment after they are stored: try until they do."""
    async with Api.open(plane.kubeconfig("alice")) as api, asyncio.timeout(30):
        for way in WAYS:
            while not await _held(api, way):  # noqa: ASYNC110 - nothing tells when
                await asyncio.sleep(0.1)


async def _held(api: Api, way: str) -> bool:
    try:
        made = await api.create(jobs(way), job("probe"), dryRun="All")
    except ApiError as error:
        if error.status < 500:
            raise
        return False
    return bool(made["spec"]["suspend"])


def jobs(way: str, name: str = "") -> str:
    return f"/apis/batch/v1/namespaces/{way}/jobs/{name}".rstrip("/")


async def each_way(act: Any) -> Object:
    """Does it both ways; the Job, which must be the same bytes."""
    policy, webhook = [await act(way) for way in WAYS]
    assert plain(policy) == plain(webhook)
    made: Object = webhook
    return made


TENANT, OURS = "kwicket.dev/tenant", "kwicket.dev/"
RETOUCHED = {
    "metadata": {
        "labels": {TENANT: "mallory", "team": "c"},
        "annotations": {TOKEN: "9", "note": "mine"},
    },
    "spec": {"nodeSelector": {"disk": "fast"}},
}
"""What may be changed of the template of a Job that has never run, and what of it is ours."""
FIELDS = (
    *("successPolicy", "backoffLimitPerIndex", "maxFailedIndexes", "podFailurePolicy"),
    *("completionMode", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle"),
    *("resizePolicy", "ephemeral", "resourceClaims", "claims", "fileKeyRef", "affinity"),
    *("topologySpreadConstraints", "tolerations", "securityContext", "resources", "envFrom"),
)


def test_the_jobs_use_what_templates_are_made_of() -> None:
    text = json.dumps(list(population(SEED, NUMBER)))
    assert [field for field in FIELDS if f'"{field}"' not in text] == []
    assert '"restartPolicy": "Always"' in text


@pytest.mark.timeout(300)
async def test_any_new_job_is_the_same_bytes_and_differs_only_where_it_has_to(alice: Api) -> None:
    """Each is valid, each is made both ways and, without being stored, with nothing in its way."""
    for wanted in population(SEED, NUMBER):

        async def make(way: str, wanted: Object = wanted) -> Object:
            return await alice.create(jobs(way), wanted, dryRun="All")

        made = await each_way(make)
        assert comparable(made) == comparable(held(await make("free")))


@pytest.mark.timeout(300)
async def test_any_job_stays_the_same_bytes_through_its_updates(alice: Api, bob: Api) -> None:
    for wanted in map(sayable, population(SEED + 1, NUMBER // 6)):
        name = wanted["metadata"]["name"]
        steps = [
            (alice, "merge", {"spec": {"suspend": False}}, True),
            (alice, "merge", {"spec": {"podReplacementPolicy": "TerminatingOrFailed"}}, True),
            (alice, "merge", {"metadata": {"annotations": {"team": "a"}}}, True),
            (alice, "apply", wanted, True),
            (alice, "merge", {"spec": {"template": RETOUCHED}}, True),
            (alice, "apply", wanted, True),
            (bob, "merge", start("12"), False),
            (alice, "merge", {"metadata": {"labels": {"team": "b"}}}, False),
            (alice, "merge", {"spec": {"suspend": True}}, True),
            (alice, "merge", {"spec": {"suspend": False}}, True),
        ]
        await each_way(lambda way, wanted=wanted: alice.create(jobs(way), wanted))
        for step in steps:
            made = await each_way(lambda way, step=step, name=name: _change(way, name, *step[:3]))
            assert made["spec"]["suspend"] is step[3], (name, step)
            assert made["spec"]["podReplacementPolicy"] == "Failed"
            template = made["spec"]["template"]["metadata"]
            assert template["labels"][TENANT] == made["metadata"]["labels"][TENANT]
            assert not [key for key in template.get("annotations", {}) if key.startswith(OURS)]
        for way in WAYS:
            await alice.delete(jobs(way, name))


async def _change(way: str, name: str, who: Api, kind: str, body: Object) -> Object:
    """The Job as it was right after the patch, without its status, which others write."""
    query = {"fieldManager": "t", "force": "true"} if kind == "apply" else {}
    made = await who.patch(jobs(way, name), body, kind, **query)
    made.pop("status", None)
    meta = made["metadata"]
    meta["managedFields"] = [
        one for one in meta["managedFields"] if one.get("subresource") != "status"
    ]
    meta.pop("generation")
    return made


def sayable(wanted: Object) -> Object:
    """As a manifest for server-side apply, which knows no two variables of one name."""
    made: Object = json.loads(json.dumps(wanted))
    pods = made["spec"]["template"]["spec"]
    for container in [*pods["containers"], *pods.get("initContainers", ())]:
        if "env" in container:
            container["env"] = list({one["name"]: one for one in container["env"]}.values())
    return made


def start(token: str) -> Object:
    return {"metadata": {"annotations": {TOKEN: token}}, "spec": {"suspend": False}}


async def test_a_name_that_is_generated_makes_no_difference(alice: Api) -> None:
    wanted = job("x")
    wanted["metadata"] = {"generateName": "sum-", "labels": wanted["metadata"]["labels"]}
    made = await each_way(lambda way: alice.create(jobs(way), wanted))
    assert made["metadata"]["name"].startswith("sum-")
    assert made["spec"]["suspend"] is True


async def test_a_job_without_a_tenant_is_left_alone_both_ways(alice: Api) -> None:
    wanted = job("plain", tenant=None)
    made = await each_way(lambda way: alice.create(jobs(way), wanted, dryRun="All"))
    assert comparable(made) == comparable(await alice.create(jobs("free"), wanted, dryRun="All"))


async def test_jobs_of_cron_jobs_are_the_same_bytes(alice: Api, plane: Plane) -> None:
    """The schedule's last turn is put into the past, so that the next one is due at once."""
    template = job("x")
    spec = {
        "schedule": "* * * * *",
        "concurrencyPolicy": "Forbid",
        "jobTemplate": {
            "metadata": {"labels": template["metadata"]["labels"]},
            "spec": template["spec"],
        },
    }
    made: dict[str, Object] = {}
    async with Api.open(plane.kubeconfig("admin")) as admin:
        for way in WAYS:
            where = f"/apis/batch/v1/namespaces/{way}/cronjobs"
            await alice.create(where, {"metadata": {"name": "nightly"}, "spec": spec})
            past = {"status": {"lastScheduleTime": "2026-01-01T00:00:00Z"}}
            await admin.patch(f"{where}/nightly/status", past)
            made[way] = await _made_by_cron(alice, way)
            await alice.delete(f"{where}/nightly")
    assert made["policy"] == made["webhook"]
    assert made["webhook"]["suspend"] is True
    assert made["webhook"]["template"]["spec"]["containers"][0]["env"] == [FROM_ANNOTATION]


async def _made_by_cron(alice: Api, way: str) -> Object:
    """The spec of the CronJob's first Job, but for the Job's own UID and name in it."""
    seen = await alice.until_all(
        jobs(way), lambda found: any(name.startswith("nightly-") for _, name in found)
    )
    [one] = [item for (_, name), item in seen.items() if name.startswith("nightly-")]
    spec: Object = json.loads(plain(one))["spec"]
    return spec
