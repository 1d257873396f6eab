"""docs/examples/fencing/file.py: real processes, paused and killed at each of their steps."""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "fencing" / "file.py"
OLD, NEW = 7, 9
WRITTEN, REFUSED = 0, 3

WRITER = """
import os, runpy, signal, sys
from pathlib import Path

example, path, content, token, stop_at, number = sys.argv[1:]
names = runpy.run_path(example)
steps = 0

def step(event, _):
    global steps
    if event in {"open", "os.rename", "fcntl.flock"}:
        steps += 1
        if steps == int(stop_at):
            os.kill(os.getpid(), int(number))

sys.addaudithook(step)
try:
    names["write"](Path(path), content.encode(), int(token))
except names["StaleTokenError"] as error:
    sys.exit(3 if "too old" in str(error) else 1)
print(steps, flush=True)
"""
"""A process that writes, and sends itself a signal right before one of its steps."""

STEPS = (
    "open FILE.lock",
    "lock it",
    "read FILE.token",
    "write the token",
    "rename the token",
    "make that last",
    "write the content",
    "rename the content",
    "make this last",
)
BEFORE_THE_LOCK = 2
every_step = pytest.mark.parametrize("step", range(1, len(STEPS) + 1), ids=lambda n: STEPS[n - 1])


type Writer = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def writer() -> Iterator[Writer]:
    """Starts writers; what is left of them ends with the test."""
    started = []

    def start(
        path: Path, content: str, token: int, stop_at: int = 0, number: int = signal.SIGSTOP
    ) -> subprocess.Popen[str]:
        given = [EXAMPLE, path, content, token, stop_at, int(number)]
        process = subprocess.Popen(  # noqa: S603 - our own arguments
            [sys.executable, "-I", "-S", "-c", WRITER, *map(str, given)],
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        end(process)


def end(process: subprocess.Popen[str]) -> int:
    """Its exit code."""
    with process:
        return process.wait()


def stopped(process: subprocess.Popen[str]) -> None:
    """Returns once it is."""
    seen = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    assert seen is not None
    assert seen.si_code == os.CLD_STOPPED


def locked(path: Path) -> bool:
    """Whether somebody has it for himself alone."""
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


@pytest.fixture
def path(tmp_path: Path, writer: Writer) -> Path:
    """A file that was written with an earlier token."""
    made = tmp_path / "result"
    assert end(writer(made, "first", 5)) == WRITTEN
    return made


def test_a_write_has_these_steps(path: Path, writer: Writer) -> None:
    said, _ = writer(path, "new", NEW).communicate()
    assert int(said) == len(STEPS)


def test_a_first_write_makes_the_file_and_leaves_what_the_page_says(
    tmp_path: Path, writer: Writer
) -> None:
    assert end(writer(tmp_path / "result", "first", 5)) == WRITTEN
    found = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert found == {"result": "first", "result.token": "5", "result.lock": ""}


def test_a_lower_token_is_refused_and_the_same_one_is_not(path: Path, writer: Writer) -> None:
    assert end(writer(path, "new", NEW)) == WRITTEN
    assert end(writer(path, "old", OLD)) == REFUSED
    assert path.read_text() == "new"
    assert end(writer(path, "again", NEW)) == WRITTEN
    assert path.read_text() == "again"


@every_step
def test_an_old_pod_that_is_paused_at_a_step_never_overwrites_the_new_one(
    path: Path, writer: Writer, step: int
) -> None:
    old = writer(path, "old", OLD, stop_at=step)
    stopped(old)
    held = locked(path)
    new = writer(path, "new", NEW)
    if not held:
        new.wait()
    old.send_signal(signal.SIGCONT)
    assert end(old) == (WRITTEN if held else REFUSED)
    assert end(new) == WRITTEN
    assert path.read_text() == "new"
    assert held == (step > BEFORE_THE_LOCK)


@every_step
def test_a_pod_that_is_killed_at_a_step_leaves_the_old_content_or_its_own(
    path: Path, writer: Writer, step: int
) -> None:
    killed = writer(path, "new", NEW, stop_at=step, number=signal.SIGKILL)
    assert end(killed) == -signal.SIGKILL
    left = path.read_text()
    assert left in {"first", "new"}
    refused = end(writer(path, "old", OLD)) == REFUSED
    assert refused or left == "first"
    assert end(writer(path, "new", NEW)) == WRITTEN
    assert path.read_text() == "new"
