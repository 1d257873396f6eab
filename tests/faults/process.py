"""An operator as a process: the real parts, on the model's network instead of HTTP.

Only what has no place in virtual time is left out: kopf (what it would say is said as it comes),
probes, the policies' watch, and events. A process that is killed never runs again; its tasks are
ended when the history is over, and its requests that are on their way arrive.
"""

import asyncio
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any

from kubernetes_asyncio.client import Configuration
from prometheus_client import CollectorRegistry

from faults.loop import PROCESS
from faults.network import Link
from faults.session import Session
from kwicket.engine.engine import Engine
from kwicket.kube.access import Access
from kwicket.kube.client import Client
from kwicket.kube.cluster import JOBS, NAMESPACES, NODES, PODS, KubernetesCluster
from kwicket.kube.declarations import Declarations
from kwicket.kube.elector import Elector, Timing, Unopposed
from kwicket.kube.metrics.counters import OperatorCounters
from kwicket.kube.reflector import Reflector, Sink
from kwicket.kube.statuses import Statuses
from kwicket.ports.enforcement import IN_FORCE
from kwicket.ports.errors import UnavailableError
from kwicket.ports.notices import Condition, Notice, PoolFigures
from kwicket_storage.kubernetes import KubernetesLedger

KINDS = {"pools": "Pool", "lanes": "Lane", "limits": "Limit"}
TIMING = Timing(lease=15, deadline=10, renew=3, look=2, answer=4)


class Clock:
    """The loop's time; wall time is what its host believes."""

    def __init__(self, start: int, ahead: int) -> None:
        self.ahead = ahead
        self._start = start
        self._loop = asyncio.get_running_loop()

    def now(self) -> int:
        return self._start + self.ahead + int(self._loop.time() * 1000)

    def monotonic(self) -> float:
        return self._loop.time()


class Notices:
    """Statuses as they are, and events as a record."""

    def __init__(self, statuses: Statuses, told: Callable[[Notice], None]) -> None:
        self._statuses = statuses
        self.tell = told

    async def show_pool(
        self, name: str, figures: PoolFigures, conditions: tuple[Condition, ...]
    ) -> None:
        await self._statuses.show_pool(name, figures, conditions)

    async def show(self, kind: str, name: str, conditions: tuple[Condition, ...]) -> None:
        await self._statuses.show(kind, name, conditions)


class _Access(Access):
    """Nobody asks who we are."""

    def __init__(self) -> None:
        super().__init__(Configuration(host=""))

    async def headers(self) -> dict[str, str]:
        return {}


class Process:
    """One life of an operator."""

    def __init__(
        self,
        name: str,
        *,
        link: Link,
        clock: Clock,
        elects: bool,
        told: Callable[[str, Notice], None],
    ) -> None:
        self.name = name
        self.link = link
        self.clock = clock
        self.declarations: Declarations | None = None
        self.engine: Engine | None = None
        self.context: Context = copy_context()
        self.context.run(PROCESS.set, name)
        self._elects = elects
        self._told = told
        self._due = 0.0
        loop = asyncio.get_running_loop()
        self.task = loop.create_task(self._work(), context=self.context)

    async def _work(self) -> None:
        """As kwicket.app does it."""
        access, session = _access(), Session(self.link)
        elector = self._elector(Client(access, session))  # type: ignore[arg-type]
        client = Client(access, session, elector.leads)  # type: ignore[arg-type]
        statuses = Statuses(client)
        jobs, pods = Reflector(client, JOBS), Reflector(client, PODS)
        namespaces, nodes = Reflector(client, NAMESPACES), Reflector(client, NODES)
        async with elector, asyncio.TaskGroup() as group:
            engine = Engine(
                ledger=KubernetesLedger(client),
                cluster=KubernetesCluster(client, jobs, pods),
                notices=Notices(statuses, lambda notice: self._told(self.name, notice)),
                clock=self.clock,
                leadership=elector,
                metrics=OperatorCounters(CollectorRegistry()),
                spawn=group.create_task,
            )
            self.engine = engine
            declarations = Declarations(
                client, statuses, engine.declare, engine.registry.saw_token, elector
            )
            engine.start()
            engine.enforce(IN_FORCE)
            await _loaded(declarations)
            self.declarations = declarations
            group.create_task(declarations.run())
            of_namespaces = Sink(engine.saw_namespace, lambda g: engine.lost_namespace(g.name))
            group.create_task(namespaces.run(of_namespaces))
            group.create_task(nodes.run(Sink(engine.saw_node, lambda g: engine.lost_node(g.name))))
            await asyncio.gather(namespaces.synced.wait(), nodes.synced.wait())
            group.create_task(
                jobs.run(Sink(engine.saw_job, lambda gone: engine.lost_job(gone.uid)))
            )
            group.create_task(pods.run(Sink(engine.saw_pod, engine.lost_pod)))
            await asyncio.gather(jobs.synced.wait(), pods.synced.wait())
            group.create_task(elector.run())
            await asyncio.Event().wait()

    def _elector(self, client: Client) -> Elector | Unopposed:
        if not self._elects:
            return Unopposed()
        return Elector(
            client, self.clock, namespace="kwicket-system", identity=self.name, timing=TIMING
        )

    def hint(self, kind: str, key: str, body: Any, version: int) -> None:
        """Tells it of a declared object, in order, as kopf would."""
        loop = asyncio.get_running_loop()
        seconds = self.link.way() + self.link.trouble.lag
        self._due = max(self._due + 1e-6, loop.time() + seconds)
        arguments = KINDS[kind.rpartition("/")[2]], key, body, version
        loop.call_at(self._due, self._hear, *arguments, context=self.context)

    def _hear(self, kind: str, name: str, body: Any, version: int) -> None:
        if self.declarations is None:
            return
        self.link.heard = max(self.link.heard, version)
        if body is None:
            self.declarations.gone(kind, name)
        else:
            self.declarations.seen(kind, body)


_ACCESS: list[Access] = []


def _access() -> Access:
    """Made once: it looks for certificates."""
    if not _ACCESS:
        _ACCESS.append(_Access())
    return _ACCESS[0]


async def _loaded(declarations: Declarations) -> None:
    while True:
        try:
            return await declarations.load()
        except UnavailableError as error:
            await asyncio.sleep(max(error.retry_after, 0.5))
