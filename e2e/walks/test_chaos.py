"""Jobs under constant kills and pauses. `python -m e2e.chaos` runs a thousand."""

import random
from pathlib import Path

import pytest

from e2e import chaos
from e2e.plane import Plane
from e2e.plane.api import Api

JOBS = 40


@pytest.mark.timeout(600)
async def test_each_job_runs_once_while_one_of_two_replicas_is_always_in_trouble(
    plane: Plane, account: Path, tmp_path: Path, api: Api
) -> None:
    """Another seed each time; it is printed, and what fails names it."""
    seed = random.randrange(1_000_000)  # noqa: S311 - which faults come when
    await chaos.run(api, account, tmp_path, JOBS, seed, print)
