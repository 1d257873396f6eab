"""Runs of the fault bench on a copy of the tree, with a safeguard left out or with none."""

import re
import subprocess
import sys
import time

from .mutant import Mutant
from .runs import BrokenRunError, Verdict, copied, environment, trial
from .safeguards import JUDGED_BY_TESTS
from .shared import JUDGED_BY_TESTS as OF_SHARED

SEEDS = 400
"""The budget: a mutant that no history of these notices survives."""

_FOUND = re.compile(r"^seed (\d+):\n  (.*)", re.MULTILINE)


def safeguarded(mutant: Mutant | None, *, most_seconds: float) -> Verdict:
    """Plays histories until one is bad; raises BrokenRunError if none can be played."""
    if mutant is not None and mutant.name in JUDGED_BY_TESTS:
        return trial(mutant, most_seconds=most_seconds, tests=(JUDGED_BY_TESTS[mutant.name],))
    return _played(mutant)


def shared(mutant: Mutant | None, *, most_seconds: float) -> Verdict:
    """The same by histories of clusters that share a ledger; each comes to its end by itself."""
    if mutant is not None and mutant.name in OF_SHARED:
        return trial(mutant, most_seconds=most_seconds, tests=(OF_SHARED[mutant.name],))
    return _played(mutant, "--shared")


def _played(mutant: Mutant | None, *more: str) -> Verdict:
    words = [sys.executable, "-m", "tests.faults", "--seeds", str(SEEDS), *more]
    words += ["--processes", "1", "--most", "1"]
    begin = time.monotonic()
    with copied(mutant) as tree:
        run = subprocess.run(  # noqa: S603 - our own tests
            words, cwd=tree, env=environment(tree), capture_output=True, text=True, check=False
        )
    seconds = time.monotonic() - begin
    found = _FOUND.search(run.stderr)
    if found is not None:
        return Verdict(f"seed {found[1]}: {found[2][:60]}", seconds)
    if run.returncode == 0:
        return Verdict(None, seconds)
    raise BrokenRunError(f"the bench can't run:\n{run.stderr[-4000:]}")
