"""A world for the engine: replicas that start and crash, on one ledger and one API server."""

import asyncio
from collections.abc import Callable

from prometheus_client import CollectorRegistry

from kwicket.core.catalog import Catalog
from kwicket.core.jobs import JobSeen, NamespaceSeen
from kwicket.core.state import State
from kwicket.engine.engine import Engine
from kwicket.engine.sharing import Sharing
from kwicket.kube.metrics import gauges
from kwicket.kube.metrics.counters import OperatorCounters
from kwicket.ports.enforcement import IN_FORCE, Enforcement
from kwicket.ports.ledger import Ledger
from kwicket_storage.memory import MemoryLedger
from support.builders import catalog, jobs, namespace_seen, pool
from support.fakes import FakeApi, FakeClock, FakeCluster, FakeLeadership, FakeNotices

MOMENT = 0.2
"""Seconds of the loop's time in which everything that nobody keeps waiting has happened."""


class Replica:
    """One engine at work."""

    def __init__(self, world: "World", ledger: Ledger, leads: bool) -> None:
        self.cluster = FakeCluster(world.api)
        self.notices = FakeNotices(world.api.show)
        self.registry = CollectorRegistry()
        self.metrics = OperatorCounters(self.registry)
        self.leadership = FakeLeadership(leads)
        self._world = world
        self._ledger = ledger
        self.engine: Engine
        self.task = asyncio.create_task(self._work())

    async def _work(self) -> None:
        async with asyncio.TaskGroup() as group:
            self.engine = self.cluster.engine = Engine(
                ledger=self._ledger,
                cluster=self.cluster,
                notices=self.notices,
                clock=self._world.clock,
                leadership=self.leadership,
                metrics=self.metrics,
                spawn=group.create_task,
                sharing=self._world.sharing(),
            )
            self._world.begun(self.engine)
            self.registry.register(gauges.of_engine(self.engine.readings.read))
            self.engine.start()
            self.engine.enforce(self._world.enforcement)
            self.engine.declare(self._world.catalog)
            for namespace in self._world.namespaces:
                self.engine.saw_namespace(namespace)
            for node in self._world.api.nodes.values():
                self.engine.saw_node(node)
            await self.engine.lists.foresee(self.engine.registry.desks())
            await self.cluster.relist()
            await asyncio.Event().wait()

    def number(self, metric: str, **labels: str) -> float | None:
        """A number of a metric as Prometheus would read it now; None if it is not shown."""
        return self.registry.get_sample_value(metric, labels)

    async def crash(self) -> None:
        """Ends between two awaits, whatever is under way."""
        self.task.cancel()
        await asyncio.wait([self.task])
        self.cluster.close()


class World:
    """One slot in pool `pool`, namespace `team`, unless told otherwise."""

    def __init__(self) -> None:
        self.ledger = MemoryLedger()
        self.api = FakeApi()
        self.clock = FakeClock()
        self.enforcement = IN_FORCE
        self.catalog: Catalog = catalog(pool(), jobs(1))
        self.namespaces: list[NamespaceSeen] = [namespace_seen()]
        self.replicas: list[Replica] = []

    def sharing(self) -> Sharing | None:
        """What joins a replica to other clusters."""
        return None

    def begun(self, engine: Engine) -> None:
        """An engine was made."""

    def shelf(self) -> Ledger:
        """What replicas have as their ledger."""
        return self.ledger

    async def replica(self, ledger: Ledger | None = None, *, leads: bool = True) -> Replica:
        """Starts an operator, and lets it take over, or follow."""
        made = Replica(self, ledger or self.shelf(), leads)
        self.replicas.append(made)
        await self.moment()
        return made

    async def declare(self, declared: Catalog) -> None:
        """Changes what administrators have declared."""
        self.catalog = declared
        for replica in self.replicas:
            if not replica.task.done():
                replica.engine.declare(declared)
        await self.moment()

    async def enforce(self, enforcement: Enforcement) -> None:
        """Changes what is known of the policies."""
        self.enforcement = enforcement
        for replica in self.replicas:
            if not replica.task.done():
                replica.engine.enforce(enforcement)
        await self.moment()

    async def moment(self, seconds: float = MOMENT) -> None:
        """Lets time pass. Raises what an engine died of."""
        await asyncio.sleep(seconds)
        for replica in self.replicas:
            if replica.task.done() and not replica.task.cancelled():
                replica.task.result()

    async def until(self, true: Callable[[], bool], seconds: float = 120) -> None:
        """Lets time pass until it is so."""
        async with asyncio.timeout(seconds):
            while not true():
                await self.moment(0.01)

    async def page(self) -> State:
        """What the ledger says of `pool`."""
        page = await self.shelf().read("pool")
        assert page is not None
        return page.state

    def job(self, uid: str) -> JobSeen:
        """The Job as the API server has it."""
        return self.api.jobs[uid]

    def started(self) -> list[str]:
        """The Jobs that run, by name, in the order of their tokens."""
        running = [j for j in self.api.jobs.values() if not (j.suspended or j.ended)]
        return [job.name for job in sorted(running, key=lambda job: job.token or 0)]

    async def close(self) -> None:
        """Ends all replicas."""
        for replica in self.replicas:
            if not replica.task.done():
                await replica.crash()
