"""Runs of tests on a copy of the tree, with one mutant in it or with none."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
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


def trial(mutant: Mutant | None, *, most_seconds: float, tests: tuple[str, ...] = TESTS) -> Verdict:
    """Runs the tests until one fails, on this mutant or on the code as it is.

    Tests that take longer than `most_seconds` together count as failed: the core hangs. Raises
    BrokenRunError if pytest can't run, NotFoundError if the mutant has no place.
    """
    with copied(mutant) as tree:
        begin = time.monotonic()
        killer = _killer(tree, tests, most_seconds)
        return Verdict(killer, time.monotonic() - begin)


@contextmanager
def copied(mutant: Mutant | None) -> Iterator[Path]:
    """A copy of the tree with this mutant in it; raises NotFoundError."""
    with tempfile.TemporaryDirectory(prefix="kwicket-mutant-") as folder:
        tree = Path(folder) / "tree"
        _copy(tree)
        if mutant is not None:
            (tree / mutant.path).write_text(mutant.mutated(ROOT))
        yield tree


def environment(tree: Path) -> dict[str, str]:
    """The environment in which this copy's packages are the ones that are imported."""
    paths = (tree / "operator", tree / "storage", tree / "tests")
    named = {"PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONDONTWRITEBYTECODE": "1"}
    return os.environ | named


def _copy(tree: Path) -> None:
    skip = shutil.ignore_patterns("__pycache__")
    tree.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tree / name, ignore=skip)
        else:
            shutil.copy2(ROOT / name, tree / name)


def _killer(tree: Path, tests: tuple[str, ...], most_seconds: float) -> str | None:
    failed = tree.parent / "failed"
    code, said = _pytest(tree, failed, tests, most_seconds)
    if code is None:
        return f"no end within {most_seconds:.0f} s"
    if code == FAILED and failed.exists():
        return failed.read_text().splitlines()[0].removeprefix("tests/")
    if code == PASSED:
        return None
    raise BrokenRunError(f"pytest can't run (exit code {code}):\n{said}")


def _pytest(
    tree: Path, failed: Path, tests: tuple[str, ...], most_seconds: float
) -> tuple[int | None, str]:
    """Its exit code, None if it had to be stopped, and the end of what it said."""
    words = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=short", "-p", "no:cacheprovider"]
    words += ["-p", "mutants.witness", f"--witness={failed}", *tests]
    with subprocess.Popen(  # noqa: S603 - our own tests
        words,
        cwd=tree,
        env=environment(tree),
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
