"""Parting: takes this cluster out of pools that clusters share and that are declared here no more.

What runs on holds its slots until it ends. Nobody hears signs of life of it meanwhile, so that an
administrator may have it forgotten, as any cluster that is silent.
"""

import asyncio
from collections.abc import Iterable, Iterator

import structlog

from kwicket.core.jobs import JobSeen
from kwicket.core.leases import Lease
from kwicket.core.release import Holds, Lapsed
from kwicket.engine.census import Census
from kwicket.engine.desk import Desk
from kwicket.engine.intake import lease_of
from kwicket.engine.leases import Leases
from kwicket.engine.sent import LONGEST_WAY
from kwicket.engine.sharing import Sharing
from kwicket.engine.tasks import Spawn
from kwicket.ports.backlog import Backlog, Freed, News
from kwicket.ports.clock import Clock
from kwicket.ports.cluster import Cluster
from kwicket.ports.errors import UnavailableError

EVERY = 30.0
"""Seconds between two looks at what still runs."""

_log = structlog.get_logger(__name__)


class Parting:
    """Of all pools, while this replica leads; one task for each that is parted from."""

    def __init__(
        self,
        backlog: Backlog,
        cluster: Cluster,
        census: Census,
        leases: Leases,
        clock: Clock,
        spawn: Spawn,
    ) -> None:
        self._backlog = backlog
        self._cluster = cluster
        self._census = census
        self._leases = leases
        self._clock = clock
        self._spawn = spawn
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._declared: set[str] = set()

    def begin(self, declared: Iterable[str]) -> None:
        """Parts from the pools that were deleted before; the tasks of a former term have ended."""
        self._tasks.clear()
        self._declared = set(declared)
        self._spawn(self._look(), name="part")

    def part(self, desk: Desk) -> None:
        """A pool is declared no more; its tasks have ended."""
        self._declared.discard(desk.name)
        told = () if desk.share is None else desk.share.waiting_here()
        self._start(desk.name, News(left=told), desk.book.version)

    def stay(self, pool: str) -> None:
        """The pool is declared, or is so again."""
        self._declared.add(pool)
        self._end(pool)

    def _end(self, pool: str) -> None:
        task = self._tasks.pop(pool, None)
        if task is not None:
            task.cancel()

    def _start(self, pool: str, last: News, highest: int) -> None:
        self._end(pool)
        work = self._part(pool, last, highest)
        self._tasks[pool] = self._spawn(work, name=f"part {pool}")

    async def _look(self) -> None:
        while True:
            try:
                shared = await self._backlog.shared()
            except UnavailableError:
                await asyncio.sleep(EVERY)
                continue
            for pool in set(shared) - self._declared - self._tasks.keys():
                self._start(pool, News(), 0)
            return

    async def _part(self, pool: str, last: News, highest: int) -> None:
        """Has nothing wait there any more at once, and leaves when no start is on its way."""
        if last.left:
            try:
                await self._backlog.tell(pool, last, highest)
            except UnavailableError as error:
                _log.warning("nothing was told", pool=pool, error=str(error))
        await asyncio.sleep(LONGEST_WAY)
        joined = False
        while True:
            try:
                joined = await self._tell(pool, joined)
                if not joined or await self._backlog.leave(pool):
                    _log.info("parted", pool=pool)
                    return
            except UnavailableError as error:
                _log.warning("not parted", pool=pool, error=str(error))
                joined = False
            except ValueError as error:
                _log.warning("not parted", pool=pool, error=str(error))
                return
            await asyncio.sleep(EVERY)

    async def _tell(self, pool: str, joined: bool) -> bool:
        """Tells what still runs; False if this cluster shares the pool no more.

        It joins once only: each time is a sign of life.
        """
        if pool not in await self._backlog.shared():
            return False
        if not joined:
            await self._backlog.join(pool, "")
        await self._cluster.relist()
        now = self._clock.now()
        over = (Freed(lease_of(job), job.finished or now) for job in self._granted(pool))
        here = News(running=tuple(self._running(pool)), over=tuple(over))
        await self._backlog.tell_all(pool, here, 0)
        return True

    def _granted(self, pool: str) -> Iterator[JobSeen]:
        """The Jobs that are there and carry a grant of the pool."""
        for job in self._census.jobs():
            if job.granted_pool == pool and job.token is not None:
                yield job

    def _running(self, pool: str) -> Iterator[Lease]:
        """What holds a slot, by a complete list of Jobs and pods."""
        granted = {job.uid: job for job in self._granted(pool)}
        for uid in self._census.submissions():
            job, pods = self._census.job(uid), self._census.pods(uid)
            if not isinstance(self._leases.judge(job, uid, pods), Holds | Lapsed):
                continue
            live = [pod for pod in pods if pod.live and pod.pool == pool and pod.token is not None]
            if uid in granted:
                yield lease_of(granted[uid])
            elif job is None and live:
                pod, name = live[0], f"{live[0].namespace}/{live[0].name}"
                yield Lease(uid, name, pod.tenant, pod.lane, len(live), pod.token or 0)


def parting_with(
    sharing: Sharing | None,
    cluster: Cluster,
    census: Census,
    leases: Leases,
    clock: Clock,
    spawn: Spawn,
) -> Parting | None:
    """None where nothing is shared."""
    if sharing is None:
        return None
    return Parting(sharing.backlog, cluster, census, leases, clock, spawn)
