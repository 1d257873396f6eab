"""Grant: writes a committed grant on its Job, until it is there or given back.

No answer is never taken for failure: the Job is read back, and the same token is sent again.
"""

import asyncio

import structlog
from msgspec import Struct

from kwicket.core.catalog import Aside
from kwicket.core.jobs import JobSeen
from kwicket.core.leases import Lease
from kwicket.core.reasons import Reason, sentence
from kwicket.core.state import Intent
from kwicket.engine.backoff import Backoff
from kwicket.engine.census import Census
from kwicket.engine.desk import Desk
from kwicket.engine.intake import Intake
from kwicket.engine.permit import Permit
from kwicket.engine.tasks import Spawn
from kwicket.engine.upheld import NEVER, Upheld
from kwicket.ports.clock import Clock
from kwicket.ports.cluster import Cluster, Denied, Gone, Order, Stale, Started
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Ledger
from kwicket.ports.metrics import Metrics
from kwicket.ports.notices import Notice, Notices

BAR = 60
"""Seconds until a start that the API server refused is tried again."""

MOST_FAILURES = 3
"""How often the API server may fail to write a start before the Job counts as denied."""

_log = structlog.get_logger(__name__)


class Tried(Struct):
    """What is known of a grant whose start is being written; moments by the monotonic clock."""

    known: float
    """When the ledger was known to have it."""
    failed_at: float = NEVER
    failures: list[str] = []
    """What the API server said when it owned up to them."""


class Grants:
    """Applies grants; at most 16 writes of a pool are in flight."""

    def __init__(
        self,
        *,
        census: Census,
        intake: Intake,
        permit: Permit,
        ledger: Ledger,
        cluster: Cluster,
        notices: Notices,
        metrics: Metrics,
        clock: Clock,
        spawn: Spawn,
    ) -> None:
        self._census = census
        self._intake = intake
        self._permit = permit
        self._upheld = Upheld(ledger, clock)
        self._clock = clock
        self._cluster = cluster
        self._notices = notices
        self._metrics = metrics
        self._spawn = spawn

    async def apply(self, desk: Desk, intent: Intent, known: float = NEVER) -> None:
        """Returns when the grant is seen on its Job, or was given back.

        `known` is when the ledger was known to have it, by the monotonic clock.
        """
        try:
            await self._bring(desk, intent, Tried(known))
        finally:
            _read(desk, intent, True)

    async def _bring(self, desk: Desk, intent: Intent, tried: Tried) -> None:
        backoff = Backoff()
        job = self._census.job(intent.lease.uid)
        while desk.pending.get(intent.lease.uid) == intent:
            if not self._permit.open:
                await self._permit.opened()
                job = None
            try:
                async with desk.patches:
                    job = await self._attempt(desk, intent, job, tried)
            except UnavailableError as error:
                _log.warning("grant unanswered", **_names(desk, intent), error=str(error))
                tried.failures += [str(error)] if error.failed else []
                tried.failed_at = self._clock.monotonic()
                job = None
                desk.hold_up(intent)
                await backoff.sleep(error.retry_after)

    async def _attempt(
        self, desk: Desk, intent: Intent, job: JobSeen | None, tried: Tried
    ) -> JobSeen | None:
        """One write, or one read where the Job is not known well enough to write.

        After some failures that the server has owned up to, and a read that shows that none of
        them was applied after all, the Job counts as denied: a webhook that is down for one
        namespace must not hold a slot for ever.
        """
        if job is None or self._census.of_former_life(job.uid):
            namespace, _, name = intent.lease.job.partition("/")
            try:
                job = await self._cluster.look(namespace, name)
            except UnavailableError:
                _read(desk, intent, False)
                raise
            _read(desk, intent, True)
            self._see(intent, job)
        if desk.pending.get(intent.lease.uid) != intent:
            return job
        if job is None or job.uid != intent.lease.uid:
            await self._vanished(desk, intent)
            return None
        obstacle = _obstacle(job, intent)
        if obstacle is not None:
            self._give_back(desk, intent, job, obstacle)
            return None
        if len(tried.failures) >= MOST_FAILURES:
            self._deny(desk, intent, job, tried.failures[-1])
            return None
        if not await self._upheld.holds(desk, intent, tried.known, tried.failed_at):
            raise UnavailableError("the ledger has it no more")
        if desk.pending.get(intent.lease.uid) != intent:
            return job
        if desk.share is not None and desk.page is None:
            # What is told to other clusters meanwhile must have every start that was ever sent.
            raise UnavailableError("the ledger is being read anew")
        return await self._write(desk, intent, job) if self._permit.open else job

    async def _vanished(self, desk: Desk, intent: Intent) -> None:
        """The Job is gone, as a consistent read has said, whatever the watch still believes.

        Live pods of it prove that a start without an answer has reached it: they hold the slot.
        """
        lease = intent.lease
        pods = await self._cluster.pods(lease.job.partition("/")[0], lease.uid)
        if desk.pending.get(lease.uid) != intent:
            return
        self._census.drop_job(lease.uid)
        if any(pod.live for pod in pods):
            desk.acknowledge(lease.uid, lease.token)
            self._intake.consider(lease.uid)
        elif desk.sent.may_have_arrived(lease.token):
            _log.warning("dropped", **_names(desk, intent), why="the Job is gone, and may have run")
            desk.drop(intent)
            self._intake.consider(lease.uid)
        else:
            self._give_back(desk, intent, None, "the Job is gone")

    async def _write(self, desk: Desk, intent: Intent, job: JobSeen) -> JobSeen | None:
        lease = intent.lease
        order = Order(
            job,
            desk.name,
            lease.lane,
            lease.token,
            intent.at,
            str(intent.charge),
            beside=any(pod.live for pod in self._census.pods(lease.uid)),
        )
        before = desk.sent.sending(lease.uid, lease.token)
        try:
            answer = await self._cluster.start(order)
        except UnavailableError as error:
            desk.sent.unanswered(lease.token, failed=error.failed)
            if error.failed:
                desk.sent.answered(lease.token, before)
            raise
        desk.sent.answered(lease.token, before)
        match answer:
            case Started(started):
                self._see(intent, started)
                if desk.acknowledge(lease.uid, started.token):
                    self._intake.consider(lease.uid)
                    self._tell(desk, intent, started)
                return started
            case Stale() | Gone():
                return None
            case Denied(message):
                self._deny(desk, intent, job, message)
                return None

    def _deny(self, desk: Desk, intent: Intent, job: JobSeen, message: str) -> None:
        """Gives the grant back, unless an earlier start may still reach the Job as it is.

        That one would run with a slot that has gone to another.
        """
        if desk.sent.may_arrive(intent.lease.token):
            raise UnavailableError(f"refused, but an earlier start may be on its way: {message}")
        self._bar(intent.lease, message)
        self._give_back(desk, intent, job, message)

    def _bar(self, lease: Lease, message: str) -> None:
        """Keeps a Job that can't be started from being granted again and again.

        Before it is given back, since that may lead to the next decision at once.
        """
        text = sentence(Reason.DENIED, seconds=BAR, message=message)
        self._intake.bar(lease.uid, Aside(Reason.DENIED, text))
        self._spawn(self._unbar(lease.uid), name=f"unbar {lease.job}")

    async def _unbar(self, uid: str) -> None:
        await asyncio.sleep(BAR)
        self._intake.unbar(uid)

    def _see(self, intent: Intent, job: JobSeen | None) -> None:
        """Takes in what was read, if it is the Job that was granted."""
        if job is not None and job.uid == intent.lease.uid:
            self._intake.take(job)

    def _give_back(self, desk: Desk, intent: Intent, job: JobSeen | None, why: str) -> None:
        _log.warning("given back", **_names(desk, intent), why=why)
        desk.give_back(intent)
        self._metrics.given_back(desk.name)
        self._intake.consider(intent.lease.uid)
        if job is not None and job.uid == intent.lease.uid:
            token = intent.lease.token
            text = sentence(Reason.GIVEN_BACK, token=token, pool=desk.name, why=why)
            self._notices.tell(Notice(job, Reason.GIVEN_BACK, text, warning=True, key=str(token)))

    def _tell(self, desk: Desk, intent: Intent, job: JobSeen) -> None:
        waited = max(intent.at - job.created, 0) // 1000
        token = intent.lease.token
        text = sentence(Reason.GRANTED, pool=desk.name, token=token, waited=f"{waited}s")
        self._notices.tell(Notice(job, Reason.GRANTED, text, key=str(token)))


def _read(desk: Desk, intent: Intent, answered: bool) -> None:
    """Notes, where clusters share the ledger, whether the API server could be asked for a Job."""
    if desk.share is not None and (intent.lease.uid in desk.share.unread) is answered:
        (desk.share.unread.discard if answered else desk.share.unread.add)(intent.lease.uid)
        desk.wake()


def _obstacle(job: JobSeen, intent: Intent) -> str | None:
    """Why this Job is no longer the ticket that was granted; None if it is."""
    if job.deleting or job.ended:
        return "the Job has ended"
    if job.held:
        return "its author holds it"
    if not job.suspended:
        return "it runs already"
    if job.token is not None and job.token > intent.lease.token:
        return f"it carries the higher token {job.token}"
    return None


def _names(desk: Desk, intent: Intent) -> dict[str, object]:
    return {"pool": desk.name, "job": intent.lease.job, "token": intent.lease.token}
