"""Objects into values and grants into patches: golden pairs, and hostile values in between."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kwicket.core.jobs import NamespaceSeen, NodeSeen
from kwicket.kube import wire
from kwicket.kube.objects import (
    grant_patch,
    job_seen,
    milliseconds_of,
    namespace_seen,
    node_seen,
    pod_seen,
    timestamp,
    token_of,
)
from kwicket.ports.cluster import Order
from support.builders import job_seen as a_job
from support.reflection import job

GOLDEN = Path(__file__).parent / "golden"


def golden(kind: str) -> list[Any]:
    """The pairs of one kind, each named by its file."""
    files = sorted(GOLDEN.glob(f"{kind}-*.yaml"))
    assert files
    return [pytest.param(yaml.safe_load(file.read_text()), id=file.stem) for file in files]


def read(body: Any) -> wire.Job:
    """The Job as the client reads it from the wire."""
    return msgspec.json.decode(msgspec.json.encode(body), type=wire.Job)


def seen(**changes: Any) -> Any:
    """What is seen of a Job with these fields of `metadata`, `spec` and `status`."""
    body = job(creationTimestamp="2026-11-02T08:00:00Z", uid="u")
    for part, fields in changes.items():
        body[part] = body[part] | fields
    return job_seen(read(body))


@pytest.mark.parametrize("pair", golden("job"))
def test_a_job_is_seen(pair: Any) -> None:
    assert msgspec.json.decode(msgspec.json.encode(job_seen(read(pair["object"])))) == pair["seen"]


@pytest.mark.parametrize("pair", golden("pod"))
def test_a_pod_is_seen(pair: Any) -> None:
    pod = msgspec.json.decode(msgspec.json.encode(pair["object"]), type=wire.Pod)
    assert msgspec.to_builtins(pod_seen(pod)) == pair["seen"]
    assert pod_seen(pod).live


@pytest.mark.parametrize("pair", golden("grant"))
def test_a_grant_is_written(pair: Any) -> None:
    assert grant_patch(Order(job=a_job(**pair["job"]), **pair["order"])) == pair["patch"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "-1",
        "+1",
        "01",
        "1e3",
        "1.0",
        "0x10",
        "1_000",
        " 7",
        "7 ",
        "7\n",
        "\u0663",
        "\u00b2",
        "1\u0663",
        "9" * 19,
        "9" * 5000,
        "NaN",
        "inf",
        "none",
    ],
)
def test_what_is_no_token_counts_as_none(text: str) -> None:
    assert token_of(text) is None
    assert seen(metadata={"annotations": {"kwicket.dev/token": text}}).token is None


@pytest.mark.parametrize("other", [None, 7, True, ["7"], {"7": 7}])
def test_what_is_no_text_is_no_token(other: object) -> None:
    assert token_of(other) is None


@given(st.integers(1, 10**18 - 1))
def test_every_other_number_of_up_to_eighteen_digits_is_one(number: int) -> None:
    assert token_of(str(number)) == number


@given(st.text())
def test_a_token_is_written_in_one_way_only(text: str) -> None:
    token = token_of(text)
    assert token is None or str(token) == text


@pytest.mark.parametrize(
    ("text", "deliveries"),
    [("3", 3), ("0", 0), ("-1", 0), ("\u0663", 0), ("1e3", 0), ("", 0), ("9" * 10, 0), ("x", 0)],
)
def test_deliveries_are_a_small_number(text: str, deliveries: int) -> None:
    annotations = {"kwicket.dev/deliveries": text}
    assert seen(metadata={"annotations": annotations}).deliveries == deliveries


@pytest.mark.parametrize(("held", "value"), [(True, "true"), (False, "True"), (False, "")])
def test_only_true_holds(held: bool, value: str) -> None:
    labels = {"kwicket.dev/tenant": "a", "kwicket.dev/hold": value}
    assert seen(metadata={"labels": labels}).held is held


def condition(kind: str, status: str = "True") -> dict[str, Any]:
    return {"conditions": [{"type": kind, "status": status}]}


def test_a_suspended_job_with_active_pods_is_not_settled() -> None:
    assert seen(status=condition("Suspended")).settled
    assert not seen(status=condition("Suspended") | {"active": 1}).settled
    assert not seen(status=condition("Suspended", "Unknown")).settled
    assert not seen().settled


@pytest.mark.parametrize("kind", ["Complete", "Failed"])
def test_a_job_has_ended_when_a_condition_says_so(kind: str) -> None:
    assert seen(status=condition(kind)).ended
    assert not seen(status=condition(kind, "False")).ended


def test_a_failed_job_has_no_completion_time_and_ended_when_its_condition_came() -> None:
    failed = {"type": "Failed", "status": "True", "lastTransitionTime": "1970-01-01T00:01:40Z"}
    earlier = failed | {"type": "FailureTarget", "lastTransitionTime": "1970-01-01T00:01:30Z"}
    assert seen(status={"conditions": [earlier, failed]}).finished == 100_000


def test_a_job_that_has_not_ended_has_no_end_whatever_stamps_it_carries() -> None:
    stamps = {"type": "Complete", "status": "False", "lastTransitionTime": "1970-01-01T00:01:40Z"}
    status = {"conditions": [stamps], "completionTime": "1970-01-01T00:01:40Z"}
    assert seen(status=status).finished is None


def test_an_end_without_a_stamp_is_an_end_all_the_same() -> None:
    job = seen(status=condition("Complete"))
    assert (job.ended, job.finished) == (True, None)


@pytest.mark.parametrize("kind", ["SuccessCriteriaMet", "FailureTarget", "Suspended", "Odd"])
def test_other_conditions_end_no_job(kind: str) -> None:
    assert not seen(status=condition(kind)).ended


def test_a_job_may_run_no_pod_at_all() -> None:
    assert seen(spec={"parallelism": 0}).width == 0
    assert seen(spec={"parallelism": None, "completions": None}).width == 1
    assert seen(spec={"parallelism": 5, "completions": 3}).width == 3


@pytest.mark.parametrize("part", ["spec", "status"])
@pytest.mark.parametrize("missing", [True, False])
def test_a_job_without_a_part_is_seen(part: str, missing: bool) -> None:
    body: dict[str, Any] = job(creationTimestamp="2026-11-02T08:00:00Z", uid="u") | {part: None}
    if missing:
        del body[part]
    assert job_seen(read(body)).job == "team/x-1"


def test_a_job_without_tenant_is_not_managed() -> None:
    body = job(tenant=None, creationTimestamp="2026-11-02T08:00:00Z", uid="u")
    with pytest.raises(ValueError, match="team/x-1 has no tenant"):
        job_seen(read(body))
    body["metadata"]["labels"] = None
    with pytest.raises(ValueError, match="no tenant"):
        job_seen(read(body))


@pytest.mark.parametrize("field", ["uid", "name"])
def test_an_object_without_a_name_or_a_uid_is_none(field: str) -> None:
    body = job(creationTimestamp="2026-11-02T08:00:00Z", uid="u")
    del body["metadata"][field]
    with pytest.raises(ValueError, match=field):
        read(body)


@pytest.mark.parametrize("labels", [None, {}, {"kwicket.dev/tenant": "a"}])
def test_a_pod_of_no_job_is_none_of_ours(labels: dict[str, str] | None) -> None:
    with pytest.raises(ValueError, match="team/p is of no Job"):
        pod_seen(wire.Pod(wire.Metadata("p", "u", "team", labels=labels)))


def test_a_pod_is_live_until_it_says_that_it_has_ended() -> None:
    labels = {"batch.kubernetes.io/controller-uid": "u"}
    phases = ["Pending", "Running", "Unknown", "", None, "Succeeded", "Failed"]
    metadata = wire.Metadata("p", "u", deletion_timestamp="2026-11-02T08:00:00Z", labels=labels)
    live = [pod_seen(wire.Pod(metadata, status=wire.PodStatus(phase))).live for phase in phases]
    assert live == [True] * 5 + [False] * 2


@pytest.mark.parametrize("labels", [None, {"kwicket.dev/tenant": "alice"}])
def test_a_namespace_is_its_name_and_labels(labels: dict[str, str] | None) -> None:
    metadata = wire.Metadata("team", "u", labels=labels)
    assert namespace_seen(wire.Namespace(metadata)) == NamespaceSeen("team", labels or {})


def test_a_node_is_silent_when_it_has_not_been_heard_of_and_not_when_it_says_no() -> None:
    metadata = wire.Metadata("node-1", "u")
    for status, silent in (("True", False), ("False", False), ("Unknown", True)):
        conditions = [wire.Condition("MemoryPressure", "True"), wire.Condition("Ready", status)]
        node = wire.Node(metadata, wire.NodeStatus(conditions))
        assert node_seen(node) == NodeSeen("node-1", silent)
    for nothing in (None, wire.NodeStatus(None), wire.NodeStatus([])):
        assert not node_seen(wire.Node(metadata, nothing)).silent


def container(**fields: Any) -> dict[str, Any]:
    return {"name": "main", "restartCount": 3, **fields}


PULLING = {"waiting": {"reason": "ImagePullBackOff"}}
RUNS = {"running": {"startedAt": "2026-11-02T08:15:33Z"}}


def ended(reason: str, started: str | None = "2026-11-02T08:15:33Z", message: str = "") -> Any:
    return {"terminated": {"reason": reason, "startedAt": started, "message": message}}


@pytest.mark.parametrize(
    ("status", "started"),
    [
        ({}, False),
        ({"phase": "Pending"}, False),
        ({"phase": "Failed", "reason": "OutOfcpu"}, False),
        ({"phase": "Succeeded"}, True),
        ({"containerStatuses": [container(state=PULLING)]}, False),
        ({"containerStatuses": [container(state=RUNS)]}, True),
        ({"containerStatuses": [container(state=ended("Error"))]}, True),
        ({"containerStatuses": [container(state=PULLING, lastState=ended("Error"))]}, True),
        ({"containerStatuses": [container(state=ended("StartError"))]}, False),
        ({"containerStatuses": [container(state={}, lastState=ended("StartError"))]}, False),
        ({"containerStatuses": [container(state=ended("ContainerStatusUnknown", None))]}, False),
        ({"initContainerStatuses": [container(state=RUNS)]}, True),
        ({"initContainerStatuses": [container(state=ended("Completed"))]}, True),
        ({"initContainerStatuses": [container(state=PULLING)]}, False),
    ],
)
def test_a_pod_has_started_when_a_container_of_it_has_run(status: Any, started: bool) -> None:
    metadata = {"name": "p", "uid": "u", "labels": {"batch.kubernetes.io/controller-uid": "u"}}
    body = msgspec.json.encode({"metadata": metadata, "status": status})
    assert pod_seen(msgspec.json.decode(body, type=wire.Pod)).started is started


def test_a_container_that_was_lost_in_a_reboot_has_run() -> None:
    """The kubelet finds no container, remembers that it ran, and begins anew."""
    lost = ended(
        "ContainerStatusUnknown",
        None,
        "The container could not be located when the pod was deleted."
        "  The container used to be Running",
    )
    metadata = {"name": "p", "uid": "u", "labels": {"batch.kubernetes.io/controller-uid": "u"}}
    waiting = {"waiting": {"reason": "ContainerCreating"}}
    status = {"phase": "Pending", "containerStatuses": [container(state=waiting, lastState=lost)]}
    body = msgspec.json.encode({"metadata": metadata, "status": status})
    assert pod_seen(msgspec.json.decode(body, type=wire.Pod)).started


def managers(*names: str, field: str = "f:suspend") -> dict[str, Any]:
    fields: dict[str, Any] = {"f:spec": {field: {}, "f:parallelism": {}}}
    entries = [{"manager": name, "operation": "Update", "fieldsV1": fields} for name in names]
    other = {"manager": "kube-controller-manager", "fieldsV1": {"f:status": {"f:active": {}}}}
    annotations = {"kwicket.dev/token": "7"}
    return {"managedFields": [*entries, other, {"manager": "bare"}], "annotations": annotations}


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        (managers("argocd-controller"), "argocd-controller"),
        (managers("b", "a", "kwicket"), "a, b"),
        (managers("kwicket"), ""),
        (managers("helm", field="f:completions"), ""),
        (managers("kubectl-create") | {"annotations": {}}, ""),
        ({"managedFields": None, "annotations": {"kwicket.dev/token": "7"}}, ""),
        ({"annotations": {"kwicket.dev/token": "7"}}, ""),
    ],
)
def test_who_has_suspended_a_granted_job_is_its_field_manager(metadata: Any, expected: str) -> None:
    assert seen(metadata=metadata, spec={"suspend": True}).suspended_by == expected
    assert seen(metadata=metadata, spec={"suspend": False}).suspended_by == ""


@pytest.mark.parametrize(
    ("stamp", "milliseconds"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2026-11-02T08:15:30Z", 1_793_607_330_000),
        ("2026-11-02T08:15:30.123Z", 1_793_607_330_123),
        ("2026-11-02T08:15:30.123999Z", 1_793_607_330_123),
        ("2026-11-02T10:15:30+02:00", 1_793_607_330_000),
    ],
)
def test_a_stamp_is_a_moment(stamp: str, milliseconds: int) -> None:
    assert milliseconds_of(stamp) == milliseconds


@pytest.mark.parametrize(
    "stamp", ["", "yesterday", "2026-11-02", "2026-11-02T08:15:30", "2026-13-02T08:15:30Z", "12"]
)
def test_what_is_no_stamp_is_refused(stamp: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        milliseconds_of(stamp)


@given(st.integers(0, 253_402_300_799))
def test_a_stamp_reads_as_it_was_written(second: int) -> None:
    assert milliseconds_of(timestamp(second * 1000 + 999)) == second * 1000
