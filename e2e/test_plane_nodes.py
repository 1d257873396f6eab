"""The node agent: containers are real processes, and are reported as a kubelet reports them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from e2e.objects import appearance, container, is_running, job, pod, sleeper, wait_for_end
from e2e.plane import Plane
from e2e.plane.api import Api, Object


def phase(wanted: str) -> Any:
    return lambda seen: bool(seen and seen["status"].get("phase") == wanted)


def gone(seen: Object | None) -> bool:
    return seen is None


def state(seen: Object | None, which: str = "containerStatuses") -> Object:
    assert seen is not None
    found: Object = seen["status"][which][0]["state"]
    return found


class Pods:
    """The pods of one namespace."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace

    def path(self, name: str = "") -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods/{name}".rstrip("/")

    async def run(self, name: str, script: str, **spec: Any) -> None:
        await self.api.create(self.path(), pod(name, script, **spec))

    async def until(self, name: str, wanted: Any) -> Object | None:
        return await self.api.until(self.path(name), wanted, seconds=40)


@pytest.fixture
def pods(plane: Plane, api: Api, namespace: str) -> Pods:
    """Pods that run on the plane's own nodes."""
    return Pods(api, namespace)


@pytest.fixture
async def node(plane: Plane, api: Api) -> AsyncIterator[str]:
    """A node to do things to; it is well again after the test."""
    yield "node-1"
    plane.node("node-1", "return")
    await api.until("/api/v1/nodes/node-1", is_ready)


def is_ready(seen: Object | None) -> bool:
    return readiness(seen) == "True" and not (seen or {})["spec"].get("taints")


def readiness(seen: Object | None) -> str:
    conditions = (seen or {}).get("status", {}).get("conditions", [])
    return next((str(c["status"]) for c in conditions if c["type"] == "Ready"), "")


async def test_a_container_finds_the_downward_api_in_its_environment(
    pods: Pods, tmp_path: Path
) -> None:
    """Fields, keys and references are resolved before the command runs."""
    await pods.api.create(
        f"/api/v1/namespaces/{pods.namespace}/configmaps",
        {"metadata": {"name": "settings"}, "data": {"colour": "green"}},
    )
    fields = {"NAME": "metadata.name", "TOKEN": "metadata.annotations['kwicket.dev/token']"}
    env = [{"name": k, "valueFrom": {"fieldRef": {"fieldPath": v}}} for k, v in fields.items()]
    key = {"configMapKeyRef": {"name": "settings", "key": "colour"}}
    env.append({"name": "COLOUR", "valueFrom": key})
    body = pod("probe", "true")
    body["metadata"]["annotations"] = {"kwicket.dev/token": "t-1"}
    script = f"echo $NAME $TOKEN $BOTH >{tmp_path}/env"
    body["spec"]["containers"] = [
        container(script, env=[*env, {"name": "BOTH", "value": "$(COLOUR)-$(NONE)-$$(NAME)"}])
    ]
    await pods.api.create(pods.path(), body)
    await pods.until("probe", phase("Succeeded"))
    assert (tmp_path / "env").read_text() == "probe t-1 green-$(NONE)-$(NAME)\n"


async def test_a_job_completes_when_its_container_has_run(pods: Pods, tmp_path: Path) -> None:
    """The Job controller believes what the agent reports."""
    jobs = f"/apis/batch/v1/namespaces/{pods.namespace}/jobs"
    await pods.api.create(jobs, job("real", f"echo ran >{tmp_path}/proof"))
    done = await pods.api.until(
        f"{jobs}/real", lambda seen: bool(seen and seen["status"].get("succeeded"))
    )
    assert (tmp_path / "proof").read_text() == "ran\n"
    assert done is not None


async def test_a_pod_is_running_and_ready_before_it_has_ended(pods: Pods) -> None:
    """No phase is skipped, however short the container."""
    _, version = await pods.api.list(pods.path())
    await pods.run("short", "true")
    seen: list[str] = []
    async for event in pods.api.watch(pods.path(), version):
        now = event.object["status"].get("phase", "")
        if now not in seen:
            seen.append(now)
        if now == "Succeeded":
            break
    assert seen == ["Pending", "Running", "Succeeded"]


async def test_a_failed_container_leaves_its_exit_code(pods: Pods) -> None:
    """Phase Failed, reason Error, and the code the process ended with."""
    await pods.run("bad", "exit 42")
    ended = state(await pods.until("bad", phase("Failed")))["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (42, "Error")


async def test_a_container_that_cannot_be_pulled_or_started_says_so(pods: Pods) -> None:
    """No command is no image; a command that does not exist fails the start."""
    await pods.run("unpulled", "", containers=[{"name": "main", "image": "missing:1"}])
    await pods.run("unstarted", "", containers=[container("", command=["/no/such/program"])])
    waiting = await pods.until(
        "unpulled", lambda seen: bool(seen and seen["status"].get("containerStatuses"))
    )
    assert state(waiting)["waiting"]["reason"] == "ImagePullBackOff"
    ended = state(await pods.until("unstarted", phase("Failed")))["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (128, "StartError")


async def test_initial_containers_run_in_order_and_sidecars_beside(
    pods: Pods, tmp_path: Path
) -> None:
    """The main container starts after the first and while the sidecar runs, which then ends."""
    log = tmp_path / "order"
    trap = f"trap 'echo side ends >>{log}; exit 0' TERM; echo side >>{log}"
    trap += "; while :; do sleep 0.05; done"
    initial = [
        container(f"echo first >>{log}", name="first"),
        container(trap, name="side", restartPolicy="Always"),
    ]
    script = f"until grep -q side {log}; do sleep 0.05; done; echo main >>{log}"
    await pods.run("ordered", script, initContainers=initial)
    await pods.until("ordered", phase("Succeeded"))
    assert log.read_text().splitlines() == ["first", "side", "main", "side ends"]


async def test_on_failure_a_container_is_started_again(pods: Pods, tmp_path: Path) -> None:
    """The count goes up and the pod succeeds in the end."""
    script = f"test -e {tmp_path}/second && exit 0; touch {tmp_path}/second; exit 1"
    await pods.run("again", script, restartPolicy="OnFailure")
    done = await pods.until("again", phase("Succeeded"))
    assert done is not None
    assert done["status"]["containerStatuses"][0]["restartCount"] == 1
    assert done["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 1


async def test_a_pod_past_its_deadline_fails(pods: Pods) -> None:
    """The node ends it and says why."""
    await pods.run("late", "sleep 1000", activeDeadlineSeconds=1)
    ended = await pods.until("late", phase("Failed"))
    assert ended is not None
    assert ended["status"]["reason"] == "DeadlineExceeded"


async def test_deletion_is_sigterm_then_sigkill_after_the_grace_period(
    pods: Pods, tmp_path: Path
) -> None:
    """A process deaf to SIGTERM is killed; the last status is written before the pod is gone."""
    log = tmp_path / "signals"
    deaf = f"trap 'echo term >>{log}' TERM; echo up >>{log}; while :; do sleep 0.05; done"
    body = pod("deaf", deaf, terminationGracePeriodSeconds=1)
    body["metadata"]["finalizers"] = ["kwicket.dev/test"]
    await pods.api.create(pods.path(), body)
    await appearance(log)
    await pods.api.delete(pods.path("deaf"))
    ended = state(await pods.until("deaf", phase("Failed")))["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (137, "Error")
    assert log.read_text() == "up\nterm\n"
    await pods.api.patch(pods.path("deaf"), {"metadata": {"finalizers": None}})
    await pods.until("deaf", gone)


async def test_forced_deletion_kills_at_once(pods: Pods, tmp_path: Path) -> None:
    """Nobody waits for a grace period of which the API server knows nothing any more."""
    mark = tmp_path / "pid"
    await pods.run("forced", f"trap '' TERM; {sleeper(mark)}")
    await pods.until("forced", phase("Running"))
    await appearance(mark)
    await pods.api.delete(pods.path("forced"), {"gracePeriodSeconds": 0})
    await asyncio.to_thread(wait_for_end, mark)


async def test_a_silent_node_goes_on_and_reports_when_it_returns(
    plane: Plane, node: str, pods: Pods, tmp_path: Path
) -> None:
    """The API server knows nothing of the end of a container behind a partition."""
    go, done = tmp_path / "go", tmp_path / "done"
    script = f"until test -e {go}; do sleep 0.05; done; touch {done}"
    await pods.run("behind", script, nodeName=node)
    await pods.run("doomed", "sleep 1000", nodeName=node)
    for name in ("behind", "doomed"):
        await pods.until(name, phase("Running"))
    plane.node(node, "silence")
    go.touch()
    await pods.api.delete(pods.path("doomed"))
    path = f"/api/v1/nodes/{node}"
    await pods.api.until(path, lambda seen: readiness(seen) == "Unknown")
    await appearance(done)
    assert (await pods.api.get(pods.path("behind")))["status"]["phase"] == "Running"
    assert (await pods.api.get(pods.path("doomed")))["metadata"]["deletionTimestamp"]
    plane.node(node, "return")
    await pods.until("behind", phase("Succeeded"))
    await pods.until("doomed", gone)
    await pods.api.until(path, is_ready)


async def test_a_dead_node_loses_its_containers_and_says_so_when_it_returns(
    plane: Plane, node: str, pods: Pods, tmp_path: Path
) -> None:
    """Processes are gone at once; the pods fail as those of a rebooted machine, or run again."""
    mark, starts = tmp_path / "pid", tmp_path / "starts"
    await pods.run("once", sleeper(mark), nodeName=node)
    await pods.run(
        "always", f"echo start >>{starts}; sleep 1000", nodeName=node, restartPolicy="Always"
    )
    for name, file in (("once", mark), ("always", starts)):
        await pods.until(name, phase("Running"))
        await appearance(file)
    plane.node(node, "die")
    assert not is_running(mark)
    assert (await pods.api.get(pods.path("once")))["status"]["phase"] == "Running"
    plane.node(node, "return")
    lost = state(await pods.until("once", phase("Failed")))["terminated"]
    assert (lost["exitCode"], lost["reason"]) == (255, "Unknown")
    again = await pods.until(
        "always",
        lambda seen: bool(seen and seen["status"]["containerStatuses"][0]["restartCount"] == 1),
    )
    assert "running" in state(again)
    assert starts.read_text() == "start\nstart\n"
