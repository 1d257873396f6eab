"""Histories as they are played: some in every check, the same from the same seed, told whole."""

import asyncio
import os
import subprocess
import sys
from contextvars import copy_context
from pathlib import Path

import pytest

from faults.batch import failure, shown
from faults.loop import PROCESS, BenchLoop, StuckError
from faults.options import Options, drawn
from faults.run import played

ROOT = Path(__file__).parents[2]


def said(*words: str, **environment: str) -> str:
    """What the command prints when all is well."""
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "tests.faults", *words],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.mark.timeout(300)
def test_some_histories_hold() -> None:
    assert "16 histories" in said("--seeds", "16", "--processes", "1")


@pytest.mark.timeout(300)
def test_a_seed_gives_the_same_history_whatever_the_order_of_sets_was() -> None:
    told = {said("--seed", "4", PYTHONHASHSEED=number) for number in ("1", "2")}
    assert len(told) == 1


@pytest.mark.parametrize("seed", [1, 4])
def test_a_seed_gives_the_same_history_again(seed: int) -> None:
    first, second = (played(drawn(seed)) for _ in range(2))
    assert [(c.at, c.key, c.by) for c in first.changes] == [
        (c.at, c.key, c.by) for c in second.changes
    ]


def test_a_seed_that_fails_is_told_whole_and_with_its_command() -> None:
    options = drawn(3)
    text = failure(options, ["I1: 2 of 1"])
    assert text.startswith("seed 3:\n  I1: 2 of 1\n")
    assert text.endswith("again: python -m tests.faults --seed 3")
    assert all(str(work) in text for work in options.works)


def test_the_option_set_says_every_option() -> None:
    text = shown(drawn(3))
    assert all(f"  {name}:" in text for name in Options.__struct_fields__)


def test_a_process_that_is_stopped_goes_on_where_it_was() -> None:
    loop, told = BenchLoop(), list[str]()

    async def work() -> None:
        for number in range(3):
            told.append(f"{number} at {loop.time()}")
            await asyncio.sleep(1)

    async def play() -> None:
        context = copy_context()
        context.run(PROCESS.set, "a")
        task = loop.create_task(work(), context=context)
        await asyncio.sleep(0.5)
        loop.stop_process("a")
        await asyncio.sleep(9)
        assert told == ["0 at 0.0"]
        loop.continue_process("a")
        await task

    loop.run_until_complete(play())
    loop.close()
    assert told == ["0 at 0.0", "1 at 9.5", "2 at 10.5"]


def test_a_world_in_which_nothing_can_happen_says_so() -> None:
    loop = BenchLoop()
    waits = loop.create_future()
    with pytest.raises(StuckError):
        loop.run_until_complete(waits)
    loop.close()
