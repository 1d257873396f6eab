"""Fakes of the ports: an API server in memory, the connections of replicas to it, and notices."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from kwicket.core.jobs import JobSeen, NodeSeen, PodSeen
from kwicket.core.pools import Shown
from kwicket.core.reasons import Reason
from kwicket.core.state import State
from kwicket.engine.engine import Engine
from kwicket.ports.cluster import Denied, Gone, Order, Replaced, Stale, Started, Stopped
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Conflict, Page
from kwicket.ports.notices import Condition, Notice, PoolFigures
from kwicket_storage.memory import MemoryLedger
from support.builders import START

type Watcher = Callable[[str, Any], None]


class FakeClock:
    """The loop's time; wall time can be set apart from it."""

    def __init__(self, now: int = START) -> None:
        self.ahead = now

    def now(self) -> int:
        return self.ahead + round(self.monotonic() * 1000)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


class FakeLeadership:
    """Leads when a test says so."""

    def __init__(self, leads: bool = True) -> None:
        self._gained, self._lost = asyncio.Event(), asyncio.Event()
        self.lead() if leads else self.follow()

    def lead(self) -> None:
        """From now on it leads."""
        self._lost.clear()
        self._gained.set()

    def follow(self) -> None:
        """From now on it follows."""
        self._gained.clear()
        self._lost.set()

    def leads(self) -> bool:
        return self._gained.is_set()

    async def gained(self) -> None:
        await self._gained.wait()

    async def lost(self) -> None:
        await self._lost.wait()


class FakeNotices:
    """Keeps all that was told; a Pool's status shows its token."""

    def __init__(self, shows: Callable[[str, int], None] = lambda *_: None) -> None:
        self._shows = shows
        self.told: list[Notice] = []
        self.pools: dict[str, tuple[PoolFigures, tuple[Condition, ...]]] = {}
        self.shown: dict[tuple[str, str], tuple[Condition, ...]] = {}

    def tell(self, notice: Notice) -> None:
        self.told.append(notice)

    async def show_pool(
        self, name: str, figures: PoolFigures, conditions: tuple[Condition, ...]
    ) -> None:
        self.pools[name] = figures, conditions
        if figures.token is not None:
            self._shows(name, figures.token)

    async def show(self, kind: str, name: str, conditions: tuple[Condition, ...]) -> None:
        self.shown[kind, name] = conditions

    def of(self, reason: Reason) -> list[Notice]:
        """The notices with this reason."""
        return [notice for notice in self.told if notice.reason is reason]


class FakeApi:
    """The API server: Jobs and pods with resourceVersions, and what may go wrong on demand."""

    def __init__(self) -> None:
        self.jobs: dict[str, JobSeen] = {}
        self.pods: dict[str, PodSeen] = {}
        self.nodes: dict[str, NodeSeen] = {}
        self.statuses: dict[str, Shown] = {}
        """What Pools show of their tokens."""
        self.orders: list[Order] = []
        """Every write of a grant that reached it, whatever became of it."""
        self.written: list[Order] = []
        """Those of them that were applied."""
        self.stops: list[str] = []
        """The UIDs of the Jobs that somebody tried to suspend."""
        self.reachable = asyncio.Event()
        """While clear, writes of grants hang."""
        self.reachable.set()
        self.down = False
        """Whether neither reads nor writes of Jobs are answered."""
        self.lose: deque[str] = deque()
        """What becomes of the next writes' answers: `after` or `before` they are applied."""
        self.latency = 0.01
        """Seconds of the loop's time until an answer is there."""
        self.in_flight = 0
        self.most_in_flight = 0
        self.denied: dict[str, str] = {}
        """Names of Jobs that may not start, and why."""
        self.watchers: list[Watcher] = []
        self._version = 10

    @property
    def version(self) -> int:
        """Of the last change."""
        return self._version

    def restore(self, backup: "Backup", *, bump: int = 0) -> None:
        """Goes back to a backup; no watch tells. With `bump`, only objects look older, no list."""
        self.jobs, self.pods = dict(backup.jobs), dict(backup.pods)
        self.statuses = dict(backup.statuses)
        self._version = backup.version + bump

    def create(self, *jobs: JobSeen) -> None:
        """Makes Jobs, as they are."""
        for job in jobs:
            self._put(job)

    def change(self, uid: str, **fields: Any) -> JobSeen:
        """Changes a Job."""
        return self._put(replace(self.jobs[uid], **fields))

    def delete(self, uid: str) -> None:
        """Removes a Job; its pods stay."""
        job = self.jobs.pop(uid)
        self._tell("lost_job", job.uid)

    def run(self, *pods: PodSeen) -> None:
        """Makes pods, or changes them."""
        for pod in pods:
            self.pods[pod.uid] = pod
            self._tell("saw_pod", pod)

    def show(self, pool: str, token: int) -> None:
        """Writes a token in a Pool's status."""
        known = self.statuses.get(pool, Shown(f"uid of {pool}"))
        self.statuses[pool] = replace(known, token=token)
        self._tell("saw_status", (pool, self.statuses[pool]))

    def node(self, name: str, *, silent: bool = False) -> None:
        """Makes a node, or has it fall silent or come back."""
        self.nodes[name] = NodeSeen(name, silent)
        self._tell("saw_node", self.nodes[name])

    def drop_node(self, name: str) -> None:
        """Removes a node; its pods stay."""
        del self.nodes[name]
        self._tell("lost_node", name)

    def remove(self, pod: str) -> None:
        """Removes a pod."""
        self._tell("lost_pod", self.pods.pop(pod))

    def start(self, order: Order) -> Started | Stale | Gone | Denied:
        """What the API server and the policies make of a grant."""
        self.orders.append(order)
        stored = self.jobs.get(order.job.uid)
        if stored is None:
            return Gone()
        if stored.version != order.job.version:
            return Stale()
        if stored.name in self.denied:
            return Denied(self.denied[stored.name])
        if stored.token is not None and stored.token >= order.token:
            return Denied(f"token {order.token} is not higher than {stored.token}")
        self.written.append(order)
        deliveries = stored.deliveries + 1
        return Started(
            self.change(
                stored.uid,
                suspended=False,
                token=order.token,
                granted_pool=order.pool,
                deliveries=deliveries,
                suspended_by="",
                beside=order.beside,
            )
        )

    def stop(self, job: JobSeen, deliveries: int) -> Stopped | Stale | Gone | Denied:
        """What the API server makes of the suspension of a Job."""
        self.stops.append(job.uid)
        stored = self.jobs.get(job.uid)
        if stored is None:
            return Gone()
        if stored.version != job.version:
            return Stale()
        if stored.name in self.denied:
            return Denied(self.denied[stored.name])
        stopped = self.change(job.uid, suspended=True, settled=False, deliveries=deliveries)
        return Stopped(stopped)

    def replace_late(self, job: JobSeen) -> Replaced | Stale | Gone | Denied:
        """What the API server makes of a Job whose pods are to be replaced late."""
        stored = self.jobs.get(job.uid)
        if stored is None:
            return Gone()
        if stored.version != job.version:
            return Stale()
        if stored.name in self.denied:
            return Denied(self.denied[stored.name])
        return Replaced(self.change(stored.uid, beside=False))

    def _put(self, job: JobSeen) -> JobSeen:
        self._version += 1
        job = self.jobs[job.uid] = replace(job, version=str(self._version))
        self._tell("saw_job", job)
        return job

    def _tell(self, kind: str, what: Any) -> None:
        for watcher in self.watchers:
            watcher(kind, what)


class Backup:
    """An API server in memory as it was at one moment."""

    def __init__(self, api: FakeApi) -> None:
        self.jobs, self.pods, self.version = dict(api.jobs), dict(api.pods), api.version
        self.statuses = dict(api.statuses)


class FakeCluster:
    """One replica's connection: the port Cluster, and the watches that feed its engine."""

    def __init__(self, api: FakeApi) -> None:
        self.api = api
        self.engine: Engine | None = None
        self.deaf: set[str] = set()
        """Events that its watches hold back: `saw_job`, `lost_job`, `saw_pod`, `lost_pod`."""
        self.listing: Callable[[], None] | None = None
        """Runs while the next live list of pods is on its way back."""
        self.relists = 0
        self.first = asyncio.Event()
        """Set after the first list."""
        self._reached = 0
        self._news: deque[tuple[str, Any]] = deque()
        self._known: tuple[set[str], dict[str, PodSeen]] = (set(), {})
        api.watchers.append(self._hear)

    async def start(self, order: Order) -> Started | Stale | Gone | Denied:
        self.api.in_flight += 1
        self.api.most_in_flight = max(self.api.in_flight, self.api.most_in_flight)
        try:
            return await self._start(order)
        finally:
            self.api.in_flight -= 1

    async def _start(self, order: Order) -> Started | Stale | Gone | Denied:
        await self.api.reachable.wait()
        self._refuse_if_down()
        fate = self.api.lose.popleft() if self.api.lose else ""
        if fate == "before":
            raise UnavailableError("no answer")
        answer = self.api.start(order)
        await asyncio.sleep(self.api.latency)
        if fate == "after":
            raise UnavailableError("no answer")
        return answer

    def _refuse_if_down(self) -> None:
        if self.api.down:
            raise UnavailableError("connection refused")

    async def replace_late(self, job: JobSeen) -> Replaced | Stale | Gone | Denied:
        fate = self.api.lose.popleft() if self.api.lose else ""
        answer = self.api.replace_late(job)
        await asyncio.sleep(self.api.latency)
        if fate:
            raise UnavailableError("no answer")
        return answer

    async def stop(self, job: JobSeen, deliveries: int) -> Stopped | Stale | Gone | Denied:
        fate = self.api.lose.popleft() if self.api.lose else ""
        if fate == "before":
            raise UnavailableError("no answer")
        answer = self.api.stop(job, deliveries)
        await asyncio.sleep(self.api.latency)
        if fate == "after":
            raise UnavailableError("no answer")
        return answer

    async def look(self, namespace: str, name: str) -> JobSeen | None:
        self._refuse_if_down()
        await asyncio.sleep(self.api.latency)
        named = (j for j in self.api.jobs.values() if (j.namespace, j.name) == (namespace, name))
        return next(named, None)

    async def pods(self, namespace: str, job_uid: str) -> tuple[PodSeen, ...]:
        listed = tuple(p for p in self.api.pods.values() if p.job_uid == job_uid)
        listing, self.listing = self.listing, None
        if listing is not None:
            listing()
        await asyncio.sleep(self.api.latency)
        return listed

    async def alive(self, node: str) -> bool:
        await asyncio.sleep(self.api.latency)
        return node in self.api.nodes and not self.api.nodes[node].silent

    async def shown(self, pool: str) -> Shown:
        self._refuse_if_down()
        await asyncio.sleep(self.api.latency)
        return self.api.statuses.get(pool, Shown(f"uid of {pool}"))

    async def listed(self) -> None:
        await self.first.wait()

    async def relist(self) -> None:
        """Everything is delivered, and what has vanished is lost, as a reflector does it."""
        self.relists += 1
        await asyncio.sleep(self.api.latency)
        self._news.clear()
        jobs, pods = self._known
        for uid in jobs - self.api.jobs.keys():
            self._deliver("lost_job", uid)
        for gone in pods.keys() - self.api.pods.keys():
            self._deliver("lost_pod", pods[gone])
        version, before = self.api.version, self._reached
        self._reached = version
        if version < before and self.engine is not None:
            self.engine.went_back()
        for job in list(self.api.jobs.values()):
            self._known[0].add(job.uid)
            if self.engine is not None:
                self.engine.listed_job(job, version)
        for pod in list(self.api.pods.values()):
            self._deliver("saw_pod", pod)
        self.first.set()

    def close(self) -> None:
        """The replica is gone; nothing is delivered any more."""
        self.api.watchers.remove(self._hear)
        self.engine = None

    def _hear(self, kind: str, what: Any) -> None:
        self._news.append((kind, what))
        asyncio.get_running_loop().call_later(0.001, self._flush)

    def _flush(self) -> None:
        held_back = deque(news for news in self._news if news[0] in self.deaf)
        due = [news for news in self._news if news[0] not in self.deaf]
        self._news = held_back
        for kind, what in due:
            self._deliver(kind, what)

    def _deliver(self, kind: str, what: Any) -> None:
        jobs, pods = self._known
        match kind:
            case "saw_job":
                jobs.add(what.uid)
            case "lost_job":
                jobs.discard(what)
            case "saw_pod":
                pods[what.uid] = what
            case "lost_pod":
                pods.pop(what.uid, None)
        if self.engine is not None and kind == "saw_status":
            self.engine.registry.saw_status(*what)
        elif self.engine is not None:
            getattr(self.engine, kind)(what)


class FlakyLedger:
    """A ledger in memory whose answers to commits may be lost, before or after they are kept."""

    def __init__(self, kept: MemoryLedger) -> None:
        self.kept = kept
        self.lose: deque[str] = deque()
        self.down = False
        self.answering = asyncio.Event()
        """While clear, commits are kept and their answers held back."""
        self.answering.set()
        self.commits = 0

    async def read(self, pool: str) -> Page | None:
        if self.down:
            raise UnavailableError("the ledger is down")
        return await self.kept.read(pool)

    async def open(self, pool: str, state: State) -> Page | Conflict:
        return await self.kept.open(pool, state)

    async def commit(self, page: Page, state: State) -> Page | Conflict:
        self.commits += 1
        fate = self.lose.popleft() if self.lose else ""
        if self.down or fate == "before":
            raise UnavailableError("the ledger is down")
        answer = await self.kept.commit(page, state)
        await asyncio.sleep(0.001)
        await self.answering.wait()
        if fate == "after":
            raise UnavailableError("no answer")
        return answer
