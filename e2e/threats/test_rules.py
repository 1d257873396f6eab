"""The rules, as the people of a cluster meet them: alice runs Jobs, the operator starts them.

From 1.36 on the API server's policy changes what is written, below it the webhook.
"""

import json
from typing import Any

import pytest

from e2e.objects import TOKEN, start
from e2e.plane.api import Api, ApiError, Object
from e2e.release import job
from e2e.threats.world import PAUSED, World, is_at_rest, jobs, labels, names

pytestmark = pytest.mark.parametrize("world", ["now-stopped", "1.34-webhook"], indirect=True)

FROM_ANNOTATION = {
    "name": "KWICKET_TOKEN",
    "valueFrom": {
        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.annotations['kwicket.dev/token']"}
    },
}


@pytest.fixture
def home(world: World) -> str:
    """The namespace of the world's Jobs."""
    return world.home


async def submit(api: Api, namespace: str, labels: dict[str, str] | None = None) -> str:
    """Create a Job; return its path."""
    wanted = job(next(names))
    wanted["metadata"]["labels"] |= labels or {}
    made = await api.create(jobs(namespace), wanted)
    return jobs(namespace, made["metadata"]["name"])


async def put_back(alice: Api, kwicket: Api, namespace: str) -> str:
    """A Job that ran with token 10, was suspended, and is at rest: only then its template opens,
    up to Kubernetes 1.35 once its startTime is off.
    """
    wanted = job(next(names))
    wanted["spec"]["template"]["spec"]["containers"][0]["command"] = ["sleep", "60"]
    made = await alice.create(jobs(namespace), wanted)
    where = jobs(namespace, made["metadata"]["name"])
    await kwicket.patch(where, start("10"))
    await alice.patch(where, {"spec": {"suspend": True}})
    await is_at_rest(alice, where)
    await kwicket.patch(f"{where}/status", {"status": {"startTime": None}})
    return where


async def test_a_new_job_is_held_fenced_and_labelled(alice: Api, home: str) -> None:
    """Whatever its author wrote: unsuspended, a token of another's, a variable of that name."""
    wanted = job(next(names), suspend=False, podReplacementPolicy="TerminatingOrFailed")
    wanted["metadata"]["annotations"] = {TOKEN: "999", "kwicket.dev/charged": "0", "note": "x"}
    forged = {"name": "KWICKET_TOKEN", "value": "999"}
    [main] = wanted["spec"]["template"]["spec"]["containers"]
    other = {"name": "ARGS", "value": "--fence=$(KWICKET_TOKEN)"}
    pods = wanted["spec"]["template"]["spec"]
    pods["containers"] = [main | {"env": [other, forged]}, main | {"name": "second"}]
    pods["initContainers"] = [main | {"name": "side", "restartPolicy": "Always", "env": [forged]}]
    made = await alice.create(jobs(home), wanted)
    assert made["spec"]["suspend"] is True
    assert made["spec"]["podReplacementPolicy"] == "Failed"
    assert made["metadata"]["annotations"] == {"note": "x"}
    template = made["spec"]["template"]
    assert template["metadata"]["labels"]["kwicket.dev/tenant"] == "alice"
    first, second = template["spec"]["containers"]
    assert first["env"] == [FROM_ANNOTATION, other]
    assert second["env"] == [FROM_ANNOTATION]
    assert template["spec"]["initContainers"][0]["env"] == [FROM_ANNOTATION]


async def test_a_job_without_tenant_is_left_alone(alice: Api, home: str) -> None:
    made = await alice.create(jobs(home), job(next(names), tenant=None))
    assert made["spec"]["suspend"] is False
    assert made["spec"]["podReplacementPolicy"] == "TerminatingOrFailed"
    assert "env" not in made["spec"]["template"]["spec"]["containers"][0]
    changed = await alice.patch(
        jobs(home, made["metadata"]["name"]),
        {"spec": {"suspend": True}, "metadata": {"annotations": {"kwicket.dev/note": "mine"}}},
    )
    assert changed["spec"]["suspend"] is True


async def test_only_kwicket_starts_a_waiting_job(alice: Api, home: str) -> None:
    """A tenant's `suspend: false` is kept at true, and its token is not taken."""
    where = await submit(alice, home)
    for body in ({"spec": {"suspend": False}}, start("999")):
        held = await alice.patch(where, body)
        assert held["spec"]["suspend"] is True
        assert "annotations" not in held["metadata"]


async def test_a_token_is_not_taken_away(alice: Api, kwicket: Api, home: str) -> None:
    """Its author's wish to has no effect, and the operator's is refused."""
    where = await submit(alice, home)
    await kwicket.patch(where, start("10"))
    without = {"metadata": {"annotations": {TOKEN: None}}}
    assert (await alice.patch(where, without))["metadata"]["annotations"][TOKEN] == "10"
    with pytest.raises(ApiError, match="is not higher than 10"):
        await kwicket.patch(where, without)


CHANGES: list[Object] = [
    labels(tenant="bob"),
    labels(tenant=None),
    labels(pool="other"),
    labels(pool=None),
    labels(lane="gpu"),
    {"metadata": {"labels": {"trait.kwicket.dev/urgent": "1"}}},
]


@pytest.mark.parametrize("change", CHANGES, ids=json.dumps)
async def test_labels_stay_as_submitted(alice: Api, home: str, change: Object) -> None:
    where = await submit(alice, home, {"kwicket.dev/pool": PAUSED})
    with pytest.raises(ApiError, match="of a Job do not change; make a new Job"):
        await alice.patch(where, change)


async def test_a_job_does_not_become_managed_later(alice: Api, home: str) -> None:
    made = await alice.create(jobs(home), job(next(names), tenant=None))
    with pytest.raises(ApiError, match="of a Job do not change; make a new Job"):
        await alice.patch(jobs(home, made["metadata"]["name"]), labels(tenant="alice"))


async def test_its_author_may_hold_a_job(alice: Api, home: str) -> None:
    """The one label of ours that may change, though not to nothing."""
    where = await submit(alice, home)
    held = await alice.patch(where, labels(hold="true"))
    assert held["metadata"]["labels"]["kwicket.dev/hold"] == "true"
    with pytest.raises(ApiError, match="must not be empty: leave it out or give it a value"):
        await alice.patch(where, labels(hold=""))
    assert await alice.patch(where, labels(hold=None))


async def test_other_labels_and_annotations_are_the_authors_own(alice: Api, home: str) -> None:
    where = await submit(alice, home)
    own = {"labels": {"team": "a", "empty": ""}, "annotations": {"note": "x"}}
    changed = await alice.patch(where, {"metadata": own})
    assert changed["metadata"]["annotations"]["note"] == "x"


async def test_a_job_does_not_grow_in_line(alice: Api, home: str) -> None:
    where = await submit(alice, home)
    with pytest.raises(ApiError, match="parallelism and completions are fixed"):
        await alice.patch(where, {"spec": {"parallelism": 50}})


async def test_pods_keep_their_tenant(alice: Api, home: str) -> None:
    """A waiting Job's template may be relabelled, but not under another tenant."""
    where = await submit(alice, home)
    template: Object = {"metadata": {"labels": {"team": "a"}}}
    assert await alice.patch(where, {"spec": {"template": template}})
    for tenant in ("bob", None):
        made = await alice.patch(where, {"spec": {"template": labels(tenant=tenant)}})
        kept = made["spec"]["template"]["metadata"]["labels"]
        assert kept["kwicket.dev/tenant"] == "alice"
        assert kept["team"] == "a"


SELF_MADE = {"selector": {"matchLabels": {"a": "b"}}, "manualSelector": True}
BAD_JOBS: list[tuple[dict[str, str], dict[str, Any], str]] = [
    ({"kwicket.dev/tenant": ""}, {}, "must not be empty: leave it out or give it a value"),
    ({"kwicket.dev/pool": ""}, {}, "must not be empty: leave it out or give it a value"),
    ({"trait.kwicket.dev/urgent": ""}, {}, "must not be empty: leave it out or give it a value"),
    ({"kueue.x-k8s.io/queue-name": "main"}, {}, "waits either in Kwicket or in Kueue"),
    ({}, {"managedBy": "example.com/mine"}, "has no managedBy and no manualSelector"),
    ({}, SELF_MADE, "has no managedBy and no manualSelector"),
]


@pytest.mark.parametrize(("own", "spec", "message"), BAD_JOBS)
async def test_a_job_kwicket_could_not_run_is_refused(
    alice: Api, home: str, own: dict[str, str], spec: dict[str, Any], message: str
) -> None:
    wanted = job(next(names), **spec)
    wanted["metadata"]["labels"] |= own
    wanted["spec"]["template"]["metadata"] = {"labels": {"a": "b"}}
    with pytest.raises(ApiError, match=message):
        await alice.create(jobs(home), wanted)


async def test_the_operator_starts_a_job_with_a_token(alice: Api, kwicket: Api, home: str) -> None:
    """The pod carries the token and the tenant, and reads the token from its annotation."""
    where = await submit(alice, home)
    started = await kwicket.patch(where, start("1764000000001"))
    assert started["spec"]["suspend"] is False
    uid = started["metadata"]["uid"]
    pods = await kwicket.until_all(
        f"/api/v1/namespaces/{home}/pods",
        bool,
        labelSelector=f"batch.kubernetes.io/controller-uid={uid}",
    )
    [pod] = pods.values()
    assert pod["metadata"]["annotations"][TOKEN] == "1764000000001"
    assert pod["metadata"]["labels"]["kwicket.dev/tenant"] == "alice"
    assert pod["spec"]["containers"][0]["env"][0] == FROM_ANNOTATION


@pytest.mark.parametrize("token", ["9", "10", "0", "011", "1e9", "", None])
async def test_a_stale_operator_starts_nothing(
    alice: Api, kwicket: Api, home: str, token: str | None
) -> None:
    """A token that is not higher, or is none, is refused though the operator itself writes it."""
    where = await put_back(alice, kwicket, home)
    with pytest.raises(ApiError, match="higher than 10"):
        await kwicket.patch(where, start(token))


async def test_a_start_needs_a_token(alice: Api, kwicket: Api, home: str) -> None:
    where = await submit(alice, home)
    with pytest.raises(ApiError, match="a start needs a token higher than"):
        await kwicket.patch(where, {"spec": {"suspend": False}})


async def test_a_job_starts_again_with_a_higher_token(alice: Api, kwicket: Api, home: str) -> None:
    where = await put_back(alice, kwicket, home)
    again = await kwicket.patch(where, start("11"))
    assert again["metadata"]["annotations"][TOKEN] == "11"


async def test_jobs_of_a_cron_job_wait_like_others(alice: Api, admin: Api, home: str) -> None:
    """The schedule's last turn is put into the past, so that the next one is due at once."""
    template = job("x")
    cron = {
        "metadata": {"name": "nightly"},
        "spec": {
            "schedule": "* * * * *",
            "concurrencyPolicy": "Forbid",
            "jobTemplate": {
                "metadata": {"labels": template["metadata"]["labels"]},
                "spec": template["spec"],
            },
        },
    }
    where = f"/apis/batch/v1/namespaces/{home}/cronjobs"
    await alice.create(where, cron)
    past = {"status": {"lastScheduleTime": "2026-01-01T00:00:00Z"}}
    await admin.patch(f"{where}/nightly/status", past)
    seen = await alice.until_all(
        jobs(home), lambda found: any(name.startswith("nightly-") for _, name in found)
    )
    [made] = [item for (_, name), item in seen.items() if name.startswith("nightly-")]
    assert made["spec"]["suspend"] is True
    template = made["spec"]["template"]
    assert template["metadata"]["labels"]["kwicket.dev/tenant"] == "alice"
    assert template["spec"]["containers"][0]["env"] == [FROM_ANNOTATION]
    await alice.delete(f"{where}/nightly")


async def test_a_finished_job_goes_after_its_time(alice: Api, kwicket: Api, home: str) -> None:
    made = await alice.create(jobs(home), job(next(names), ttlSecondsAfterFinished=0))
    where = jobs(home, made["metadata"]["name"])
    await kwicket.patch(where, start("10"))
    assert await alice.until(where, lambda seen: seen is None, seconds=20) is None
