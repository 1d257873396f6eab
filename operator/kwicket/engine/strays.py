"""Strays: managed Jobs that run without a grant. They are suspended, counted and told so.

They come from a time without enforcement, or slipped through while it began. A token that their
pool has not given is no grant. While the policies are not in force nobody is suspended: an
administrator may have switched them off on purpose.
"""

import structlog

from kwicket.core.jobs import JobSeen
from kwicket.core.reasons import Reason, sentence
from kwicket.core.release import Stray
from kwicket.engine.backoff import Backoff
from kwicket.engine.census import Census
from kwicket.engine.intake import Intake
from kwicket.engine.leases import Leases
from kwicket.engine.permit import Permit
from kwicket.engine.registry import Registry
from kwicket.engine.singly import Singly
from kwicket.engine.suspensions import Suspensions
from kwicket.engine.tasks import Spawn
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
        registry: Registry,
        leases: Leases,
        intake: Intake,
        permit: Permit,
        suspensions: Suspensions,
        ledger: Ledger,
        notices: Notices,
        leadership: Leadership,
        metrics: Metrics,
        spawn: Spawn,
    ) -> None:
        self._census = census
        self._registry = registry
        self._leases = leases
        self._intake = intake
        self._permit = permit
        self._suspensions = suspensions
        self._ledger = ledger
        self._notices = notices
        self._leadership = leadership
        self._metrics = metrics
        self._tasks = Singly(spawn)
        self._waits: dict[str, Backoff] = {}

    def demand(self, job: JobSeen) -> bool:
        """Asks for a Job to be suspended; False if it must not be at the moment."""
        if not (self._permit.open and self._leadership.leads()):
            return False
        self._tasks.start(job.uid, self._work(job.uid), name=f"stop {job.job}")
        return True

    def forget(self, uid: str) -> None:
        """Nothing is kept of a Job that has ended."""
        self._waits.pop(uid, None)
        self._tasks.forget(uid)

    async def _work(self, uid: str) -> None:
        """Returns when the Job runs no more without a grant, or may go on doing so."""
        while (job := self._stray(uid)) is not None:
            if uid in self._waits:
                await self._waits[uid].sleep()
            self._waits.setdefault(uid, Backoff(FIRST, LONGEST))
            await self._stop(job)
        self._intake.consider(uid)

    async def _stop(self, job: JobSeen) -> None:
        """Its count of deliveries says whether a write that was not answered was applied."""
        before = self._census.job(job.uid)
        refused = await self._suspensions.suspend(job, self._is_stray, counts=True)
        after = self._census.job(job.uid)
        if refused is not None:
            reason = Reason.STARTED_WITHOUT_GRANT
            self._notices.tell(Notice(job, reason, sentence(reason), warning=True))
        elif before and after and after.deliveries > before.deliveries:
            self._note(after)

    async def _is_stray(self, job: JobSeen) -> bool:
        return self._stray(job.uid) is not None and await self._disowned(job)

    def _stray(self, uid: str) -> JobSeen | None:
        """The Job as last seen, if it still must be suspended."""
        job = self._census.job(uid)
        if job is None or not self._permit.open:
            return None
        found = self._leases.judge(job, uid, self._census.pods(uid))
        return job if isinstance(found, Stray) else None

    async def _disowned(self, job: JobSeen) -> bool:
        """Whether its pool has not given its token, by the ledger as it is after the Job was read.

        If it has, somebody else has granted since, and the pool must read everything again; and so
        if nobody can say, since a ledger that is lost begins above every token that it finds.
        """
        desk = self._registry.granter(job)
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
