"""Strays: managed Jobs that run without a grant. They are suspended, counted and told so.

They come from a time without enforcement, or slipped through while it began. A token that their
pool has not given is no grant. While the policies are not in force nobody is suspended: an
administrator may have switched them off on purpose.
"""

import asyncio

import structlog

from kwicket.core.jobs import JobSeen
from kwicket.core.reasons import Reason, sentence
from kwicket.core.release import Stray
from kwicket.engine.backoff import Backoff
from kwicket.engine.census import Census
from kwicket.engine.intake import Intake
from kwicket.engine.permit import Permit
from kwicket.engine.tasks import Spawn
from kwicket.ports.cluster import Cluster, Denied, Gone, Stale, Stopped
from kwicket.ports.errors import UnavailableError
from kwicket.ports.leadership import Leadership
from kwicket.ports.ledger import Ledger
from kwicket.ports.metrics import Metrics
from kwicket.ports.notices import Notice, Notices

FIRST, LONGEST = 10.0, 600.0
"""Seconds before a Job that runs again is suspended again, doubling: somebody else starts it."""

_log = structlog.get_logger(__name__)


class Strays:
    """Suspends each stray by one task at a time; the first time at once."""

    def __init__(
        self,
        *,
        census: Census,
        intake: Intake,
        permit: Permit,
        cluster: Cluster,
        ledger: Ledger,
        notices: Notices,
        leadership: Leadership,
        metrics: Metrics,
        spawn: Spawn,
    ) -> None:
        self._census = census
        self._intake = intake
        self._permit = permit
        self._cluster = cluster
        self._ledger = ledger
        self._notices = notices
        self._leadership = leadership
        self._metrics = metrics
        self._spawn = spawn
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._waits: dict[str, Backoff] = {}

    def demand(self, job: JobSeen) -> bool:
        """Asks for a Job to be suspended; False if it must not be at the moment."""
        if not (self._permit.open and self._leadership.leads()):
            return False
        task = self._tasks.get(job.uid)
        if task is None or task.done():
            self._tasks[job.uid] = self._spawn(self._work(job.uid), name=f"stop {job.job}")
        return True

    def forget(self, uid: str) -> None:
        """Nothing is kept of a Job that has ended."""
        self._waits.pop(uid, None)
        self._tasks.pop(uid, None)

    async def _work(self, uid: str) -> None:
        """Returns when the Job runs no more without a grant, or may go on doing so."""
        while self._stray(uid) is not None:
            if uid in self._waits:
                await self._waits[uid].sleep()
            self._waits.setdefault(uid, Backoff(FIRST, LONGEST))
            await self._stop(uid)
        self._intake.consider(uid)

    async def _stop(self, uid: str) -> None:
        """Returns after one write that was answered, or when there is nothing to stop.

        Its count of deliveries says whether a write that was not answered was applied.
        """
        backoff, before = Backoff(), self._census.job(uid)
        while (job := self._stray(uid)) is not None:
            try:
                if await self._attempt(job):
                    break
                await backoff.sleep()
            except UnavailableError as error:
                _log.warning("suspension unanswered", job=job.job, error=str(error))
                await backoff.sleep(error.retry_after)
        after = self._census.job(uid)
        if before and after and after.deliveries > before.deliveries:
            self._note(after)

    def _stray(self, uid: str) -> JobSeen | None:
        """The Job as last seen, if it still must be suspended."""
        job = self._census.job(uid)
        if job is None or not self._permit.open:
            return None
        return job if isinstance(self._intake.standing(uid), Stray) else None

    async def _attempt(self, seen: JobSeen) -> bool:
        """One consistent read and one write at exactly that version; whether that is the end.

        The policies are read just before: enforcement may have been switched off a moment ago.
        """
        if not await self._permit.confirmed():
            return True
        job = await self._cluster.look(seen.namespace, seen.name)
        if job is None or job.uid != seen.uid:
            return True
        self._census.take_job(job)
        if self._stray(seen.uid) is None or not await self._disowned(job):
            return True
        match await self._cluster.stop(job):
            case Stopped(stopped):
                self._census.take_job(stopped)
                return True
            case Denied(message):
                _log.warning("suspension refused", job=job.job, error=message)
                reason = Reason.STARTED_WITHOUT_GRANT
                self._notices.tell(Notice(job, reason, sentence(reason), warning=True))
                return True
            case Stale() | Gone():
                return False

    async def _disowned(self, job: JobSeen) -> bool:
        """Whether its pool has not given its token, by the ledger as it is after the Job was read.

        If it has, somebody else has granted since, and the pool must read everything again; and so
        if nobody can say, since a ledger that is lost begins above every token that it finds.
        """
        desk = self._intake.granter(job)
        if job.token is None or desk is None:
            return True
        try:
            page = await self._ledger.read(desk.name)
        except ValueError:
            return False
        if page is not None and page.state.version < job.token:
            return True
        desk.page = None
        desk.wake()
        return False

    def _note(self, job: JobSeen) -> None:
        self._metrics.stopped()
        reason = Reason.STOPPED_WITHOUT_GRANT
        _log.warning("suspended", job=job.job, uid=job.uid, why="it ran without a grant")
        key = str(job.deliveries)
        self._notices.tell(Notice(job, reason, sentence(reason), warning=True, key=key))
