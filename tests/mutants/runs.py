"""Runs of the core's tests on a copy of the tree, with one mutant in it or with none."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from msgspec import Struct

from .mutant import Mutant

ROOT = Path(__file__).parents[2]
COPIED = ("operator", "storage", "tests", "pyproject.toml")
TESTS = ("tests/core",)
PASSED, FAILED = 0, 1
"""What pytest exits with; everything else means that it could not test."""


class BrokenRunError(Exception):
    """Pytest could not run the tests, so that nothing is known of the mutant."""


class Verdict(Struct, frozen=True):
    """What the tests said."""

    killer: str | None
    """The test that failed; None if all passed."""
    seconds: float


def trial(mutant: Mutant | None, *, most_seconds: float) -> Verdict:
    """Runs the tests until one fails, on this mutant or on the core as it is.

    Tests that take longer than `most_seconds` together count as failed: the core hangs. Raises
    BrokenRunError if pytest can't run, NotFoundError if the mutant has no place.
    """
    with tempfile.TemporaryDirectory(prefix="kwicket-mutant-") as folder:
        tree = Path(folder) / "tree"
        _copy(tree)
        if mutant is not None:
            (tree / mutant.path).write_text(mutant.mutated(ROOT))
        begin = time.monotonic()
        killer = _killer(tree, Path(folder), most_seconds)
        return Verdict(killer, time.monotonic() - begin)


def _copy(tree: Path) -> None:
    skip = shutil.ignore_patterns("__pycache__")
    tree.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, ignore=skip)
        else:
            shutil.copy2(ROOT / name, tree / name)


def _killer(tree: Path, folder: Path, most_seconds: float) -> str | None:
    failed = folder / "failed"
    code, said = _pytest(tree, failed, most_seconds)
    if code is None:
        return f"no end within {most_seconds:.0f} s"
    if code == FAILED and failed.exists():
        return failed.read_text().splitlines()[0].removeprefix("tests/")
    if code == PASSED:
        return None
    raise BrokenRunError(f"pytest can't run (exit code {code}):\n{said}")


def _pytest(tree: Path, failed: Path, most_seconds: float) -> tuple[int | None, str]:
    """Its exit code, None if it had to be stopped, and the end of what it said."""
    paths = (tree / "operator", tree / "storage", tree / "tests")
    words = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=short", "-p", "no:cacheprovider"]
    words += ["-p", "mutants.witness", f"--witness={failed}", *TESTS]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    with subprocess.Popen(  # noqa: S603 - our own tests
        words,
        cwd=tree,
        env=environment | {"PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as run:
        try:
            said, _ = run.communicate(timeout=most_seconds)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            return None, ""
        return run.returncode, said[-4000:]
