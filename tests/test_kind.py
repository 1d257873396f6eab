"""What `make kind` asks of Docker, kind and the walk, each a stand-in that writes down its call."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = ("sh", "dirname", "sed", "grep", "mktemp", "rm", "cat")
NEEDED = ("docker", "kind", "kubectl", "helm")


class Machine:
    """A copy of what the script reads, and a PATH with stand-ins alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "a repository"
        self.path = folder / "bin"
        self.calls = folder / "calls"
        for made in (self.folder / "scripts", self.folder / "charts" / "kwicket", self.path):
            made.mkdir(parents=True)
        for file in ("scripts/kind.sh", "charts/kwicket/Chart.yaml"):
            shutil.copy(ROOT / file, self.folder / file)
        for tool in TOOLS:
            (self.path / tool).symlink_to(str(shutil.which(tool)))
        for name in NEEDED:
            self.stand_in(self.path / name)
        self.stand_in(self.folder / ".venv" / "bin" / "python")

    def stand_in(self, path: Path, line: str = "") -> None:
        """A program that writes down how it was called, then does what `line` says."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\necho "{path.name} $*" >>"{self.calls}"\n{line}\n')
        path.chmod(0o755)

    def run(self, **environment: str) -> subprocess.CompletedProcess[str]:
        """The script, to its end."""
        return subprocess.run(  # noqa: S603 - the script under test
            [str(self.path / "sh"), str(self.folder / "scripts" / "kind.sh")],
            env={"PATH": str(self.path), "TMPDIR": str(self.path.parent)} | environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def called(self) -> list[str]:
        """The calls, in their order; the kubeconfig is F."""
        if not self.calls.exists():
            return []
        return re.sub(r"(?<=--kubeconfig )\S+", "F", self.calls.read_text()).splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


DELETE = "kind delete cluster --name kwicket-walk --kubeconfig F"
CREATE = "kind create cluster --name kwicket-walk --kubeconfig F --wait 120s"
ALL = [
    "docker info",
    "kind get clusters",
    "docker build --quiet --tag kwicket:0.1.0 .",
    CREATE,
    "kind load docker-image kwicket:0.1.0 --name kwicket-walk",
    "python -m pytest -q e2e/real --e2e --kubeconfig F --has-image",
]


def test_it_builds_makes_loads_walks_and_deletes(machine: Machine) -> None:
    """In this order, and the folder of the kubeconfig is gone."""
    answer = machine.run()
    assert answer.returncode == 0, answer.stderr
    assert machine.called() == [*ALL, DELETE]
    assert list(machine.path.parent.glob("tmp.*")) == []


def test_the_image_is_the_one_that_the_chart_asks_for() -> None:
    """The chart's default repository is kwicket, and the tag its appVersion."""
    chart = (ROOT / "charts" / "kwicket" / "Chart.yaml").read_text()
    assert "appVersion: 0.1.0" in chart
    assert "repository: kwicket\n" in (ROOT / "charts" / "kwicket" / "values.yaml").read_text()


def test_a_walk_that_fails_is_its_exit_code_and_the_cluster_goes(machine: Machine) -> None:
    """What is left of it is the output."""
    machine.stand_in(machine.folder / ".venv" / "bin" / "python", "exit 1")
    assert machine.run().returncode == 1
    assert machine.called() == [*ALL, DELETE]


def test_a_cluster_that_is_half_made_goes_too(machine: Machine) -> None:
    """Nothing is loaded on it."""
    machine.stand_in(machine.path / "kind", 'case "$1" in create) exit 3 ;; esac')
    assert machine.run().returncode == 3
    assert machine.called() == [*ALL[:4], DELETE]


def test_keep_leaves_the_cluster_and_says_how_to_delete_it(machine: Machine) -> None:
    """For a look at what failed."""
    answer = machine.run(KEEP="1")
    assert machine.called() == ALL
    assert "kind delete cluster --name kwicket-walk" in answer.stderr


def test_what_is_missing_is_named_before_anything_is_done(machine: Machine) -> None:
    """All of it at once, with the way out."""
    for name in ("kind", "helm"):
        (machine.path / name).unlink()
    answer = machine.run()
    assert answer.returncode == 2
    assert "not on PATH: kind helm. Install" in answer.stderr
    assert machine.called() == []


def test_a_docker_that_does_not_answer_is_said(machine: Machine) -> None:
    """And no image is built."""
    machine.stand_in(machine.path / "docker", "exit 1")
    answer = machine.run()
    assert answer.returncode == 2
    assert "docker does not answer" in answer.stderr
    assert machine.called() == ALL[:1]


def test_an_image_that_cannot_be_built_makes_no_cluster(machine: Machine) -> None:
    """Docker's exit code is the script's."""
    machine.stand_in(machine.path / "docker", 'case "$1" in build) exit 5 ;; esac')
    assert machine.run().returncode == 5
    assert machine.called() == ALL[:3]


def test_a_cluster_of_that_name_is_left_alone(machine: Machine) -> None:
    """It may be one that was kept: what runs there is not ours to delete."""
    machine.stand_in(machine.path / "kind", "echo kwicket-walk")
    answer = machine.run()
    assert answer.returncode == 2
    assert "there is a cluster kwicket-walk already" in answer.stderr
    assert machine.called() == ALL[:2]
