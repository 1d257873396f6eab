"""A Job that is put back in line starts again, in every version of Kubernetes."""

import uuid
from collections.abc import AsyncIterator

import pytest

from e2e import load
from e2e.objects import TOKEN, token_of
from e2e.plane.api import Api
from e2e.threats.conftest import drop_pool
from e2e.threats.world import RUNNING, World

pytestmark = [
    RUNNING,
    pytest.mark.timeout(120),
]


@pytest.fixture
async def short(world: World, admin: Api) -> AsyncIterator[str]:
    """A Pool of one slot, whose Jobs must start soon."""
    name = f"p-{uuid.uuid4().hex[:8]}"
    await load.make_pool(admin, name, limit=1, lease={"startWithin": "10s"})
    yield name
    await drop_pool(admin, name)


async def test_by_a_lapse_and_by_somebody_who_suspends_it(
    world: World, alice: Api, admin: Api, short: str
) -> None:
    """Up to Kubernetes 1.35 its template is closed until its startTime is taken off."""
    wanted = world.job()
    wanted["metadata"]["labels"]["kwicket.dev/pool"] = short
    wanted["spec"]["template"]["spec"]["containers"][0]["image"] = "missing:1"
    where = await world.submit(alice, wanted)
    first = token_of(await admin.until(where, lambda job: token_of(job) > 0))
    second = token_of(await admin.until(where, lambda job: token_of(job) > first, seconds=60))
    await alice.patch(where, {"spec": {"suspend": True}})
    again = await admin.until(where, lambda job: token_of(job) > second, seconds=60)
    assert again is not None
    assert again["metadata"]["annotations"]["kwicket.dev/deliveries"] == "3"
    template = again["spec"]["template"]["metadata"]["annotations"]
    assert int(template[TOKEN]) == token_of(again)
    await alice.delete(where)
