"""The turn of a pool: decide, commit, hand over to the grants. And the loop of turns."""

import asyncio
import contextlib
from collections.abc import Mapping

import structlog

from kwicket.core.decide import MOST_GRANTS, Decision, decide, next_opening
from kwicket.core.leases import Lease
from kwicket.core.reasons import Reason
from kwicket.core.state import Intent, Reservation
from kwicket.core.tickets import Ticket
from kwicket.engine.backoff import Backoff
from kwicket.engine.desk import MOST_PENDING, Desk
from kwicket.engine.fault import Fault
from kwicket.engine.grant import Grants
from kwicket.engine.intake import Intake
from kwicket.engine.permit import Permit
from kwicket.engine.recovery import Recovery
from kwicket.engine.reports import Reports
from kwicket.engine.restores import WentBackError
from kwicket.engine.sharing import BEAT, Sharing
from kwicket.engine.tasks import Spawn
from kwicket.engine.upheld import NEVER
from kwicket.ports.backlog import elsewhere
from kwicket.ports.clock import Clock
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Conflict, Ledger, Page
from kwicket.ports.metrics import Metrics, Write

QUIET = 1.0
"""Seconds without a turn after which all else that has happened is committed by itself."""
STANDS_BACK = 6
"""Signs of life from one look at a page that can't be understood to the next."""
SLICE = 500
"""How many waiting Jobs are put in order, or let go, before others run."""

_log = structlog.get_logger(__name__)


class Turns:
    """Serves desks; each by one task of its own."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        clock: Clock,
        recovery: Recovery,
        grants: Grants,
        intake: Intake,
        permit: Permit,
        reports: Reports,
        metrics: Metrics,
        spawn: Spawn,
        sharing: Sharing | None = None,
    ) -> None:
        self._sharing = sharing
        self._ledger = ledger
        self._clock = clock
        self._recovery = recovery
        self._grants = grants
        self._intake = intake
        self._permit = permit
        self._reports = reports
        self._metrics = metrics
        self._spawn = spawn

    async def serve(self, desk: Desk) -> None:
        """Recovers the pool, then takes turns until cancelled; no fault of the outside ends it."""
        if self._sharing is None:
            return await self._serve(desk)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._sharing.keep(desk))
            await self._serve(desk)

    async def _serve(self, desk: Desk) -> None:
        backoff = Backoff(first=0.1, longest=30 if self._sharing is None else BEAT)
        while True:
            try:
                await self._recover(desk)
                await self._turns(desk, backoff)
                await backoff.sleep()
            except WentBackError as error:
                self._stop(desk, Fault(Reason.WENT_BACK, str(error)))
                await desk.word_given()
            except (UnavailableError, ValueError) as error:
                desk.page = None
                self._stop(desk, Fault.of(error))
                await self._stand_back(desk)
                await backoff.sleep(getattr(error, "retry_after", 0))

    def _stop(self, desk: Desk, fault: Fault) -> None:
        desk.fault = fault
        _log.warning("nothing is granted", pool=desk.name, error=fault.why)
        self._reports.changed(desk)

    async def _stand_back(self, desk: Desk) -> None:
        """Tells what ends here, and that nobody waits, while a recovery would list all in vain."""
        if self._sharing is None or desk.fault is None or not desk.fault.outdated:
            return
        for _ in range(STANDS_BACK):
            self._enable(desk)
            with contextlib.suppress(UnavailableError):
                await self._sharing.tell(desk)
            await asyncio.sleep(BEAT)

    async def _recover(self, desk: Desk) -> None:
        self._enable(desk)
        begun = self._clock.monotonic() if self._sharing is not None else NEVER
        book = desk.book
        started = await self._recovery.recover(desk)
        if desk.book is not book:
            raise UnavailableError("an audit made the book anew while the pool was taken over")
        for intent in started:
            self._apply(desk, intent, begun)
        for intent, ticket in desk.taken_unheard():
            self._granted(desk, intent, ticket)
        more = True
        while more:
            more = desk.book.reorder(SLICE)
            await asyncio.sleep(0)
        desk.fault = None
        self._reports.changed(desk)
        desk.wake()

    async def _turns(self, desk: Desk, backoff: Backoff) -> None:
        """Turns until a conflict says that all must be read again.

        Where clusters share the ledger, conflicts are common: what they did is caught up with.
        Only what was committed resets the back-off: a ledger that is read but can't be written
        must not be read again and again.
        """
        quiet_at = self._clock.monotonic() + QUIET
        while True:
            await desk.woken(self._pause(desk, quiet_at))
            await desk.writes_fit()
            self._enable(desk)
            await self._catch_up(desk)
            await _reorder(desk)
            quiet = self._clock.monotonic() >= quiet_at
            committed = await self._turn(desk, quiet)
            if committed is None and not self._lags(desk):
                return
            if committed:
                backoff.reset()
                quiet_at = self._clock.monotonic() + QUIET
            self._reports.changed(desk)

    def _lags(self, desk: Desk) -> bool:
        """Whether what has gone on is only that another cluster wrote the page."""
        if desk.share is None or desk.page is None or desk.doubt is not None:
            return False
        desk.share.behind = True
        desk.wake()
        return True

    def _enable(self, desk: Desk) -> None:
        """Lets other clusters have our Jobs in line only while they can be started here."""
        if desk.share is not None:
            able = self._permit.open and not desk.book.rules.pool.closed and not desk.share.unread
            outdated = desk.fault is not None and desk.fault.outdated
            desk.share.enable(able and not outdated, desk.book)

    def _may_decide(self, desk: Desk) -> bool:
        return self._permit.open and (desk.share is None or desk.share.able)

    async def _catch_up(self, desk: Desk) -> None:
        if desk.share is not None and desk.share.behind and desk.page is not None:
            begun = self._clock.monotonic()
            for intent in await self._recovery.catch_up(desk):
                self._apply(desk, intent, begun)

    async def _turn(self, desk: Desk, quiet: bool) -> bool | None:
        """Whether the ledger was written; None if it must be read before the next turn.

        Since somebody else had written it, or since the desk was told meanwhile to distrust it:
        nothing of that decision is applied, though the ledger may have it.
        """
        page = desk.page
        if page is None or desk.doubt is not None:
            return None
        decision = self._decision(desk)
        due = decision.turns or (quiet and desk.unsaved)
        tickets = {i.lease.uid: self._ticket(i.lease.uid, desk) for i in decision.grants}
        desk.decided(decision, tickets)
        if self._sharing is not None:
            await self._sharing.tell(desk)
            if desk.page is not page:
                return None
        if not due:
            return False
        sent = self._clock.monotonic()
        written = await self._written(desk, page)
        match written:
            case Conflict():
                _log.warning("conflict", pool=desk.name, version=page.state.version)
                return None
            case Page() if desk.page is not page:
                desk.learn(written)
                return None
            case Page():
                self._commit(desk, written, decision, tickets, sent)
                return True

    def _ticket(self, uid: str, desk: Desk) -> Ticket | None:
        if desk.share is not None and elsewhere(uid):
            return desk.share.ticket(uid)
        return self._intake.ticket(uid, desk)

    def _decision(self, desk: Desk) -> Decision:
        if self._may_decide(desk) and len(desk.pending) <= 2 * MOST_PENDING:
            begun = self._clock.monotonic()
            decision = decide(desk.book, self._clock.now())
            self._metrics.decided(self._clock.monotonic() - begun)
            return decision
        desk.tidy()
        return Decision()

    async def _written(self, desk: Desk, page: Page) -> Page | Conflict:
        """One write of the ledger, counted by what became of it."""
        begun = self._clock.monotonic()
        outcome = Write.UNANSWERED
        try:
            answer = await self._ledger.commit(page, desk.book.snapshot())
            outcome = Write.CONFLICT if isinstance(answer, Conflict) else Write.WRITTEN
        except UnavailableError:
            desk.unheard()
            raise
        finally:
            self._metrics.committed(desk.name, outcome, self._clock.monotonic() - begun)
        return answer

    def _commit(
        self,
        desk: Desk,
        page: Page,
        decision: Decision,
        tickets: Mapping[str, Ticket | None],
        sent: float,
    ) -> None:
        """Announces a decision that the ledger has accepted, and starts its writes.

        `sent` is when the ledger was told, by the monotonic clock.
        """
        for reservation in decision.reserved:
            _log.info("reserved", **_names(desk, reservation), width=reservation.width)
            self._reports.reserved(reservation)
        for intent in decision.grants:
            self._granted(desk, intent, tickets[intent.lease.uid])
        for intent in desk.committed(page):
            if elsewhere(intent.lease.uid):
                desk.hold_up(intent)
            else:
                self._apply(desk, intent, sent)
        if decision.turns == MOST_GRANTS:
            desk.wake()

    def _granted(self, desk: Desk, intent: Intent, ticket: Ticket | None) -> None:
        lease = intent.lease
        waited = (intent.at - ticket.submitted) / 1000 if ticket else None
        again = bool(ticket and ticket.redelivery)
        names = _names(desk, lease)
        _log.info("granted", **names, token=lease.token, waited_s=waited, redelivery=again)
        self._metrics.granted(desk.name, lease.lane, None if again else waited)

    def _apply(self, desk: Desk, intent: Intent, known: float = NEVER) -> None:
        uid = intent.lease.uid
        self._intake.home(uid, desk)
        desk.applying[uid] = intent
        task = self._spawn(
            self._grants.apply(desk, intent, known), name=f"grant {intent.lease.job}"
        )
        task.add_done_callback(lambda _: desk.applied(intent))

    def _pause(self, desk: Desk, quiet_at: float) -> float | None:
        """Seconds until the next turn is due without a wake-up; None if none is."""
        waits = []
        if desk.unsaved:
            waits.append(quiet_at - self._clock.monotonic())
        now = self._clock.now()
        opening = next_opening(desk.book, now) if self._may_decide(desk) else None
        if opening is not None:
            waits.append((opening - now) / 1000)
        return max(min(waits), 0.001) if waits else None


async def _reorder(desk: Desk) -> None:
    """Brings the order of the line on by one slice; the next one comes after the next turn.

    It takes over a changed priority, lets the former ranking go, or sorts a line just read.
    """
    if desk.book.reorder(SLICE):
        desk.wake()
        await asyncio.sleep(0)


def _names(desk: Desk, of: Lease | Reservation) -> dict[str, object]:
    return {"pool": desk.name, "job": of.job, "uid": of.uid, "tenant": of.tenant, "lane": of.lane}
