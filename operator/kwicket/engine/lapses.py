"""Lapses: Jobs whose leases have lapsed are put back in line, or keep their slots and say why."""

from collections.abc import Sequence

import structlog

from kwicket.core.jobs import JobSeen, PodSeen
from kwicket.core.lapse import Lapse
from kwicket.core.leases import OnLapse
from kwicket.core.reasons import Reason, sentence
from kwicket.core.release import Lapsed
from kwicket.engine.backoff import Backoff
from kwicket.engine.census import Census
from kwicket.engine.intake import Intake
from kwicket.engine.leases import Leases, in_words
from kwicket.engine.permit import Permit
from kwicket.engine.singly import Singly
from kwicket.engine.suspensions import Suspensions
from kwicket.engine.tasks import Spawn
from kwicket.ports.cluster import Cluster
from kwicket.ports.leadership import Leadership
from kwicket.ports.notices import Notice, Notices

FIRST, LONGEST = 1.0, 60.0
"""Seconds before a Job is looked at again that was not put back, doubling: the API server refused
it, or knows of a sign of life that no watch has shown yet."""

_log = structlog.get_logger(__name__)


class Lapses:
    """Suspends each Job by one task at a time, after its lapse was read consistently."""

    def __init__(
        self,
        *,
        census: Census,
        intake: Intake,
        leases: Leases,
        permit: Permit,
        cluster: Cluster,
        suspensions: Suspensions,
        notices: Notices,
        leadership: Leadership,
        spawn: Spawn,
    ) -> None:
        self._census = census
        self._intake = intake
        self._leases = leases
        self._permit = permit
        self._cluster = cluster
        self._suspensions = suspensions
        self._notices = notices
        self._leadership = leadership
        self._tasks = Singly(spawn)
        self._held: dict[str, int | None] = {}

    def demand(self, job: JobSeen, found: Lapse) -> None:
        """Does as the pool wants it, if this replica leads and the policies are in force."""
        if not (self._permit.open and self._leadership.leads()):
            return
        if found.action is OnLapse.HOLD:
            self._hold(job, found)
            return
        self._tasks.start(job.uid, self._work(job.uid), name=f"put back {job.job}")

    def forget(self, uid: str) -> None:
        """Nothing is kept of a Job that has ended."""
        self._tasks.forget(uid)
        self._held.pop(uid, None)

    def _hold(self, job: JobSeen, found: Lapse) -> None:
        """Says once a grant why the slot stays taken."""
        if self._held.get(job.uid) != job.token:
            self._held[job.uid] = job.token
            self._tell(Reason.LEASE_HELD, job, found, "the Pool's spec.lease.onLapse is Hold")

    async def _work(self, uid: str) -> None:
        backoff = Backoff(FIRST, LONGEST)
        while (due := self._due(uid)) is not None:
            job, found = due
            refused = await self._suspensions.suspend(job, self._is_due, counts=False)
            after = self._census.job(uid)
            if after is not None and after.suspended:
                self._tell(Reason.LEASE_LAPSED, after, found)
                break
            if refused is not None:
                kept = f"the API server refuses to suspend it ({refused})"
                self._tell(Reason.LEASE_HELD, job, found, kept)
            await backoff.sleep()
        self._intake.consider(uid)

    def _due(self, uid: str) -> tuple[JobSeen, Lapse] | None:
        """The Job as last seen, and how its lease has lapsed, if it must be put back."""
        job = self._census.job(uid)
        if job is None or not self._permit.open:
            return None
        found = self._found(job, self._census.pods(uid))
        return None if found is None else (job, found)

    async def _is_due(self, job: JobSeen) -> bool:
        """The same by consistent reads of its pods and their nodes."""
        found = self._found(job, await self._cluster.pods(job.namespace, job.uid))
        if found is None:
            return False
        return not any([await self._cluster.alive(node) for node in found.nodes])

    def _found(self, job: JobSeen, pods: Sequence[PodSeen]) -> Lapse | None:
        """The lapse, by these pods, for which a Job must be put back."""
        stands = self._leases.judge(job, job.uid, pods)
        if isinstance(stands, Lapsed) and stands.lapse.action is not OnLapse.HOLD:
            return stands.lapse
        return None

    def _tell(self, reason: Reason, job: JobSeen, found: Lapse, kept: str = "") -> None:
        """Says what has become of the lease; `kept` is why the slot stays taken."""
        home, why = self._intake.desk(job.uid), in_words(found)
        pool = job.granted_pool or (home.name if home else "")
        _log.warning("lease lapsed", job=job.job, uid=job.uid, reason=reason, why=why, kept=kept)
        text = sentence(reason, pool=pool, why=why, kept=kept)
        self._notices.tell(Notice(job, reason, text, warning=True, key=str(job.token)))
