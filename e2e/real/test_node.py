"""The real node itself: Services lead to its pods, and it leaves nothing behind."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from e2e.conftest import Cluster
from e2e.objects import running_for
from e2e.plane import MissingError, Plane, processes
from e2e.plane.api import Api, Object
from e2e.plane.layout import Layout
from e2e.plane.node import cgroups, host
from e2e.plane.node.configs import PAUSE
from e2e.real import workloads
from e2e.real.conftest import require_real

pytestmark = pytest.mark.timeout(300)

SERVE = "import http.server as h; h.test(h.SimpleHTTPRequestHandler, port=8000, bind='0.0.0.0')"
ASK = """
import os, socket, sys, time
until = time.monotonic() + 30
while True:
    try:
        socket.create_connection((sys.argv[1], 80), timeout=2).close()
        break
    except OSError:
        if time.monotonic() > until:
            raise
        time.sleep(0.1)
"""
"""kube-proxy tells nobody when it knows a Service's pods: try until it does."""


@pytest.fixture
def fit(own_planes: None) -> None:
    """Skips where no plane can have a real node."""
    require_real()


def is_ready(pod: Object | None) -> bool:
    conditions = (pod or {}).get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def succeeded(pod: Object | None) -> bool:
    return bool(pod and pod["status"].get("phase") == "Succeeded")


async def test_a_service_leads_to_its_pods_from_pods_and_from_the_api_server(
    cluster: Cluster, api: Api, namespace: str, image: str
) -> None:
    """By the Service's address; the API server's own network is what it has for webhooks."""
    pods = f"/api/v1/namespaces/{namespace}/pods"
    server = workloads.pod_spec(image, SERVE, workingDir="/opt", readinessProbe=probe(8000))
    labelled = {"name": "server", "labels": {"app": "server"}}
    await api.create(pods, {"metadata": labelled, "spec": server})
    spec = {"selector": labelled["labels"], "ports": [{"port": 80, "targetPort": 8000}]}
    service = {"metadata": {"name": "server"}, "spec": spec}
    made = await api.create(f"/api/v1/namespaces/{namespace}/services", service)
    await api.until(f"{pods}/server", is_ready)
    address = made["spec"]["clusterIP"]
    client = workloads.pod_spec(image, ASK, command=["python3", "-c", ASK, address])
    await api.create(pods, {"metadata": {"name": "client"}, "spec": client})
    await api.until(f"{pods}/client", succeeded, seconds=60)
    if isinstance(cluster, Plane):
        server_pid = processes.pid_of(Layout(cluster.folder).record("kube-apiserver"))
        there = ("nsenter", f"--net=/proc/{server_pid}/ns/net", sys.executable, "-c", ASK)
        asking = await asyncio.create_subprocess_exec(*there, address)
        assert await asking.wait() == 0


def probe(port: int) -> Object:
    return {"tcpSocket": {"port": port}, "periodSeconds": 1}


def traces() -> dict[str, object]:
    """What a node could leave on this machine, processes and its own folder apart."""
    groups = (path for at in ("", "*/") for path in cgroups.MOUNTS.glob(f"{at}kwicket-plane-*"))
    rules = subprocess.run(["iptables-save"], capture_output=True, text=True, check=True).stdout
    return {
        "mounts": Path("/proc/self/mountinfo").read_text(),
        "links": sorted(os.listdir("/sys/class/net")),
        "rules": [line for line in rules.splitlines() if not line.startswith("#")],
        "groups": sorted(groups),
        "files": sorted(
            path for where in ("/var/lib", "/opt", "/run") for path in Path(where).glob("*")
        ),
    }


async def test_down_leaves_nothing_though_the_nodes_processes_were_killed(
    tmp_path: Path, fit: None
) -> None:
    """With a pod that runs: no process, mount, link, rule, control group or file is left."""
    before = traces()
    plane = Plane.up(tmp_path, node="real")
    try:
        async with Api.open(plane.kubeconfig("admin")) as api:
            pods = "/api/v1/namespaces/default/pods"
            main = {"name": "main", "image": PAUSE, "imagePullPolicy": "Never"}
            spec = {"containers": [main]}
            await api.create(pods, {"metadata": {"name": "long"}, "spec": spec})
            await api.until(f"{pods}/long", is_ready)
        assert traces()["groups"] != before["groups"]
        for name in ("gate", "node", "kube-apiserver"):
            os.kill(processes.pid_of(Layout(tmp_path).record(name)), signal.SIGKILL)
    finally:
        plane.down()
    assert running_for(tmp_path) == set()
    assert traces() == before
    assert not (tmp_path / "node").exists()


def test_down_leaves_nothing_though_up_was_killed_half_way(tmp_path: Path, fit: None) -> None:
    """Killed when the node's first process is there, which has not begun with its pods."""
    before = traces()
    up = [sys.executable, "-m", "e2e.plane", "up", "--node", "real", "--dir", str(tmp_path)]
    with subprocess.Popen(up, stderr=subprocess.DEVNULL) as starting:
        while not Layout(tmp_path).record("node-init").exists():
            time.sleep(0.01)
        starting.kill()
    assert running_for(tmp_path)
    Plane(tmp_path).down()
    assert running_for(tmp_path) == set()
    assert traces() == before


@pytest.mark.parametrize(
    ("user", "path", "said"),
    [
        (1000, os.environ["PATH"], "needs root"),
        (0, "/nowhere", "runc.*: apt-get install .* runc"),
    ],
)
def test_a_machine_that_cannot_be_a_node_is_told_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, path: str, said: str
) -> None:
    """One sentence with the way out, before anything is built or started."""
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setenv("PATH", path)
    with pytest.raises(MissingError, match=said):
        Plane.up(tmp_path / "plane", node="real")
    assert not (tmp_path / "plane").exists()


def test_a_folder_that_the_node_would_not_see_is_refused(fit: None) -> None:
    """Below /run it has files of its own."""
    with pytest.raises(MissingError, match="--dir"):
        Plane.up(Path("/run/plane"), node="real")


def test_a_machine_that_is_not_linux_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what to use instead."""
    monkeypatch.setattr(sys, "platform", "darwin")
    assert "make kind" in (host.lacking() or "")
