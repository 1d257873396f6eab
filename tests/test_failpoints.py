"""Failpoints end the process where they are named, and are nothing to anybody else."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kwicket.failpoints import VARIABLE, Failpoint

ROOT = Path(__file__).parents[1]
PASSED = "from kwicket.failpoints import *; [reach(point) for point in Failpoint]; print('passed')"


def run(**environment: str) -> subprocess.CompletedProcess[str]:
    """A process that reaches all points."""
    return subprocess.run(  # noqa: S603 - this Python, and words of our own
        [sys.executable, "-c", PASSED],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("point", [Failpoint.BEFORE_COMMIT, Failpoint.AFTER_LEASE])
def test_a_process_ends_at_the_point_that_its_environment_names(point: Failpoint) -> None:
    assert run(**{VARIABLE: point}).returncode == -signal.SIGKILL


def test_without_it_nothing_happens() -> None:
    assert run().stdout == "passed\n"


def test_a_point_that_does_not_exist_is_refused() -> None:
    done = run(**{VARIABLE: "after-lunch"})
    assert done.returncode == 1
    assert "'after-lunch' is not a valid Failpoint" in done.stderr


def test_every_point_is_somewhere_and_has_a_test_on_a_cluster() -> None:
    product = "".join(path.read_text() for path in _sources("operator", "storage"))
    walks = (ROOT / "e2e" / "walks" / "test_failpoints.py").read_text()
    for point in Failpoint:
        assert f"Failpoint.{point.name}" in product
        assert f"Failpoint.{point.name}" in walks


def test_the_chart_names_none() -> None:
    chart = (path for path in (ROOT / "charts").rglob("*") if path.is_file())
    assert not any(VARIABLE in path.read_text() for path in chart)


def _sources(*folders: str) -> list[Path]:
    return [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
