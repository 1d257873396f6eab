"""What the webhook changes of a Job: no more than the policy kwicket-hold does, and only once."""

import json
from typing import Any

import msgspec
import pytest

from kwicket.kube.webhook import mutation
from support.reviews import encoded, job, patched, review

TOKEN = {
    "name": "KWICKET_TOKEN",
    "valueFrom": {
        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.annotations['kwicket.dev/token']"}
    },
}
OWN = {"name": "KWICKET_TOKEN", "value": "forged"}
HOME = {"name": "OUT", "value": "/out/$(KWICKET_TOKEN)"}


def mutated(new: dict[str, Any], old: Any = None) -> dict[str, Any]:
    """The Job after its review."""
    request = mutation.JOBS.read(encoded(review(new, old)))
    return patched(new, msgspec.to_builtins(mutation.changes(request)))


def with_pods(**spec: Any) -> dict[str, Any]:
    """A Job whose pods are so."""
    made = job()
    made["spec"]["template"]["spec"] |= spec
    return made


def env_of(made: dict[str, Any], field: str = "containers") -> list[Any]:
    return [one.get("env") for one in made["spec"]["template"]["spec"][field]]


def test_a_new_job_is_suspended_and_labelled_and_its_container_knows_its_token() -> None:
    made = mutated(job())
    assert made["spec"]["suspend"] is True
    assert made["spec"]["podReplacementPolicy"] == "Failed"
    assert made["spec"]["template"]["metadata"] == {"labels": {"kwicket.dev/tenant": "alice"}}
    assert env_of(made) == [[TOKEN]]


def test_nothing_else_is_changed() -> None:
    before, after = job(), mutated(job())
    del after["spec"]["template"]["spec"]["containers"][0]["env"]
    del after["spec"]["template"]["metadata"]["labels"]
    after["spec"] |= {"suspend": False, "podReplacementPolicy": "TerminatingOrFailed"}
    assert after == before


def test_a_job_without_a_tenant_is_left_alone() -> None:
    assert mutated(job(None)) == job(None)
    assert mutated(job(None, suspend=False), job(None, suspend=True)) == job(None, suspend=False)


def test_what_was_changed_is_not_changed_again() -> None:
    once = mutated(with_pods(initContainers=[{"name": "first", "env": [OWN, HOME]}]))
    request = mutation.JOBS.read(encoded(review(once)))
    assert mutation.changes(request) == []


def test_the_token_comes_first_so_that_the_authors_own_variables_may_refer_to_it() -> None:
    made = mutated(with_pods(containers=[{"name": "a", "env": [HOME, OWN, HOME]}]))
    assert env_of(made) == [[TOKEN, HOME, HOME]]


def test_every_container_has_the_token_also_those_that_start_first_or_stay_beside() -> None:
    sidecar = {"name": "side", "restartPolicy": "Always", "env": [OWN]}
    made = mutated(
        with_pods(
            containers=[{"name": "a"}, {"name": "b", "env": None}, {"name": "c", "env": []}],
            initContainers=[{"name": "first"}, sidecar],
        )
    )
    assert env_of(made) == [[TOKEN]] * 3
    assert env_of(made, "initContainers") == [[TOKEN]] * 2


@pytest.mark.parametrize(
    "metadata", [None, {}, {"labels": None}, {"labels": {}}, {"labels": {"app": "sum"}}]
)
def test_the_pods_of_any_template_are_labelled(metadata: Any) -> None:
    made = job()
    made["spec"]["template"]["metadata"] = metadata
    labels = mutated(made)["spec"]["template"]["metadata"]["labels"]
    before = (metadata or {}).get("labels") or {}
    assert labels == before | {"kwicket.dev/tenant": "alice"}


def test_a_template_without_metadata_is_labelled() -> None:
    made = job()
    del made["spec"]["template"]["metadata"]
    labels = mutated(made)["spec"]["template"]["metadata"]["labels"]
    assert labels == {"kwicket.dev/tenant": "alice"}


def test_a_template_that_names_another_tenant_is_corrected() -> None:
    made = job()
    made["spec"]["template"]["metadata"] = {"labels": {"kwicket.dev/tenant": "bob"}}
    labels = mutated(made)["spec"]["template"]["metadata"]["labels"]
    assert labels == {"kwicket.dev/tenant": "alice"}


def test_annotations_of_ours_in_a_new_manifest_are_dropped_and_others_stay() -> None:
    made = job()
    made["metadata"]["annotations"] = {
        "kwicket.dev/token": "1764000000001",
        "kwicket.dev/a~b": "x",
        "note": "kwicket.dev/token",
        "other.kwicket.dev/token": "y",
    }
    annotations = mutated(made)["metadata"]["annotations"]
    assert annotations == {"note": "kwicket.dev/token", "other.kwicket.dev/token": "y"}


def test_a_job_that_waits_stays_suspended_whoever_else_updates_it() -> None:
    made = mutated(job(suspend=False), job(suspend=True))
    assert made == job(suspend=True, podReplacementPolicy="Failed")


def test_a_job_that_runs_may_be_updated_and_suspended() -> None:
    runs = job(suspend=False, podReplacementPolicy="Failed")
    assert mutated(runs, runs) == runs
    put_back = job(suspend=True, podReplacementPolicy="Failed")
    assert mutated(put_back, runs) == put_back


def test_an_update_that_adds_or_takes_the_tenant_is_held_as_the_policy_does() -> None:
    """What the label itself may do is the guard's to say."""
    assert mutated(job(suspend=False), job(None, suspend=True))["spec"]["suspend"] is False
    assert mutated(job(None, suspend=False), job(suspend=True))["spec"]["suspend"] is True


def waiting(annotations: dict[str, str]) -> dict[str, Any]:
    """A Job as it is stored, with these annotations of ours on itself and on its pods."""
    made = mutated(job())
    made["metadata"]["annotations"] = {"note": "x"} | ours(annotations)
    made["spec"]["template"]["metadata"]["annotations"] = {"note": "x"} | ours(annotations)
    return made


def ours(annotations: dict[str, str]) -> dict[str, str]:
    return {f"kwicket.dev/{key}": value for key, value in annotations.items()}


def copied(made: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(json.dumps(made))
    return result


def test_an_update_that_touches_nothing_is_left_alone() -> None:
    """A Job from before there was a policy may be finished and deleted as it is."""
    old = job(suspend=True)
    new = copied(old)
    new["metadata"]["finalizers"] = []
    new["metadata"]["labels"]["team"] = "a"
    assert mutated(new, old) == new


def annotations_at(place: str, made: dict[str, Any]) -> dict[str, str]:
    owner = made if place == "job" else made["spec"]["template"]
    annotations: dict[str, str] = owner["metadata"]["annotations"]
    return annotations


@pytest.mark.parametrize("place", ["job", "template"])
def test_annotations_of_ours_are_put_back_as_they_were(place: str) -> None:
    old, new = waiting({"token": "12", "pool": "gpu"}), waiting({"token": "13", "charged": "7"})
    new["spec"]["suspend"] = False
    assert mutated(new, old) == old
    where = new["metadata"] if place == "metadata" else new["spec"]["template"]["metadata"]
    where["annotations"] = {"note": "y"}
    expected = copied(old)
    there = (
        expected["metadata"] if place == "metadata" else expected["spec"]["template"]["metadata"]
    )
    there["annotations"]["note"] = "y"
    assert mutated(new, old) == expected


@pytest.mark.parametrize("gone", [None, {}])
def test_a_map_that_is_gone_comes_back_with_ours_alone(gone: Any) -> None:
    old, new = waiting({"token": "12"}), waiting({"token": "12"})
    new["metadata"]["annotations"] = gone
    new["spec"]["template"]["metadata"] = {"annotations": gone, "labels": gone}
    expected = copied(old)
    for metadata in (expected["metadata"], expected["spec"]["template"]["metadata"]):
        metadata["annotations"] = {"kwicket.dev/token": "12"}
    assert mutated(new, old) == expected


def test_a_template_without_metadata_gets_its_own_back() -> None:
    old, new = waiting({"token": "12"}), waiting({"token": "12"})
    del new["spec"]["template"]["metadata"]
    expected = copied(old)
    expected["spec"]["template"]["metadata"]["annotations"] = {"kwicket.dev/token": "12"}
    assert mutated(new, old) == expected


def test_the_tenant_of_the_pods_does_not_change() -> None:
    old, new = waiting({}), waiting({})
    new["spec"]["template"]["metadata"]["labels"] |= {"kwicket.dev/tenant": "bob", "app": "sum"}
    expected = copied(old)
    expected["spec"]["template"]["metadata"]["labels"]["app"] = "sum"
    assert mutated(new, old) == expected


def test_a_manifest_that_is_applied_again_keeps_the_token_first() -> None:
    """Server-side apply puts an own value beside what is stored, and may change the order."""
    old = mutated(with_pods(initContainers=[{"name": "first"}]))
    new = copied(old)
    pods = new["spec"]["template"]["spec"]
    pods["containers"][0]["env"] = [HOME, TOKEN | {"value": "forged"}]
    pods["initContainers"][0]["env"] = [OWN]
    made = mutated(new, old)
    assert env_of(made) == [[TOKEN, HOME]]
    assert env_of(made, "initContainers") == [[TOKEN]]


def test_a_container_that_never_had_the_token_gets_none_by_an_update() -> None:
    """Its template is fixed: only what is new gets one."""
    old, new = job(suspend=True), job(suspend=True)
    new["spec"]["template"]["spec"]["containers"][0]["env"] = [HOME]
    assert env_of(mutated(new, old)) == [[HOME]]


@pytest.mark.parametrize("size", [256, 257])
def test_a_job_of_more_entries_than_the_policy_looks_at_is_left_to_the_guard(size: int) -> None:
    def many(entry: Any) -> list[Any]:
        return [entry] * size

    keys = {f"k-{n}": "" for n in range(size - 1)}
    labelled, annotated, owned = job(), job(), job()
    labelled["metadata"]["labels"] |= keys
    annotated["metadata"]["annotations"] = keys | {"last": ""}
    owned["metadata"]["ownerReferences"] = many({})[192:]
    wide = with_pods(containers=many({"name": "a"}))
    firsts = with_pods(initContainers=many({"name": "a"}))
    full = with_pods(containers=[{"name": "a", "env": [HOME] * (size + 744)}])
    for made in (labelled, annotated, owned, wide, firsts, full):
        assert mutated(made)["spec"]["suspend"] is (size == 256)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (None, False),
        ([], False),
        ([{"manager": "kubectl"}], False),
        ([{"fieldsV1": {"f:spec": {"f:template": {}}}}], False),
        ([{"fieldsV1": {}}, {"fieldsV1": {"f:spec": {"f:suspend": {}}}}], True),
    ],
)
def test_a_default_is_told_from_what_somebody_has_written(fields: Any, said: bool) -> None:
    new = job(suspend=False)
    new["metadata"]["managedFields"] = fields
    request = mutation.JOBS.read(encoded(review(new, job(suspend=True))))
    assert mutation.says_suspend(request.object) is said
