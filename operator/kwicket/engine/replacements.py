"""Replacements: when a pod of a running Job is replaced.

A Job that was started beside pods on silent nodes has its pods replaced early, since those never
end. Once they are gone its pods are replaced late again, so that none uses a slot twice.
"""

import structlog

from kwicket.core.jobs import JobSeen
from kwicket.engine.backoff import Backoff
from kwicket.engine.census import Census
from kwicket.engine.intake import Intake
from kwicket.engine.permit import Permit
from kwicket.engine.singly import Singly
from kwicket.engine.tasks import Spawn
from kwicket.ports.cluster import Cluster, Denied, Replaced, Stale
from kwicket.ports.errors import UnavailableError
from kwicket.ports.leadership import Leadership

_log = structlog.get_logger(__name__)


class Replacements:
    """Each Job by one task at a time; one that is refused is left as it is until its next grant."""

    def __init__(
        self,
        *,
        census: Census,
        intake: Intake,
        permit: Permit,
        cluster: Cluster,
        leadership: Leadership,
        spawn: Spawn,
    ) -> None:
        self._census = census
        self._intake = intake
        self._permit = permit
        self._cluster = cluster
        self._leadership = leadership
        self._tasks = Singly(spawn)

    def consider(self, job: JobSeen) -> None:
        """Looks at a Job that holds a slot."""
        if self._due(job.uid) is None or not self._leadership.leads():
            return
        name = f"replace {job.job}"
        self._tasks.start_once(job.uid, job.token, self._work(job.uid), name=name)

    def forget(self, uid: str) -> None:
        """Nothing is kept of a Job that has ended."""
        self._tasks.forget(uid)

    def _due(self, uid: str) -> JobSeen | None:
        """The Job as last seen, if no pod of an earlier grant is left of it."""
        job = self._census.job(uid)
        if job is None or not job.beside or job.suspended or job.token is None:
            return None
        if job.ended or job.deleting:
            return None
        left = any(p.live and p.token not in (None, job.token) for p in self._census.pods(uid))
        return None if left or not self._permit.open else job

    async def _work(self, uid: str) -> None:
        backoff = Backoff()
        while (job := self._due(uid)) is not None:
            try:
                if await self._attempt(job):
                    return
                await backoff.sleep()
            except UnavailableError as error:
                await backoff.sleep(error.retry_after)
        self._tasks.forget(uid)

    async def _attempt(self, job: JobSeen) -> bool:
        """One write, and a read where it was not applied; whether nothing more can be done.

        Of a Job that was not seen since the cluster went back, only the read.
        """
        former = self._census.of_former_life(job.uid)
        answer = Stale() if former else await self._cluster.replace_late(job)
        if isinstance(answer, Denied):
            _log.warning("pods are replaced early still", job=job.job, error=answer.message)
            return True
        if isinstance(answer, Replaced):
            seen: JobSeen | None = answer.job
        else:
            seen = await self._cluster.look(job.namespace, job.name)
        if seen is None or seen.uid != job.uid:
            return True
        return not self._intake.take(seen)
