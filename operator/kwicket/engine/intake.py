"""Intake: from a submission as it is now to its place in a book. One function for every event.

Level-based: created, changed, listed, deleted and swept all call `consider`, so that live events
and a restart can't disagree.
"""

import asyncio
from collections import Counter
from typing import assert_never

import structlog

from kwicket.core.catalog import Aside, Placed, put_back_by
from kwicket.core.jobs import JobSeen
from kwicket.core.leases import Lease, pause
from kwicket.core.reasons import Reason, sentence
from kwicket.core.release import Holds, Lapsed, Over, Stray, Unproved, Waits
from kwicket.core.tickets import Ticket
from kwicket.engine.census import Census
from kwicket.engine.desk import Desk
from kwicket.engine.helpers import Proofs, PutsBack, Replaces, Stops
from kwicket.engine.leases import Leases
from kwicket.engine.registry import Registry
from kwicket.engine.rests import Rests
from kwicket.ports.leadership import Leadership
from kwicket.ports.notices import Notice, Notices

_log = structlog.get_logger(__name__)

SWEEP = 100
"""How many submissions a sweep considers before it lets others run."""


class Intake:
    """Keeps every book in step with the census."""

    def __init__(
        self,
        *,
        census: Census,
        registry: Registry,
        leases: Leases,
        rests: Rests,
        notices: Notices,
        leadership: Leadership,
    ) -> None:
        self._census = census
        self._registry = registry
        self._leases = leases
        self._rests = rests
        self._notices = notices
        self._leadership = leadership
        self._homes: dict[str, Desk] = {}
        self._asides: dict[str, Aside] = {}
        self._barred: dict[str, Aside] = {}
        self._proved: dict[str, tuple[int | None, int] | None] = {}
        self.proofs: Proofs | None = None
        self.stops: Stops | None = None
        self.lapses: PutsBack | None = None
        self.replacements: Replaces | None = None

    def consider(self, uid: str) -> None:
        """Brings one submission's place in the books up to date."""
        job = self._census.job(uid)
        home = self._homes.get(uid)
        if home is not None and not home.acknowledge(uid, job.token if job else None):
            return
        verdict = self._leases.standing(uid)
        match verdict:
            case Waits():
                self._line_up(job)
            case Holds():
                self._occupy(uid, job)
                if job is not None and job.beside and self.replacements is not None:
                    self.replacements.consider(job)
            case Over():
                self._end(uid)
            case Unproved():
                self._await_proof(uid, job)
            case Stray():
                self._stop(uid, job)
            case Lapsed(lapse):
                self._occupy(uid, job)
                if job is not None and self.lapses is not None:
                    self.lapses.demand(job, lapse)
            case _:
                assert_never(verdict)

    def take(self, job: JobSeen) -> bool:
        """Takes in what was read of a Job, or answered; False if its end was seen meanwhile."""
        if self._census.job(job.uid) is None:
            return False
        if self._census.take_job(job):
            self.consider(job.uid)
        return True

    def proved(self, uid: str) -> None:
        """A consistent list, begun after the Job was seen so, shows no live pod.

        Of one that was granted meanwhile, as after a restart, only its grant may say more.
        """
        job = self._census.job(uid)
        home = self._homes.get(uid)
        if home is not None and not home.acknowledge(uid, job.token if job else None):
            return
        if not isinstance(self._leases.standing(uid), Unproved):
            self.consider(uid)
        else:
            self._release(uid, job)

    async def sweep(self) -> None:
        """Considers every submission, as a changed catalog demands."""
        for number, uid in enumerate(self.known()):
            self.consider(uid)
            if number % SWEEP == SWEEP - 1:
                await asyncio.sleep(0)

    def known(self) -> list[str]:
        """The UIDs of all submissions; of those too that stand in a book and were seen no more."""
        return sorted(self._census.submissions() | self._homes.keys())

    def asides(self) -> Counter[Reason]:
        """How many Jobs are in no line at the moment, by reason, as far as this leader has said."""
        return Counter(aside.reason for aside in self._asides.values())

    def desk(self, uid: str) -> Desk | None:
        """The desk in whose book a submission stands, None if in none."""
        return self._homes.get(uid)

    def ticket(self, uid: str, desk: Desk) -> Ticket | None:
        """The ticket of a submission at a desk by what is known of it; None if it has none."""
        job = self._census.job(uid)
        placed = self._placed(job) if job else None
        if isinstance(placed, Placed) and placed.pool == desk.name:
            return placed.ticket
        return None

    def bar(self, uid: str, aside: Aside) -> None:
        """Keeps a submission out of the line, for this reason, until `unbar`."""
        self._barred[uid] = aside
        self.consider(uid)

    def unbar(self, uid: str) -> None:
        """Lets a submission into the line again."""
        self._barred.pop(uid, None)
        self.consider(uid)

    def evict(self, desk: Desk) -> None:
        """Forgets every place in the book of a pool that is no longer declared."""
        self._homes = {uid: home for uid, home in self._homes.items() if home is not desk}

    def home(self, uid: str, desk: Desk) -> None:
        """Notes which desk has granted a submission."""
        self._homes[uid] = desk

    def _placed(self, job: JobSeen) -> Placed | Aside | None:
        """Where a Job belongs; None until its namespace was seen."""
        namespace = self._census.namespace(job.namespace)
        if namespace is None:
            return None
        barred = self._barred.get(job.uid)
        placed = barred or self._registry.catalog.place(job, namespace)
        if not isinstance(placed, Placed):
            return placed
        if not self._registry.believes(placed.pool, job.token or 0):
            return Aside(Reason.BAD_TOKEN, sentence(Reason.BAD_TOKEN, token=job.token))
        if self._rests.needs(job):
            seconds, why = pause(job.deliveries), put_back_by(job)
            return Aside(Reason.PUT_BACK, sentence(Reason.PUT_BACK, why=why, seconds=seconds))
        return placed

    def _line_up(self, job: JobSeen | None) -> None:
        placed = self._placed(job) if job else None
        if job is None or placed is None:
            return
        if isinstance(placed, Aside) and placed.reason is Reason.PUT_BACK:
            self._rests.begin(job)
        desk = self._registry.desk(placed.pool) if isinstance(placed, Placed) else None
        if self._homes.get(job.uid) is not desk:
            self._forget(job.uid)
        match placed:
            case Aside():
                self._set_aside(job, placed)
            case Placed(_, ticket) if desk is not None:
                self._asides.pop(job.uid, None)
                self._homes[job.uid] = desk
                desk.pass_over(job.token or 0)
                desk.submit(ticket)

    def _occupy(self, uid: str, job: JobSeen | None) -> None:
        """Gives it its slot. Pods may be seen one by one, and before their Job is."""
        self._proved.pop(uid, None)
        self._asides.pop(uid, None)
        home = self._homes.get(uid)
        known = self._lease_held(uid)
        lease, desk = self._lease(uid, job)
        if known is not None and (lease == known or (job is None and not _wider(lease, known))):
            return
        if desk is None or lease is None:
            return
        if home is not None and home is not desk:
            home.forget(uid)
        self._homes[uid] = desk
        desk.occupy(lease)

    def _lease(self, uid: str, job: JobSeen | None) -> tuple[Lease | None, Desk | None]:
        """The lease of a Job that runs, or of the pods that a vanished one left; and its desk."""
        if job is not None:
            return lease_of(job), self._registry.granter(job)
        live = [pod for pod in self._census.pods(uid) if pod.live]
        pod = next((pod for pod in live if pod.token is not None), None)
        if pod is None or not self._registry.believes(pod.pool, pod.token or 0):
            return None, None
        name = f"{pod.namespace}/{pod.name}"
        lease = Lease(uid, name, pod.tenant, pod.lane, len(live), pod.token or 0)
        return lease, self._registry.desk(pod.pool) if pod.pool else None

    def _await_proof(self, uid: str, job: JobSeen | None) -> None:
        """Keeps the slot of a Job that left, and a Job that is back out of line, until proved.

        That it stands in line proves nothing: a grant may have come and gone unseen.
        """
        if uid in self._proved and self._proved[uid] == _grant(job):
            self._release(uid, job)
            return
        self._occupy(uid, job)
        lease = self._lease_held(uid)
        if job is not None and (lease is not None or not job.deleting):
            self._demand_proof(uid, job.namespace)
        elif lease is not None:
            self._demand_proof(uid, lease.job.partition("/")[0])
        else:
            self._end(uid)

    def _release(self, uid: str, job: JobSeen | None) -> None:
        """Takes a proved end; it is not asked for again while anything is left of this grant."""
        if job is None or job.deleting:
            self._end(uid)
        if job is not None or self._census.pods(uid):
            self._proved[uid] = _grant(job)
        if job is not None and not job.deleting:
            self._line_up(job)

    def _lease_held(self, uid: str) -> Lease | None:
        home = self._homes.get(uid)
        return home.book.lease(uid) if home else None

    def _demand_proof(self, uid: str, namespace: str) -> None:
        if self.proofs is not None:
            self.proofs.demand(uid, namespace)

    def _end(self, uid: str) -> None:
        """Nothing is kept of a submission that has ended."""
        self._forget(uid)
        self._asides.pop(uid, None)
        self._barred.pop(uid, None)
        self._proved.pop(uid, None)
        self._rests.forget(uid)
        for heed in (self.stops, self.lapses, self.replacements):
            if heed is not None:
                heed.forget(uid)

    def _stop(self, uid: str, job: JobSeen | None) -> None:
        """Keeps a Job that runs without a grant out of every book, and has it suspended."""
        self._forget(uid)
        self._proved.pop(uid, None)
        if job is None or (self.stops is not None and self.stops.demand(job)):
            return
        reason = Reason.STARTED_WITHOUT_GRANT
        self._set_aside(job, Aside(reason, sentence(reason)))

    def _forget(self, uid: str) -> None:
        home = self._homes.pop(uid, None)
        if home is not None:
            home.forget(uid)

    def _set_aside(self, job: JobSeen | None, aside: Aside) -> None:
        """Says why a Job is in no line, once; a follower leaves that to the leader."""
        if job is None or self._asides.get(job.uid) == aside or not self._leadership.leads():
            return
        self._asides[job.uid] = aside
        reason, text = aside.reason, aside.sentence
        _log.info("set aside", job=job.job, uid=job.uid, tenant=job.tenant, reason=reason, why=text)
        self._notices.tell(Notice(job, reason, text, warning=True, key=text))


def lease_of(job: JobSeen) -> Lease:
    """The lease that a Job carries."""
    return Lease(job.uid, job.job, job.tenant, job.lane or "", job.width, job.token or 0)


def _grant(job: JobSeen | None) -> tuple[int | None, int] | None:
    """What tells a Job's last start from its earlier ones; None of a Job that is gone."""
    return None if job is None else (job.token, job.deliveries)


def _wider(lease: Lease | None, known: Lease) -> bool:
    return lease is not None and lease.width > known.width
