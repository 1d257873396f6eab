"""When a lease lapses, and what follows."""

from functools import partial
from typing import Any

import pytest

from e2e import load
from e2e.observer import Observer
from e2e.operators import Operator
from e2e.plane import Plane
from e2e.plane.api import Api, Object, Objects
from e2e.statuses import of_type
from e2e.tools import Tool
from e2e.walks.conftest import Pools

SHORT = {"duration": "10s", "startWithin": "10s"}


def job(pool: str, name: str, *command: str, **pod: Any) -> Object:
    """A Job whose pods have these fields; one that fails is made again."""
    made = load.labelled_job(name, "alice", list(command or ("true",)), pool=pool)
    made["spec"]["backoffLimit"] = 3
    made["spec"]["template"]["spec"] |= pod
    return made


async def create(api: Api, namespace: str, made: Object) -> str:
    """Creates a Job; its path."""
    await api.create(load.jobs_path(namespace), made)
    return f"{load.jobs_path(namespace)}/{made['metadata']['name']}"


async def told(api: Api, namespace: str, name: str, reason: str) -> str:
    """Waits until an event tells this of the Job; what it says."""

    def notes(events: Objects) -> list[str]:
        ours = (e for e in events.values() if e["regarding"]["name"] == name)
        return [e["note"] for e in ours if e.get("reason") == reason]

    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    return notes(await api.until_all(path, lambda events: bool(notes(events))))[-1]


async def quota(api: Api, namespace: str, made: Object) -> None:
    """No pod may be made."""
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    await api.create(path, {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}})
    await api.until(f"{path}/none", lambda q: bool(q and q.get("status", {}).get("hard")))


async def bad_image(api: Api, namespace: str, made: Object) -> None:
    made["spec"]["template"]["spec"]["containers"][0]["image"] = "missing:1"


async def impossible_selector(api: Api, namespace: str, made: Object) -> None:
    made["spec"]["template"]["spec"]["nodeSelector"] = {"example.com/no": "such-node"}


@pytest.mark.parametrize("cause", [quota, bad_image, impossible_selector])
async def test_a_job_whose_pods_never_start_makes_way_and_comes_back_with_a_higher_token(
    operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer, cause: Any
) -> None:
    pool = await pools.pool(limit=1, lease=SHORT)
    made = job(pool, "first")
    await cause(api, namespace, made)
    await create(api, namespace, made)
    await observer.until(lambda o: "first" in o.started)
    second = await create(api, namespace, job(pool, "second"))
    await observer.until(lambda o: "second" in o.started)
    assert observer.peak_live <= 1
    note = await told(api, namespace, "first", "LeaseLapsed")
    assert "none of its pods has run a container within 10s" in note
    assert "rests for 10s" in await told(api, namespace, "first", "PutBack")
    await api.delete(second)
    await observer.until(lambda o: len(o.tokens["first"]) == 2)
    assert observer.tokens["first"] == sorted(observer.tokens["first"])


async def test_a_long_init_container_is_a_start(
    operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    pool = await pools.pool(limit=1, lease=SHORT)
    init = {"name": "init", "image": "busybox", "command": ["sleep", "14"]}
    await create(api, namespace, job(pool, "first", initContainers=[init]))
    await observer.until(lambda o: "first" in o.complete)
    assert len(observer.tokens["first"]) == 1


async def test_somebody_who_goes_on_suspending_a_job_ends_with_it_parked_and_is_named(
    operator: Operator,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
    kubectl: Tool,
) -> None:
    """And the way back, as the event says it."""
    pool = await pools.pool(limit=1, lease={"redeliveries": 1})
    first = await create(api, namespace, job(pool, "first", "sleep", "1000"))
    for starts in (1, 2):
        await observer.until(partial(has_started, starts))
        await api.until(first, lambda j: not suspended(j))
        await api.patch(first, {"spec": {"suspend": True}}, fieldManager="flux")
    note = await told(api, namespace, "first", "Parked")
    assert "it was started 2 times" in note
    assert "since field manager flux has suspended it" in note
    assert "since field manager flux" in await told(api, namespace, "first", "PutBack")
    command = note.partition("administrator run: kubectl ")[2]
    kubectl(*command.split(), who="admin")
    await observer.until(lambda o: len(o.tokens["first"]) == 3)
    back = await api.until(first, lambda j: not suspended(j))
    assert (back or {})["metadata"]["annotations"]["kwicket.dev/deliveries"] == "1"


def has_started(times: int, observer: Observer) -> bool:
    return len(observer.tokens.get("first", [])) == times


def suspended(job: Object | None) -> bool:
    return bool(job and job["spec"]["suspend"])


def prefer(node: str) -> Object:
    """Affinity: this node if it can be."""
    match = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    term = {"weight": 100, "preference": {"matchExpressions": [match]}}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}


def runs(pods: Objects) -> bool:
    return any(pod["status"].get("phase") == "Running" for pod in pods.values())


@pytest.mark.timeout(120)
async def test_a_job_whose_node_falls_silent_runs_again_elsewhere_with_a_higher_token(
    operator: Operator,
    plane: Plane,
    node: str,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
) -> None:
    """Row 33 of the fault matrix: its old pod stays there, Running as far as is known, and its slot
    is free all the same.
    """
    pool = await pools.pool(limit=1, lease=SHORT)
    first = await create(api, namespace, job(pool, "first", "sleep", "25", affinity=prefer(node)))
    pods = f"/api/v1/namespaces/{namespace}/pods"
    await api.until_all(pods, runs)
    plane.node(node, "silence")
    note = await told(api, namespace, "first", "LeaseLapsed")
    assert f"no sign of life for 10s from where its pods run: {node}" in note
    await observer.until(lambda o: len(o.tokens["first"]) == 2)
    await observer.until(lambda o: len(o.pods["first"]) == 2)
    assert replacement(await api.get(first)) == "TerminatingOrFailed"
    plane.node(node, "return")
    await api.until(first, lambda j: replacement(j) == "Failed")
    await observer.until(lambda o: "first" in o.complete)
    assert len(observer.pods["first"]) == 2


def replacement(job: Object | None) -> str:
    return str(job and job["spec"]["podReplacementPolicy"])


async def test_a_job_that_was_put_back_ends_while_its_old_node_is_silent_still(
    operator: Operator,
    plane: Plane,
    node: str,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
) -> None:
    """Kubernetes does not call it Complete then, and its slot is free all the same."""
    pool = await pools.pool(limit=1, lease=SHORT)
    first = await create(api, namespace, job(pool, "first", "sleep", "4", affinity=prefer(node)))
    await api.until_all(f"/api/v1/namespaces/{namespace}/pods", runs)
    plane.node(node, "silence")
    await observer.until(lambda o: len(o.tokens["first"]) == 2)
    await observer.until(lambda o: "first" in o.succeeded)
    second = await create(api, namespace, job(pool, "second"))
    await api.until(second, lambda j: not suspended(j))
    assert not is_complete(await api.get(first))


def is_complete(job: Object) -> bool:
    conditions = job["status"].get("conditions", [])
    return any(c["type"] == "Complete" and c["status"] == "True" for c in conditions)


async def held(
    plane: Plane, node: str, pools: Pools, api: Api, namespace: str, observer: Observer
) -> str:
    """A pool that holds: the lease of `first`, on a silent node, has lapsed and `second` waits."""
    pool = await pools.pool(limit=1, lease=SHORT | {"onLapse": "Hold"})
    await create(api, namespace, job(pool, "first", "sleep", "5", affinity=prefer(node)))
    await api.until_all(f"/api/v1/namespaces/{namespace}/pods", runs)
    plane.node(node, "silence")
    await create(api, namespace, job(pool, "second"))
    note = await told(api, namespace, "first", "LeaseHeld")
    assert "it keeps its slot, since the Pool's spec.lease.onLapse is Hold" in note
    shown = await api.until(f"{load.GROUP}/pools/{pool}", lambda p: bool(lapsed(p)))
    assert f"{namespace}/first (no sign of life for 10s" in lapsed(shown)
    assert "second" not in observer.started
    return pool


def lapsed(pool: Object | None) -> str:
    """What the condition says, if it holds."""
    return str(of_type(pool, "LeaseLapsed").get("message", ""))


@pytest.mark.timeout(120)
async def test_a_held_slot_is_free_when_the_node_is_marked_out_of_service(
    operator: Operator,
    plane: Plane,
    node: str,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
) -> None:
    """An administrator's word that nothing runs there: the Job goes on elsewhere, then the next."""
    pool = await held(plane, node, pools, api, namespace, observer)
    taint = {"key": "node.kubernetes.io/out-of-service", "value": "x", "effect": "NoExecute"}
    await api.patch(f"/api/v1/nodes/{node}", {"spec": {"taints": [taint]}})
    await observer.until(lambda o: "second" in o.complete, 100)
    assert "first" in observer.succeeded
    assert len(observer.tokens["first"]) == 1
    await api.until(f"{load.GROUP}/pools/{pool}", lambda p: not lapsed(p))


async def test_a_held_slot_is_free_when_the_node_comes_back_and_its_pod_ends(
    operator: Operator,
    plane: Plane,
    node: str,
    pools: Pools,
    api: Api,
    namespace: str,
    observer: Observer,
) -> None:
    await held(plane, node, pools, api, namespace, observer)
    plane.node(node, "return")
    await observer.until(lambda o: "second" in o.complete)
    assert observer.succeeded["first"] <= observer.started["second"]
    assert len(observer.tokens["first"]) == 1
