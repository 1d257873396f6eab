"""An operator as a process: the real parts, on the model's network instead of HTTP.

Only what has no place in virtual time is left out: kopf (what it would say is said as it comes),
probes, the policies' watch, and events. A process that is killed never runs again; its tasks are
ended when the history is over, and its requests that are on their way arrive.
"""

import asyncio
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any

import msgspec
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
from kwicket.kube.elector import Elector, Timing
from kwicket.kube.metrics.counters import OperatorCounters
from kwicket.kube.reflector import Reflector, Resource, Sink
from kwicket.kube.statuses import Statuses
from kwicket.ledgers import Ledgers
from kwicket.ports.enforcement import IN_FORCE
from kwicket.ports.errors import UnavailableError
from kwicket.ports.notices import Condition, Notice, PoolFigures
from support.leadership import Unopposed

KINDS = {"pools": "Pool", "lanes": "Lane", "limits": "Limit"}
TIMING = Timing(lease=15, deadline=10, renew=3, look=2, answer=4)


class Clock:
    """The loop's time; wall time is what its host believes."""

    def __init__(self, start: int, ahead: int) -> None:
        self.ahead = ahead
        self.rate = 1.0
        """How fast the monotonic clock runs. Timers keep the loop's time."""
        self._start = start
        self._loop = asyncio.get_running_loop()

    def now(self) -> int:
        return self._start + self.ahead + int(self._loop.time() * 1000)

    def monotonic(self) -> float:
        return self._loop.time() * self.rate


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


class Metrics(OperatorCounters):
    """No audit may find a book that is wrong: an operator that finds one dies, and is told of.

    Unless its memory was made to go wrong.
    """

    def __init__(self) -> None:
        super().__init__(CollectorRegistry())
        self.flips = 0
        """Of how many books it may find so."""

    def corrected(self, pool: str, number: int) -> None:
        self.flips -= 1
        if self.flips >= 0:
            return
        raise AssertionError(f"the book of {pool} was wrong in {number} places")


class _Access(Access):
    """Nobody asks who we are."""

    def __init__(self) -> None:
        super().__init__(Configuration(host=""))

    async def headers(self) -> dict[str, str]:
        return {}


class Remembering[Wire, Value](Reflector[Wire, Value]):
    """Reads each object once, however often it is listed: what is read depends on nothing else."""

    def __init__(
        self, client: Client, resource: Resource[Wire, Value], read: dict[bytes, Any]
    ) -> None:
        """`read` has what objects of this history were read as."""
        super().__init__(client, resource)
        self._read = read

    def _value(self, raw: msgspec.Raw) -> Value | None:
        text = self._resource.path.encode() + bytes(raw)
        value: Value | None = self._read.get(text)
        if value is None:
            value = self._read[text] = super()._value(raw)
        return value


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
        join: Callable[[Client], Ledgers],
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
        self._join = join
        self._due = 0.0
        self._metrics = Metrics()
        loop = asyncio.get_running_loop()
        self.task = loop.create_task(self._work(), context=self.context)

    async def _work(self) -> None:
        """As kwicket.app does it."""
        access, session = _access(), Session(self.link)
        elector = self._elector(Client(access, session))  # type: ignore[arg-type]
        client = Client(access, session, elector.leads)  # type: ignore[arg-type]
        statuses = Statuses(client, self.clock)
        read = self.link.server.store.read
        jobs, pods = Remembering(client, JOBS, read), Remembering(client, PODS, read)
        namespaces = Remembering(client, NAMESPACES, read)
        nodes = Remembering(client, NODES, read)
        found = self._join(client)
        async with elector, asyncio.TaskGroup() as group:
            engine = Engine(
                ledger=found.ledger,
                cluster=KubernetesCluster(client, jobs, pods),
                notices=Notices(statuses, lambda notice: self._told(self.name, notice)),
                clock=found.clock,
                leadership=elector,
                metrics=self._metrics,
                spawn=group.create_task,
                sharing=found.sharing,
            )
            self.engine = engine
            for chore in found.chores:
                group.create_task(chore(engine.rung))
            declarations = Declarations(
                client, statuses, engine.declare, engine.registry.saw_status, elector
            )
            engine.start()
            engine.enforce(IN_FORCE)
            await _loaded(declarations)
            self.declarations = declarations
            group.create_task(declarations.run())
            of_namespaces = Sink(engine.saw_namespace, lambda g: engine.lost_namespace(g.name))
            group.create_task(namespaces.run(of_namespaces))
            group.create_task(nodes.run(Sink(engine.saw_node, lambda g: engine.lost_node(g.name))))
            foreseen = engine.lists.foresee(engine.registry.desks())
            await asyncio.gather(namespaces.synced.wait(), nodes.synced.wait(), foreseen)
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

    def flip(self, jobs: int) -> None:
        """Each book's pool counts so many Jobs more than hold a slot."""
        for desk in self.engine.registry.desks() if self.engine else ():
            scopes = desk.book.in_line.scopes
            scopes.pool.jobs += jobs
            scopes.mind(scopes.pool)
            self._metrics.flips += 1

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
