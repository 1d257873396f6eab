"""The webhook is registered and down, hangs, or can't be trusted: nothing starts that should not,
and the rest goes on. Row 19 of the fault matrix.

How it is below 1.36 while it hangs is in e2e/test_webhook.py.
"""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta

import pytest

from e2e.objects import start
from e2e.plane.api import Api
from e2e.recoveries import Recovered
from e2e.threats.test_starting import changes_nothing
from e2e.threats.world import LIVE, World, is_over, jobs, refusal, refused_in_time
from kwicket.kube.certificates import issue

NAME = "kwicket-webhook.kwicket-system.svc"
WRONG = {
    "expired": (NAME, timedelta(days=400)),
    "of-a-wrong-authority": (NAME, timedelta()),
    "for-another-name": ("elsewhere.example", timedelta()),
}
"""Certificates that no API server trusts: for whom they are, and how old."""
DEAD = [
    ("now-webhook", "down"),
    ("now-webhook", "hanging"),
    ("now-webhook", "expired"),
    ("1.34-webhook", "down"),
    *(("1.34-webhook", wrong) for wrong in WRONG),
]
dead_in = pytest.mark.parametrize(("world", "dead"), DEAD, indirect=True)


@pytest.fixture(scope="module")
def dead(world: World, request: pytest.FixtureRequest) -> Iterator[World]:
    """The world whose webhook is out of order."""
    with out_of_order(world, request.param):
        yield world


def out_of_order(world: World, how: str) -> AbstractContextManager[None]:
    """For the length of the context the webhook is of no use."""
    assert world.webhook is not None
    if how in WRONG:
        name, age = WRONG[how]
        return world.webhook.showing(issue([name], datetime.now(UTC) - age))
    return world.webhook.down() if how == "down" else world.webhook.hanging()


@dead_in
async def test_a_labelled_job_is_created_suspended_and_stays_so(dead: World, alice: Api) -> None:
    """Below 1.36 it has to say so itself, else it is refused; an unlabelled one runs meanwhile."""
    wanted = dead.manifest("alice", suspend=False)
    if not dead.mutates:
        assert "write suspend: true into its spec" in await refusal(alice, jobs(dead.home), wanted)
        wanted["spec"]["suspend"] = True
    made = await alice.create(jobs(dead.home), wanted)
    assert made["spec"]["suspend"] is True
    where = jobs(dead.home, wanted["metadata"]["name"])
    await changes_nothing(alice, where, alice.patch(where, {"spec": {"suspend": False}}))
    await changes_nothing(alice, where, alice.patch(where, start("10")))
    await is_over(alice, await dead.submit(alice, dead.job(None)))
    stays = await alice.get(where)
    assert stays["spec"]["suspend"] is True
    assert "startTime" not in stays["status"]
    await alice.delete(where)
    assert await alice.until(where, lambda seen: seen is None) is None


@dead_in
@pytest.mark.parametrize("lives", [None, 0], ids=["deleted", "until-its-time-has-come"])
async def test_a_job_that_was_granted_finishes_and_goes(
    dead: World, alice: Api, kwicket: Api, lives: int | None
) -> None:
    where = await dead.submit(alice, dead.job(ttlSecondsAfterFinished=lives))
    await kwicket.patch(where, start("10"))
    if lives is None:
        await is_over(alice, where)
        await alice.delete(where, {"propagationPolicy": "Foreground"})
    assert await alice.until(where, lambda seen: seen is None) is None


PUT_RIGHT = {"down": "started again", "expired": "given a certificate that has not expired"}


@LIVE
@pytest.mark.parametrize("how", PUT_RIGHT)
async def test_its_words_are_back_when_it_is(
    world: World, alice: Api, how: str, recovered: Recovered
) -> None:
    """It was never taken out of the registrations; the right certificate is taken within a minute,
    without a restart.
    """
    lost = world.job(suspend=True)
    lost["metadata"]["labels"]["kwicket.dev/pool"] = "nowhere"
    with out_of_order(world, how):
        assert await refusal(alice, jobs(world.home), lost, dryRun="All") == ""
        begin = time.monotonic()
    await refused_in_time(alice, jobs(world.home), lost, "there is no Pool nowhere")
    recovered("19", f"the webhook is {PUT_RIGHT[how]}; its first word", time.monotonic() - begin)
