"""A restart at any moment loses no Job, repeats no token, exceeds no limit."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e import load, operators
from e2e.observer import Observer
from e2e.plane.api import Api
from e2e.walks.conftest import Pools

JOBS = 300
KILLS = 20
LIMIT = 10


def has_started(jobs: int) -> Callable[[Observer], bool]:
    """Whether so many Jobs have started."""
    return lambda observer: len(observer.started) >= jobs


@pytest.mark.timeout(300)
async def test_twenty_kills_while_three_hundred_jobs_run(
    account: Path, tmp_path: Path, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    pool = await pools.pool(limit=LIMIT)
    await load.create_jobs(
        api,
        namespace,
        (
            load.labelled_job(f"job-{n}", f"tenant-{n % 5}", ["sleep", "0.2"], pool=pool)
            for n in range(JOBS)
        ),
    )
    dice = random.Random(3)  # noqa: S311  # moments of the kills
    log = tmp_path / "operator.log"
    for kill in range(1, KILLS + 1):
        with operators.running(account, log, *operators.ALONE) as process:
            await observer.until(has_started(kill * JOBS * 8 // (10 * KILLS)))
            await asyncio.sleep(dice.uniform(0, 0.3))  # a random moment is the point
            process.kill()
    with operators.running(account, log, *operators.ALONE):
        await observer.until(lambda o: len(o.complete) == JOBS, seconds=120)
        await pools.until(pool, waiting=0, running=0)

    assert observer.peak_live <= LIMIT
    assert sorted(len(pods) for pods in observer.pods.values()) == [1] * JOBS
    tokens = [token for job in observer.tokens.values() for token in job]
    assert len(tokens) == len(set(tokens)) == JOBS
    in_time = sorted(observer.grants, key=lambda grant: grant[0])
    assert [at for at, _ in in_time] == [at for at, _ in sorted(in_time, key=lambda g: g[1])]


@pytest.mark.timeout(120)
async def test_two_operators_at_once_keep_the_limit_and_share_the_tokens(
    account: Path, tmp_path: Path, pools: Pools, api: Api, namespace: str, observer: Observer
) -> None:
    """Row 3 of the fault matrix: the election is off, and the ledger's compare-and-swap alone keeps
    them apart.
    """
    pool = await pools.pool(limit=4)
    log = tmp_path / "operator.log"
    with (
        operators.running(account, log, *operators.ALONE),
        operators.running(account, log, *operators.ALONE),
    ):
        await load.create_jobs(
            api,
            namespace,
            (
                load.labelled_job(f"job-{n}", f"tenant-{n % 3}", ["sleep", "0.2"], pool=pool)
                for n in range(40)
            ),
        )
        await observer.until(lambda o: len(o.complete) == 40, seconds=90)
    assert observer.peak_live <= 4
    assert sorted(len(pods) for pods in observer.pods.values()) == [1] * 40
    assert sorted(len(tokens) for tokens in observer.tokens.values()) == [1] * 40
    assert len({token for tokens in observer.tokens.values() for token in tokens}) == 40
