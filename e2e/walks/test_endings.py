"""Every way in which a Job or its pods end: the slot is free then, and not before."""

from typing import Any

import pytest

from e2e import load
from e2e.observer import Observer
from e2e.operators import Operator
from e2e.plane import Plane
from e2e.plane.api import Api, Object
from e2e.walks.conftest import Pools

SLOWLY = "trap 'sleep 2; exit 1' TERM; while :; do sleep 0.1; done"
"""A worker that takes two seconds to end when told to."""


class Line:
    """A pool of one slot: `first` runs in it, `second` waits for it."""

    def __init__(self, api: Api, namespace: str, pool: str, observer: Observer) -> None:
        self.api = api
        self.observer = observer
        self.jobs = load.jobs_path(namespace)
        self.first = f"{self.jobs}/first"
        self.pods = f"/api/v1/namespaces/{namespace}/pods"
        self._pool = pool

    async def begin(self, *command: str, pods: int = 1, **spec: Any) -> None:
        """`first` runs with these fields of its spec; `second` is submitted after it."""
        made = load.labelled_job("first", "alice", list(command), pool=self._pool)
        made["spec"] |= spec
        await self.api.create(self.jobs, made)
        await self.observer.until(lambda o: o.peak_running == pods)
        second = load.labelled_job("second", "alice", ["true"], pool=self._pool)
        await self.api.create(self.jobs, second)

    async def pod(self) -> str:
        """The path of a pod of `first`."""
        found, _ = await self.api.list(self.pods)
        return f"{self.pods}/{found[0]['metadata']['name']}"

    async def end(self, live: int = 1) -> None:
        """`second` runs, and never more pods than these were live."""
        await self.observer.until(lambda o: "second" in o.complete)
        assert self.observer.peak_live == live


@pytest.fixture
async def line(
    operator: Operator, pools: Pools, api: Api, namespace: str, observer: Observer
) -> Line:
    return Line(api, namespace, await pools.pool(limit=1), observer)


@pytest.mark.parametrize("way", ["Foreground", "Background"])
async def test_a_deleted_job_keeps_its_slot_while_its_pod_takes_its_time(
    line: Line, way: str
) -> None:
    await line.begin("sh", "-c", SLOWLY)
    await line.api.delete(line.first, {"propagationPolicy": way})
    await line.end()


async def test_a_job_that_goes_as_soon_as_it_has_finished_frees_its_slot(line: Line) -> None:
    await line.begin("sleep", "1", ttlSecondsAfterFinished=0)
    await line.end()


async def test_a_job_suspended_by_its_author_keeps_its_slot_while_its_pod_takes_its_time(
    line: Line,
) -> None:
    await line.begin("sh", "-c", SLOWLY)
    await line.api.patch(line.first, {"spec": {"suspend": True}})
    await line.end()


async def test_a_job_that_outruns_its_deadline_frees_its_slot_once_its_pod_has_ended(
    line: Line,
) -> None:
    await line.begin("sh", "-c", SLOWLY, activeDeadlineSeconds=2)
    await line.end()


async def test_a_job_keeps_its_slot_over_all_its_tries(line: Line) -> None:
    """Between two tries no pod of it is there."""
    await line.begin("sh", "-c", "sleep 1; exit 1", backoffLimit=1)
    await line.end()
    assert len(line.observer.pods["first"]) == 2


async def test_an_evicted_pod_is_replaced_in_the_slot_of_its_job(line: Line) -> None:
    await line.begin("sleep", "3", backoffLimit=3)
    pod = await line.pod()
    name = pod.rpartition("/")[2]
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    await line.api.create(f"{pod}/eviction", eviction)
    await line.end()
    assert len(line.observer.pods["first"]) == 2


async def test_a_pod_deleted_by_force_is_replaced_in_the_slot_of_its_job(line: Line) -> None:
    await line.begin("sleep", "3", backoffLimit=3)
    await line.api.delete(await line.pod(), {"gracePeriodSeconds": 0})
    await line.observer.until(lambda o: len(o.pods["first"]) == 2)
    assert "second" not in line.observer.started
    await line.end()


async def test_pods_that_a_success_policy_ends_keep_the_slot_until_they_have_ended(
    line: Line,
) -> None:
    """Index 0 decides; the other one takes its time."""
    script = f'test "$JOB_COMPLETION_INDEX" = 0 && sleep 2 && exit 0; {SLOWLY}'
    await line.begin(
        "sh",
        "-c",
        script,
        pods=2,
        completions=2,
        parallelism=2,
        completionMode="Indexed",
        successPolicy={"rules": [{"succeededIndexes": "0"}]},
    )
    await line.end(live=2)


async def test_a_pod_that_is_terminating_for_long_keeps_the_slot(line: Line) -> None:
    """As long as its grace period lasts, whatever the Job says of itself by then."""
    script = SLOWLY.replace("sleep 2", "sleep 6")
    await line.begin("sh", "-c", script)
    await line.api.patch(line.first, {"spec": {"suspend": True}})
    await line.api.until(line.first, is_suspended)
    assert "second" not in line.observer.started
    await line.end()


def is_suspended(job: Object | None) -> bool:
    """By its own condition, which is written as soon as the deletions are."""
    conditions = (job or {}).get("status", {}).get("conditions", [])
    return any(c["type"] == "Suspended" and c["status"] == "True" for c in conditions)


@pytest.mark.timeout(120)
async def test_a_node_that_is_deleted_ends_its_pods_and_the_job_goes_on_in_its_slot(
    line: Line, plane: Plane
) -> None:
    """The pod collector fails its pods after a while; the node registers again when it is back."""
    await line.begin("sleep", "4", backoffLimit=3)
    pod = await line.api.get(await line.pod())
    node = pod["spec"]["nodeName"]
    plane.node(node, "silence")
    try:
        await line.api.delete(f"/api/v1/nodes/{node}")
        await line.observer.until(lambda o: len(o.pods["first"]) == 2, 100)
        assert "second" not in line.observer.started
    finally:
        plane.node(node, "return")
    await line.end()
