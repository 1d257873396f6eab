"""`python -m e2e.chaos`: Jobs run while one of two replicas is killed or paused every few seconds.

Some pools have one slot, so that their workers' tokens must rise in the order in which the workers
themselves write them down; one has several. Each pool has a namespace, and an observer, of its own.
"""

import asyncio
import contextlib
import random
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import click

from e2e import load, release
from e2e.observer import Observer
from e2e.operators import Operator
from e2e.plane import Plane
from e2e.plane.api import Api, Object
from e2e.tools import Tool

SLOTS = (1, 1, 1, 1, 6)
"""Of each pool."""
SECONDS_A_JOB = 2
"""At most, with some time for the faults; a run that takes longer has lost something."""
KILLED = 0.4
"""How much of the faults are kills; the others are pauses."""
LONG = 0.2
"""Which part of the pauses outlasts the lease."""

type Say = Callable[[str], None]


class Pool(NamedTuple):
    """A pool in a namespace of its name, and where its workers write down what they do."""

    name: str
    slots: int
    jobs: int
    diary: Path
    observer: Observer


class Replicas:
    """Two operators; whichever is killed is started again."""

    def __init__(self, account: Path, folder: Path) -> None:
        self._account = account
        self._folder = folder
        self._started = 0
        self.kills = self.pauses = 0
        self._both = [self._start(), self._start()]

    def _start(self) -> Operator:
        self._started += 1
        return Operator(self._account, self._folder / f"operator-{self._started}.log")

    async def rage(self, dice: random.Random) -> None:
        """Kills or pauses one of the two every few seconds, until cancelled."""
        while True:
            await asyncio.sleep(dice.uniform(3, 9))
            victim = dice.randrange(2)
            if dice.random() < KILLED:
                self.kills += 1
                self._both[victim].kill()
                self._both[victim] = self._start()
            else:
                self.pauses += 1
                self._both[victim].stop()
                await asyncio.sleep(dice.uniform(16, 20) if dice.random() < LONG else 2)
                self._both[victim].go_on()

    def end(self) -> None:
        """Ends both."""
        for operator in self._both:
            operator.go_on()
            operator.kill()


async def run(api: Api, account: Path, folder: Path, jobs: int, seed: int, say: Say) -> None:
    """One run. Raises AssertionError where a Job runs twice or never, a limit is exceeded, or
    tokens do not rise; the seed is in its message.
    """
    say(f"{jobs} Jobs, seed {seed}: python -m e2e.chaos --jobs {jobs} --seed {seed}")
    dice, begun = random.Random(seed), time.monotonic()  # noqa: S311 - which faults come when
    async with AsyncExitStack() as stack:
        pools = [
            await stack.enter_async_context(_pool(api, folder, slots, count, f"{seed}-{number}"))
            for number, (slots, count) in enumerate(zip(SLOTS, _shares(jobs), strict=True))
        ]
        with _raging(account, folder, dice) as (replicas, raging):
            for pool in pools:
                await load.create_jobs(api, pool.name, _jobs(pool))
            for pool in pools:
                await pool.observer.until(_all(pool.jobs), seconds=SECONDS_A_JOB * jobs + 60)
            raging.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await raging
        for pool in pools:
            _check(pool, f"seed {seed}, {pool.name}")
    say(
        f"{jobs} Jobs, each once, in {time.monotonic() - begun:.0f} s, over {replicas.kills} kills"
        f" and {replicas.pauses} pauses"
    )


@contextmanager
def _raging(
    account: Path, folder: Path, dice: random.Random
) -> Iterator[tuple[Replicas, asyncio.Task[None]]]:
    replicas = Replicas(account, folder)
    raging = asyncio.create_task(replicas.rage(dice))
    try:
        yield replicas, raging
    finally:
        raging.cancel()
        replicas.end()


def _shares(jobs: int) -> list[int]:
    """How many Jobs each pool gets: half of them the last, which has the most slots."""
    few = jobs // (2 * (len(SLOTS) - 1))
    return [*[few] * (len(SLOTS) - 1), jobs - few * (len(SLOTS) - 1)]


def _all(jobs: int) -> Callable[[Observer], bool]:
    return lambda observer: len(observer.complete) == jobs


def _jobs(pool: Pool) -> Iterator[Object]:
    words = "$KWICKET_TOKEN $HOSTNAME"
    script = f'echo "begin {words}" >>{pool.diary}; sleep 0.1; echo "end {words}" >>{pool.diary}'
    for number in range(pool.jobs):
        tenant = f"tenant-{number % 3}"
        yield load.labelled_job(f"job-{number}", tenant, ["sh", "-c", script], pool=pool.name)


@asynccontextmanager
async def _pool(api: Api, folder: Path, slots: int, jobs: int, suffix: str) -> AsyncIterator[Pool]:
    """Made for the run, and taken away after it."""
    name = f"chaos-{suffix}"
    await api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    await api.until(f"/api/v1/namespaces/{name}/serviceaccounts/default", bool)
    await load.make_pool(api, name, slots)
    async with Observer.watching(api, name) as observer:
        yield Pool(name, slots, jobs, folder / f"{name}.txt", observer)
    await api.delete(f"/api/v1/namespaces/{name}")
    await load.drop_pool(api, name)


def _check(pool: Pool, where: str) -> None:
    """By what the API has shown, and by what the workers have written down."""
    seen = pool.observer
    assert sorted(len(pods) for pods in seen.pods.values()) == [1] * pool.jobs, where
    assert seen.peak_live <= pool.slots, where
    tokens = {job: one for job, one in seen.tokens.items() if len(one) != 1}
    assert not tokens, f"{where}: more than one start: {tokens}"
    lines = [line.split() for line in pool.diary.read_text().splitlines()]
    begun = [int(token) for word, token, _ in lines if word == "begin"]
    assert len(begun) == len(set(begun)) == pool.jobs, where
    assert set(begun) == {token for one in seen.tokens.values() for token in one}, where
    at_once = 0
    for word, *_ in lines:
        at_once += 1 if word == "begin" else -1
        assert at_once <= pool.slots, where
    if pool.slots == 1:
        assert all(earlier < later for earlier, later in pairwise(begun)), where


async def _on(plane: Plane, folder: Path, jobs: int, seed: int) -> None:
    helm = Tool(plane.bin("helm"), plane.kubeconfig, folder / "helm")
    await asyncio.to_thread(release.install, helm, plane.kubeconfig)
    account = await asyncio.to_thread(plane.kubeconfig, "kwicket-system/kwicket")
    async with Api.open(plane.kubeconfig("admin")) as api:
        await run(api, account, folder, jobs, seed, click.echo)


@click.command()
@click.option("--jobs", default=1000, show_default=True)
@click.option("--seed", type=int, help="Which faults come when; another one each time if left out.")
def main(jobs: int, seed: int | None) -> None:
    """JOBS Jobs on a plane of their own, with two replicas of which one is always in trouble."""
    with tempfile.TemporaryDirectory(prefix="kwicket-chaos-") as folder:
        plane = Plane.up(Path(folder), say=lambda text: click.echo(text, err=True))
        try:
            chosen = random.randrange(1_000_000) if seed is None else seed  # noqa: S311
            asyncio.run(_on(plane, Path(folder), jobs, chosen))
        finally:
            plane.down()


if __name__ == "__main__":
    main()
