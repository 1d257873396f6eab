"""Reports: what users see of a pool, at most once a second. No decision waits for them."""

import asyncio

import structlog

from kwicket.core.leases import OnLapse
from kwicket.core.line import positions, why
from kwicket.core.reasons import Reason, sentence
from kwicket.core.state import Reservation
from kwicket.core.tickets import Ticket
from kwicket.engine import conditions
from kwicket.engine.census import Census
from kwicket.engine.desk import Desk
from kwicket.engine.leases import Leases, in_words
from kwicket.engine.permit import Permit
from kwicket.engine.registry import Registry
from kwicket.ports.clock import Clock
from kwicket.ports.errors import UnavailableError
from kwicket.ports.leadership import Leadership
from kwicket.ports.notices import Notice, Notices, PoolFigures

PERIOD = 1.0
"""Seconds between two reports of one pool."""
BATCH = 200
"""How many authors are told of their Job's place in one report."""

_log = structlog.get_logger(__name__)


class Reports:
    """Gathers changes for a second, then shows them."""

    def __init__(
        self,
        *,
        registry: Registry,
        census: Census,
        leases: Leases,
        permit: Permit,
        notices: Notices,
        clock: Clock,
        leadership: Leadership,
    ) -> None:
        self._registry = registry
        self._census = census
        self._leases = leases
        self._permit = permit
        self._notices = notices
        self._clock = clock
        self._leadership = leadership
        self._dirty: set[str] = set()
        self._changed = asyncio.Event()

    def changed(self, desk: Desk) -> None:
        """Notes that a pool's figures, line or conditions may have changed."""
        self._dirty.add(desk.name)
        self._changed.set()

    def reserved(self, reservation: Reservation) -> None:
        """Tells the author of a wide Job that its turn has come."""
        job = self._census.job(reservation.uid)
        if job is not None:
            text = sentence(Reason.TURN_TAKEN, width=reservation.width)
            key = str(reservation.at)
            self._notices.tell(Notice(job, Reason.TURN_TAKEN, text, key=key))

    async def run(self) -> None:
        """Shows changed pools until cancelled; a follower shows nothing."""
        while True:
            await self._changed.wait()
            await asyncio.sleep(PERIOD)
            self._changed.clear()
            names, self._dirty = sorted(self._dirty), set()
            for name in names if self._leadership.leads() else ():
                desk = self._registry.desk(name)
                if desk is not None:
                    self._announce(desk)
                    await self._show(desk)

    async def _show(self, desk: Desk) -> None:
        try:
            catalog, enforcement = self._registry.catalog, self._permit.enforcement
            lapsed = self._held(desk)
            shown = conditions.of_pool(desk, catalog, self._census, enforcement, lapsed)
            token = max(desk.given, self._registry.token(desk.name))
            await self._notices.show_pool(desk.name, _figures(desk, token), shown)
            await self._show_limits(desk)
        except UnavailableError as error:
            _log.warning("status not written", pool=desk.name, error=str(error))
            self.changed(desk)

    def _held(self, desk: Desk) -> dict[str, str]:
        """The Jobs that keep their slots although their leases have lapsed, and why they have."""
        if desk.book.rules.pool.lease.on_lapse is not OnLapse.HOLD:
            return {}
        leases = (desk.book.lease(uid) for uid in self._leases.lapsed)
        lapses = ((one.job, self._leases.lapse(one.uid)) for one in leases if one is not None)
        return {job: in_words(lapse) for job, lapse in lapses if lapse is not None}

    async def declared(self) -> None:
        """Shows the conditions of Lanes and Limits after each declaration, until cancelled."""
        while True:
            await self._registry.changed.wait()
            self._registry.changed.clear()
            if not self._leadership.leads():
                continue
            try:
                await self._show_declared()
            except UnavailableError as error:
                _log.warning("status not written", error=str(error))
                self._registry.changed.set()
                await asyncio.sleep(PERIOD)

    async def _show_declared(self) -> None:
        catalog = self._registry.catalog
        for name, lane in catalog.lanes.items():
            await self._notices.show("Lane", name, (conditions.of_lane(lane, catalog),))
        await self._show_limits(None)
        for desk in self._registry.desks():
            self.changed(desk)

    async def _show_limits(self, desk: Desk | None) -> None:
        """The limits that count at this desk; None for those that count at none."""
        catalog, now = self._registry.catalog, self._clock.now()
        for name, declared in catalog.limits.items():
            if self._registry.desk(catalog.pool_of(declared) or "") is desk:
                shown = conditions.of_limit(declared, catalog, desk, now)
                await self._notices.show("Limit", name, (shown,))

    def _announce(self, desk: Desk) -> None:
        """Tells the authors of Jobs that came into line where they stand and why they wait."""
        if not desk.unannounced or (desk.page is None and desk.fault is None):
            return
        places = positions(desk.book, self._clock.now())
        uids = sorted(desk.unannounced, key=lambda uid: places.get(uid, desk.book.waiting))
        for uid in uids[:BATCH]:
            job, ticket = self._census.job(uid), desk.book.ticket(uid)
            if job is not None and ticket is not None:
                cause = self._cause(desk, ticket)
                among = f" among {desk.book.waiting} waiting Jobs"
                place = f" at position {places[uid]}" if uid in places else among
                text = sentence(Reason.QUEUED, pool=desk.name, position=place, why=cause)
                self._notices.tell(Notice(job, Reason.QUEUED, text, key=str(ticket.deliveries)))
        desk.unannounced.difference_update(uids[:BATCH])
        if desk.unannounced:
            self.changed(desk)

    def _cause(self, desk: Desk, ticket: Ticket) -> str:
        if not self._permit.open:
            enforcement = self._permit.enforcement
            old = enforcement.outdated
            reason = Reason.DEFINITIONS_OUTDATED if old else Reason.POLICY_MISSING
            return sentence(reason, pool=desk.name, why=enforcement.message)
        if desk.fault is not None:
            return sentence(desk.fault.reason, pool=desk.name, why=desk.fault.why)
        return why(desk.book, ticket)[1]


def _figures(desk: Desk, token: int) -> PoolFigures:
    submitted = [ticket.submitted for ticket in desk.book.tickets()]
    return PoolFigures(
        waiting=desk.book.waiting,
        running=desk.book.running,
        tenants=len(desk.book.line()),
        oldest_waiting=min(submitted, default=None),
        last_grant=desk.book.last_grant or None,
        token=token or None,
    )
