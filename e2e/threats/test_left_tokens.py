"""Tokens left of a time without enforcement: none of them stops a pool."""

import contextlib

import pytest

from e2e import load
from e2e.objects import TOKEN
from e2e.plane.api import Api, Object
from e2e.threats.conftest import drop_pool
from e2e.threats.test_left_over import enforce
from e2e.threats.world import World, in_pool, is_over
from e2e.walks.test_telling import note

HIGHEST = str(10**18 - 1)
"""The highest that is well-formed."""


def of(world: World, pool: str, **fields: Object) -> Object:
    """alice's Job in this pool."""
    wanted = in_pool(pool, world.job(suspend=True))
    wanted["metadata"] |= fields
    return wanted


@pytest.mark.parametrize("world", ["now-running", "1.34-running"], indirect=True)
@pytest.mark.parametrize("token", [HIGHEST, str(10**18 - 2)])
async def test_a_job_with_the_highest_token_is_set_aside_and_all_others_start(
    world: World, admin: Api, alice: Api, pool: str, token: str
) -> None:
    """In its pool and in others: the annotation that names its pool is missing too."""
    other = f"{pool}-other"
    await load.make_pool(admin, other, limit=1)
    enforce(world, False)
    with contextlib.ExitStack() as stack:
        stack.callback(enforce, world, True)
        forged = await world.submit(alice, of(world, pool, annotations={TOKEN: token}))
    for name in (pool, other):
        await is_over(alice, await world.submit(alice, of(world, name)))
    told = await note(admin, world.home, forged.rpartition("/")[2], "BadToken")
    assert f"is {token}, which no pool can have given" in told
    assert "delete the Job and make it again" in told
    assert (await alice.get(forged))["spec"]["suspend"] is True
    ledger = await admin.get(f"{load.GROUP}/ledgers/{pool}")
    assert int(ledger["spec"]["version"]) < 10**15
    await alice.delete(forged, {"propagationPolicy": "Background"})
    await drop_pool(admin, other)


@pytest.mark.parametrize("world", ["now-running"], indirect=True)
async def test_a_job_that_runs_by_such_a_token_is_suspended(
    world: World, admin: Api, alice: Api, pool: str
) -> None:
    enforce(world, False)
    with contextlib.ExitStack() as stack:
        stack.callback(enforce, world, True)
        notes = {TOKEN: HIGHEST, "kwicket.dev/pool": pool}
        wanted = of(world, pool, annotations=notes)
        wanted["spec"]["suspend"] = False
        wanted["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 1
        wanted["spec"]["template"]["spec"]["containers"][0]["command"] = ["sleep", "1000"]
        forged = await world.submit(alice, wanted)
    await alice.until(forged, lambda job: bool(job and job["spec"]["suspend"]))
    await is_over(alice, await world.submit(alice, of(world, pool)))
    assert await note(admin, world.home, forged.rpartition("/")[2], "BadToken")
    await alice.delete(forged, {"propagationPolicy": "Background"})
