"""The plane itself: it comes up, stands beside others, obeys RBAC and leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.objects import appearance, is_running, job, running_for, sleeper
from e2e.plane import Plane, PlaneError
from e2e.plane.api import Api, ApiError
from e2e.plane.processes import is_alive
from e2e.tools import Tool

COMPONENTS = {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "agent"}
POLICIES = "/apis/admissionregistration.k8s.io/v1"


@pytest.fixture
def other(tmp_path: Path, own_planes: None) -> Iterator[Plane]:
    """A second plane, gone after the test."""
    plane = Plane.up(tmp_path / "other")
    yield plane
    plane.down()


def records(plane: Plane) -> list[Path]:
    return list((plane.folder / "run").glob("*.pid"))


def cli(*words: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "e2e.plane", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


async def test_two_planes_stand_side_by_side(plane: Plane, other: Plane) -> None:
    """A Job made on one is unknown on the other, and each runs its own."""
    for one in (plane, other):
        async with Api.open(one.kubeconfig("admin")) as api:
            name = f"of-{one.folder.name}"
            jobs = "/apis/batch/v1/namespaces/default/jobs"
            await api.create(jobs, job(name, "true"))
            await api.until(
                f"{jobs}/{name}", lambda seen: bool(seen and seen["status"].get("succeeded"))
            )
            known, _ = await api.list(jobs)
            assert [item["metadata"]["name"] for item in known] == [name]
            await api.delete(f"{jobs}/{name}")


async def test_down_leaves_nothing_though_a_component_was_killed(
    plane: Plane, other: Plane, tmp_path: Path
) -> None:
    """After kill -9 of two components, the rest and the containers go, and no other plane's."""
    mark = tmp_path / "container.pid"
    async with Api.open(other.kubeconfig("admin")) as api:
        body = job("long", sleeper(mark))
        await api.create("/apis/batch/v1/namespaces/default/jobs", body)
        await appearance(mark)
    for name in ("agent", "etcd"):
        os.kill(int((other.folder / "run" / f"{name}.pid").read_text().split()[0]), signal.SIGKILL)
    other.down()
    assert running_for(other.folder) == set()
    assert not is_running(mark)
    assert {record.stem for record in records(plane) if is_alive(record)} == COMPONENTS


@pytest.mark.usefixtures("own_planes")
def test_down_leaves_nothing_though_up_was_killed_half_way(tmp_path: Path) -> None:
    """Whatever the moment, what had been started is known, and stopped."""
    for component in ("etcd", "kube-apiserver", "agent"):
        starting = cli("up", "--dir", tmp_path)
        while not (tmp_path / "run" / f"{component}.pid").exists():
            time.sleep(0.01)
        starting.kill()
        starting.communicate()
        assert running_for(tmp_path)
        Plane(tmp_path).down()
        assert running_for(tmp_path) == set()


def test_down_spares_a_process_that_got_the_pid_of_a_component(tmp_path: Path) -> None:
    """A record of another start time is no record of the process that has the pid today."""
    (tmp_path / "run").mkdir()
    with subprocess.Popen(["sleep", "1000"]) as bystander:
        stat = Path(f"/proc/{bystander.pid}/stat").read_text()
        head, _, tail = stat.rpartition(")")
        fields = tail.split()
        fields[19] = str(int(fields[19]) - 1)
        (tmp_path / "run" / "etcd.pid").write_text(f"{head}) {' '.join(fields)}")
        Plane(tmp_path).down()
        assert bystander.poll() is None
        bystander.kill()


@pytest.mark.usefixtures("own_planes")
def test_up_says_where_the_kubeconfig_is_and_says_it_again(tmp_path: Path) -> None:
    """The last line of stdout is the admin's kubeconfig; the second time nothing is started."""
    try:
        first, second = cli("up", "--dir", tmp_path), None
        told, _ = first.communicate()
        before = {record.read_text() for record in records(Plane(tmp_path))}
        second = cli("up", "--dir", tmp_path)
        told_again, noted = second.communicate()
        assert told.splitlines()[-1] == told_again.splitlines()[-1]
        assert Path(told.strip()).is_file()
        assert "is up already" in noted
        assert {record.read_text() for record in records(Plane(tmp_path))} == before
    finally:
        Plane(tmp_path).down()


@pytest.mark.usefixtures("own_planes")
def test_without_go_one_sentence_names_the_way_out(tmp_path: Path) -> None:
    """Exit code 2, nothing started, and what to install."""
    script = (
        "import pathlib, sys; import e2e.plane.build as b; b.WORK = pathlib.Path(sys.argv[1]);"
        "import e2e.plane.__main__ as m; m.main(['up', '--dir', sys.argv[1] + '/plane'])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", script, tmp_path],
        env={"PATH": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 2
    assert answer.stderr.count("\n") == 1
    assert "install Go 1.26 or newer" in answer.stderr
    assert not (tmp_path / "plane").exists()


@pytest.mark.usefixtures("own_planes")
async def test_at_1_34_validating_policies_are_served_and_mutating_ones_are_not(
    tmp_path: Path,
) -> None:
    """The emulated version decides what is served, and the server says it is that version."""
    plane = Plane.up(tmp_path, emulate="1.34")
    try:
        async with Api.open(plane.kubeconfig("admin")) as api:
            served = {item["name"] for item in (await api.get(POLICIES))["resources"]}
            version = await api.get("/version")
        assert "validatingadmissionpolicies" in served
        assert "mutatingadmissionpolicies" not in served
        assert (version["emulationMajor"], version["emulationMinor"]) == ("1", "34")
    finally:
        plane.down()


def test_tenants_may_make_jobs_and_no_cluster_roles(kubectl: Tool, namespace: str) -> None:
    """alice and bob hold ClusterRole edit, which is everything but rights."""
    for who in ("alice", "bob"):
        words = ("create", "job", f"of-{who}", "--image=none", "-n", namespace, "--", "true")
        kubectl(*words, who=who)
        refused = kubectl(
            "create", "clusterrole", "x", "--verb=get", "--resource=pods", who=who, check=False
        )
        assert refused.returncode == 1
        assert "Forbidden" in refused.stderr or "forbidden" in refused.stderr


def test_a_service_account_speaks_by_a_minted_token(kubectl: Tool, namespace: str) -> None:
    """It is who it is, and may what it was given."""
    kubectl("create", "serviceaccount", "robot", "-n", namespace)
    answer = kubectl("auth", "whoami", "-o", "name", "-o", "json", who=f"{namespace}/robot")
    assert f"system:serviceaccount:{namespace}:robot" in answer.stdout


def test_a_missing_service_account_is_named(plane: Plane, namespace: str) -> None:
    """Minting creates nothing."""
    with pytest.raises(PlaneError, match=f"no service account nobody in namespace {namespace}"):
        plane.kubeconfig(f"{namespace}/nobody")


async def test_refusals_keep_the_servers_words(api: Api) -> None:
    """An ApiError has the status, the reason and the message."""
    with pytest.raises(ApiError, match="not found") as refused:
        await api.get("/api/v1/namespaces/default/pods/nix")
    assert (refused.value.status, refused.value.reason) == (404, "NotFound")


def test_helm_works_on_the_plane(helm: Tool, namespace: str) -> None:
    """helm reaches the cluster and finds no release yet."""
    assert helm("list", "-n", namespace, "-q").stdout.strip() == ""


def test_only_a_real_node_takes_images(plane: Plane, tmp_path: Path) -> None:
    """The node agent runs commands, whatever image a pod names."""
    with pytest.raises(PlaneError, match="--node real"):
        plane.load(tmp_path / "image.tar")
