"""Suspensions: how a Job that must not run on is stopped, by one read and one write at a time."""

from collections.abc import Awaitable, Callable

import structlog

from kwicket.core.jobs import JobSeen
from kwicket.engine.backoff import Backoff
from kwicket.engine.intake import Intake
from kwicket.engine.permit import Permit
from kwicket.ports.cluster import Cluster, Denied, Gone, Stale, Stopped
from kwicket.ports.errors import UnavailableError

_log = structlog.get_logger(__name__)

type Wanted = Callable[[JobSeen], Awaitable[bool]]
"""Whether a Job, as just read, must be suspended still."""


class Suspensions:
    """While the policies are not in force nobody is suspended."""

    def __init__(self, intake: Intake, permit: Permit, cluster: Cluster) -> None:
        self._intake = intake
        self._permit = permit
        self._cluster = cluster

    async def suspend(self, seen: JobSeen, wanted: Wanted, *, counts: bool) -> str | None:
        """Returns after a write that was answered, or when there is nothing to stop.

        What the API server says if it refuses; None else. `counts` has it counted as a delivery.
        """
        backoff = Backoff()
        while True:
            try:
                answer = await self._attempt(seen, wanted, counts)
                if not isinstance(answer, Stale | Gone):
                    return answer.message if isinstance(answer, Denied) else None
                await backoff.sleep()
            except UnavailableError as error:
                _log.warning("suspension unanswered", job=seen.job, error=str(error))
                await backoff.sleep(error.retry_after)

    async def _attempt(
        self, seen: JobSeen, wanted: Wanted, counts: bool
    ) -> Stale | Gone | Denied | None:
        """One consistent read and one write at exactly that version; None if that is the end.

        The policies are read just before: enforcement may have been switched off a moment ago.
        """
        if not await self._permit.confirmed():
            return None
        job = await self._cluster.look(seen.namespace, seen.name)
        if job is None or job.uid != seen.uid:
            return None
        if not self._intake.take(job) or not await wanted(job):
            return None
        answer = await self._cluster.stop(job, job.deliveries + counts)
        if isinstance(answer, Stopped):
            self._intake.take(answer.job)
            return None
        if isinstance(answer, Denied):
            _log.warning("suspension refused", job=job.job, error=answer.message)
        return answer
