"""The elector: one leader at a time, by everybody's own monotonic clock, whatever is lost."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from structlog.testing import capture_logs

from kwicket.kube.elector import LONGEST_LEASE, Elector, Timing
from kwicket.ports.errors import UnavailableError
from kwicket.ports.objects import Changed, Found, Missing, Refused
from support.fakes import FakeClock
from support.objects import FakeObjects

PATH = "/apis/coordination.k8s.io/v1/namespaces/kwicket-system/leases/kwicket"
TIMING = Timing()


class Api(FakeObjects):
    """What all replicas share."""

    @property
    def lease(self) -> dict[str, Any]:
        """The Lease as it is."""
        body: dict[str, Any] = json.loads(self.bodies[PATH])
        return body

    def edit(self, **spec: Any) -> None:
        """Somebody writes the Lease, whatever its version."""
        body = self.lease
        self._put(PATH, body | {"spec": body["spec"] | spec})

    def notes(self) -> list[str]:
        """What the events on the Lease say."""
        bodies = [json.loads(text) for path, text in self.bodies.items() if "/events/" in path]
        return sorted(body["note"] for body in bodies)


class Connection:
    """One replica's way to the API: it may be slow, cut, or lose answers."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.delay = 0.01
        self.cut = False
        self.loses_answers = False
        self.writes = 0

    async def get(self, path: str) -> Found | Missing:
        await self._way()
        return await self.api.get(path)

    async def create(self, path: str, body: dict[str, Any]) -> Found | Changed | Refused:
        await self._way()
        return await self._answered(await self.api.create(path, body))

    async def replace(self, path: str, body: dict[str, Any]) -> Found | Missing | Changed | Refused:
        await self._way()
        self.writes += 1
        return await self._answered(await self.api.replace(path, body))

    async def _way(self) -> None:
        await asyncio.sleep(self.delay)
        if self.cut:
            raise UnavailableError("no route")

    async def _answered[Answer](self, answer: Answer) -> Answer:
        if self.loses_answers:
            await asyncio.Event().wait()
        return answer


class Replica:
    """An elector at work, and when it led."""

    def __init__(self, api: Api, name: str) -> None:
        self.connection = Connection(api)
        self.clock = FakeClock()
        self.elector = Elector(
            self.connection, self.clock, namespace="kwicket-system", identity=name
        )
        self.turns: list[str] = []

    async def run(self) -> None:
        """Campaigns, and notes each change."""
        async with self.elector, asyncio.TaskGroup() as group:
            group.create_task(self.elector.run())
            while True:
                await self.elector.gained()
                self.turns.append("+")
                await self.elector.lost()
                self.turns.append("-")

    @property
    def leads(self) -> bool:
        return self.elector.leads()


@asynccontextmanager
async def running(*replicas: Replica) -> AsyncIterator[list[asyncio.Task[None]]]:
    """Replicas at work for the length of the context."""
    tasks = [asyncio.create_task(replica.run()) for replica in replicas]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def until(true: Callable[[], bool], seconds: float = 120) -> float:
    """The seconds of the loop's time that it took."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - nothing tells when
            await asyncio.sleep(0.01)
    return loop.time() - begun


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def one(api: Api) -> Replica:
    return Replica(api, "one")


@pytest.fixture
def two(api: Api) -> Replica:
    return Replica(api, "two")


async def test_the_first_takes_the_lease_and_the_second_follows(
    api: Api, one: Replica, two: Replica
) -> None:
    async with running(one, two):
        await asyncio.sleep(300)
        assert [one.turns, two.turns].count(["+"]) == 1
        assert one.leads is not two.leads
    spec = api.lease["spec"]
    assert spec["leaseTransitions"] == 0
    assert "holderIdentity" not in spec


async def test_a_lease_says_who_since_when_and_for_how_long(api: Api, one: Replica) -> None:
    async with running(one):
        await asyncio.sleep(61.5)
        spec = api.lease["spec"]
    assert spec["holderIdentity"] == "one"
    assert spec["leaseDurationSeconds"] == 15
    assert spec["acquireTime"] == "1970-01-01T00:16:40.010000Z"
    assert "1970-01-01T00:17:3" in spec["renewTime"] or "1970-01-01T00:17:4" in spec["renewTime"]
    assert api.notes() == ["one leads"]


async def test_a_leader_that_ends_gives_the_lease_back_at_once(
    api: Api, one: Replica, two: Replica
) -> None:
    async with running(one) as [leader]:
        await until(lambda: one.leads)
        async with running(two):
            await asyncio.sleep(20)
            assert not two.leads
            leader.cancel()
            assert await until(lambda: two.leads) < 2
            assert api.lease["spec"]["leaseTransitions"] == 1


async def test_a_leader_that_dies_is_followed_when_its_lease_has_run_out(
    one: Replica, two: Replica
) -> None:
    async with running(one, two):
        await until(lambda: one.leads or two.leads)
        leader, follower = (one, two) if one.leads else (two, one)
        leader.connection.cut = True
        took = await until(lambda: follower.leads)
        assert TIMING.lease - TIMING.renew <= took < TIMING.lease + 5


async def test_a_leader_that_cannot_renew_steps_down_before_anybody_else_leads(
    one: Replica, two: Replica
) -> None:
    async with running(one, two):
        await until(lambda: one.leads or two.leads)
        leader, follower = (one, two) if one.leads else (two, one)
        leader.connection.cut = True
        down = await until(lambda: not leader.leads)
        assert down <= TIMING.deadline
        assert await until(lambda: leader.turns == ["+", "-"]) < 0.1
        assert await until(lambda: follower.leads) > TIMING.lease - TIMING.deadline - TIMING.renew
        leader.connection.cut = False
        await asyncio.sleep(60)
        assert not leader.leads


async def test_an_api_server_away_for_a_moment_changes_no_leader(one: Replica) -> None:
    async with running(one):
        await until(lambda: one.leads)
        for _ in range(10):
            one.connection.cut = True
            await asyncio.sleep(7)
            one.connection.cut = False
            await asyncio.sleep(5)
        assert one.turns == ["+"]


async def test_alone_it_leads_again_as_soon_as_the_api_server_answers(one: Replica) -> None:
    async with running(one):
        await until(lambda: one.leads)
        one.connection.cut = True
        await asyncio.sleep(60)
        assert one.turns == ["+", "-"]
        one.connection.cut = False
        assert await until(lambda: one.leads) < 2


async def test_a_slow_answer_counts_from_when_it_was_asked(one: Replica) -> None:
    """The others have seen the renewal earlier than we have heard of it."""
    one.connection.delay = 1.5
    async with running(one):
        await until(lambda: one.leads)
        one.connection.cut = True
        assert await until(lambda: not one.leads) <= TIMING.deadline - 2 * 1.5


async def test_a_renewal_whose_answer_is_lost_is_read_back(api: Api, one: Replica) -> None:
    async with running(one):
        await until(lambda: one.leads)
        one.connection.loses_answers = True
        await asyncio.sleep(5)
        one.connection.loses_answers = False
        await asyncio.sleep(30)
        assert one.turns == ["+"]
        assert api.lease["spec"]["leaseTransitions"] == 0


async def test_a_lease_got_without_an_answer_is_given_back_all_the_same(
    api: Api, one: Replica
) -> None:
    one.connection.loses_answers = True
    async with running(one):
        await until(lambda: PATH in api.bodies)
        assert not one.leads
        one.connection.loses_answers = False
    assert "holderIdentity" not in api.lease["spec"]


async def test_a_leader_that_sees_another_holder_steps_down_at_once(api: Api, one: Replica) -> None:
    async with running(one):
        await until(lambda: one.leads)
        api.edit(holderIdentity="somebody", renewTime="now")
        assert await until(lambda: not one.leads) < TIMING.renew + 0.1
        took = await until(lambda: one.leads)
        assert TIMING.lease - 0.1 < took < TIMING.lease + 2


async def test_a_lease_that_was_deleted_is_made_anew_by_its_leader(api: Api, one: Replica) -> None:
    async with running(one):
        await until(lambda: one.leads)
        del api.bodies[PATH]
        await asyncio.sleep(3)
        assert api.lease["spec"]["holderIdentity"] == "one"
        assert one.turns == ["+"]


async def test_a_lease_that_was_deleted_and_taken_ends_the_former_leader(
    api: Api, one: Replica, two: Replica
) -> None:
    async with running(one):
        await until(lambda: one.leads)
        one.connection.delay = 1.9
        del api.bodies[PATH]
        async with running(two):
            await until(lambda: two.leads)
            assert await until(lambda: not one.leads) < TIMING.deadline


@pytest.mark.parametrize(
    "spec",
    [
        {"holderIdentity": None},
        {"holderIdentity": 7, "leaseDurationSeconds": "x", "leaseTransitions": "y"},
        {"holderIdentity": "x", "leaseDurationSeconds": 10**9, "renewTime": "no time"},
        {"holderIdentity": "x", "leaseDurationSeconds": -5, "renewTime": None},
    ],
)
async def test_a_lease_full_of_rubbish_blocks_nobody_for_long(
    api: Api, one: Replica, spec: dict[str, Any]
) -> None:
    lease = {"metadata": {"name": "kwicket", "namespace": "kwicket-system"}, "spec": spec}
    await api.create(PATH.rpartition("/")[0], lease)
    async with running(one):
        assert await until(lambda: one.leads) < LONGEST_LEASE + 2


async def test_a_wall_clock_that_jumps_changes_nothing(one: Replica, two: Replica) -> None:
    async with running(one, two):
        await until(lambda: one.leads or two.leads)
        for jump in (3_600_000, -86_400_000, 5):
            one.clock.ahead += jump
            two.clock.ahead -= jump
            await asyncio.sleep(30)
        assert sorted(map(len, (one.turns, two.turns))) == [0, 1]


async def test_a_refusal_is_complained_of_once(api: Api, one: Replica) -> None:
    api.refusal = "leases.coordination.k8s.io is forbidden"
    with capture_logs() as logs:
        async with running(one):
            await asyncio.sleep(60)
    assert not one.leads
    assert sum("is forbidden" in str(log) for log in logs) == 1
