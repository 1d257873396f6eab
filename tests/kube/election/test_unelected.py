"""An operator without an election: it shows that it is at work, and keeps nobody from working."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs

from kwicket.kube import unelected as module
from kwicket.kube.unelected import AGAIN, RENEW, Unelected
from support.fakes import FakeClock
from support.objects import FakeObjects

PATH = "/apis/coordination.k8s.io/v1/namespaces/kwicket-system/leases/kwicket-unelected"


class Api(FakeObjects):
    """What all operators share."""

    @property
    def mark(self) -> dict[str, Any]:
        """What the Lease says."""
        spec: dict[str, Any] = json.loads(self.bodies[PATH])["spec"]
        return spec

    @property
    def version(self) -> str:
        """Another one with each mark."""
        version: str = json.loads(self.bodies[PATH])["metadata"]["resourceVersion"]
        return version


@asynccontextmanager
async def running(api: Api, name: str = "one") -> AsyncIterator[Unelected]:
    """One at work for the length of the context."""
    clock = FakeClock()
    async with Unelected(api, clock, namespace="kwicket-system", identity=name) as alone:
        task = asyncio.create_task(alone.run())
        try:
            yield alone
        finally:
            task.cancel()
            await asyncio.wait([task])


@pytest.fixture
def api() -> Api:
    return Api()


async def test_it_works_once_its_mark_is_there_and_never_loses(api: Api) -> None:
    async with running(api) as alone:
        assert not alone.leads()
        await alone.gained()
        assert alone.leads()
        assert api.mark["holderIdentity"] == "one"
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1000):
                await alone.lost()


async def test_each_mark_is_another_one_as_long_as_it_works(api: Api) -> None:
    async with running(api) as alone:
        await alone.gained()
        seen = set()
        for _ in range(10):
            seen.add(api.version)
            await asyncio.sleep(RENEW)
        assert len(seen) == 10


async def test_it_takes_its_mark_away_at_the_end(api: Api) -> None:
    async with running(api) as alone:
        await alone.gained()
    assert "holderIdentity" not in api.mark


async def test_several_leave_the_same_mark_and_only_the_last_one_takes_it_away(api: Api) -> None:
    async with running(api, "one") as one:
        await one.gained()
        async with running(api, "two") as two:
            await two.gained()
            assert one.leads()
        await asyncio.sleep(2 * RENEW)
        assert api.mark["holderIdentity"] == "one"


async def test_a_mark_of_another_one_is_left_alone_at_the_end(api: Api) -> None:
    async with running(api, "one") as one:
        await one.gained()
        other = json.loads(api.bodies[PATH])
        other["spec"]["holderIdentity"] = "two"
        await api.replace(PATH, other)
    assert api.mark["holderIdentity"] == "two"


async def test_nothing_works_while_the_mark_is_refused_which_is_said_once(api: Api) -> None:
    api.refusal = "leases.coordination.k8s.io is forbidden"
    with capture_logs() as logs:
        async with running(api) as alone:
            await asyncio.sleep(60)
            assert not alone.leads()
            api.refusal = None
            await asyncio.sleep(2 * AGAIN)
            assert alone.leads()
    [said] = [log for log in logs if "is forbidden" in log.get("error", "")]
    assert "nothing is granted until it is" in said["consequence"]
    for needed in ("kwicket-system", "--namespace", "get, create and update Leases"):
        assert needed in said["consequence"]


async def test_a_mark_that_fails_later_ends_no_work(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RENEW", 1.0)
    async with running(api) as alone:
        await alone.gained()
        api.refusal = "no room"
        with capture_logs() as logs:
            await asyncio.sleep(60)
        assert alone.leads()
    assert [log["consequence"] for log in logs] == ["none: it was left before"]
