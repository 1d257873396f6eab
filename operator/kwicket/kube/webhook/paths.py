"""The paths: which review goes where, and what it is answered with."""

from collections.abc import Awaitable, Callable, Mapping

from kwicket.core.jobs import JobSeen
from kwicket.kube.webhook import declarations, judgement, mutation
from kwicket.kube.webhook.caches import Caches
from kwicket.kube.webhook.grantors import Grantors
from kwicket.kube.webhook.reviews import Answer, BadReviewError, Verdict, allowed, judged

type Answering = Callable[[bytes], Awaitable[Answer]]

UNCHECKED = "not checked against the latest Pools, Lanes and Limits: "


class Paths:
    """Each takes a review and gives the answer.

    All raise BadReviewError for what is no review of theirs, and UnavailableError where they can't
    answer, so that the failurePolicy decides.
    """

    def __init__(self, caches: Caches, grantors: Grantors) -> None:
        self._caches = caches
        self._grantors = grantors
        self.by_path: Mapping[str, Answering] = {
            "/mutate-jobs": self.mutate_jobs,
            "/validate-jobs": self.validate_jobs,
            "/validate-objects": self.validate_objects,
        }

    async def mutate_jobs(self, body: bytes) -> Answer:
        """Suspends Jobs, and gives their containers the token."""
        request = mutation.JOBS.read(body)
        try:
            changes = mutation.changes(request)
        except ValueError as error:
            raise BadReviewError(400, f"the Job is not understood: {error}") from error
        if request.operation == "CREATE" or not changes:
            return allowed(request.uid, changes)
        manager = request.options.field_manager if request.options else ""
        if await self._grantors.include(request.user_info, manager):
            return allowed(request.uid)
        said = mutation.SUSPEND in changes and mutation.says_suspend(request.object)
        return allowed(request.uid, changes, [mutation.KEPT] if said else [])

    async def validate_jobs(self, body: bytes) -> Answer:
        """Refuses a new Job that could never start as it is; tells the others their place."""
        request = judgement.JOBS.read(body)
        if not self._caches.synced:
            return allowed(request.uid)
        try:
            job = judgement.seen(request)
        except ValueError as error:
            raise BadReviewError(400, str(error)) from error
        return judged(request.uid, await self._judge(job))

    async def validate_objects(self, body: bytes) -> Answer:
        """Says what is wrong with a Pool, Lane or Limit among the others."""
        request = declarations.DECLARATIONS.read(body)
        if not self._caches.synced:
            return allowed(request.uid)
        verdict = declarations.of_declaration(request, self._caches.catalog)
        return judged(request.uid, verdict)

    async def _judge(self, job: JobSeen) -> Verdict:
        verdict = self._verdict(job)
        if not verdict.errors:
            return verdict
        if await self._caches.refresh(job.namespace):
            return self._verdict(job)
        return Verdict(warnings=[UNCHECKED + error for error in verdict.errors])

    def _verdict(self, job: JobSeen) -> Verdict:
        caches = self._caches
        namespace = caches.namespace(job.namespace)
        return judgement.of_job(job, namespace, caches.catalog, caches.figures)
