"""The audit: every few minutes each book is compared with what is known, and set right.

A book is kept by small steps. What has gone wrong in one, by a bug of ours or a bit of memory that
has flipped, would stay so until the next start: a slot that is never free again, or one too many.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from itertools import batched

import structlog

from kwicket.core.book import Book
from kwicket.core.recount import Recount
from kwicket.core.state import State
from kwicket.engine.alarms import Alarms
from kwicket.engine.census import Census
from kwicket.engine.desk import Desk
from kwicket.engine.intake import SWEEP, Intake
from kwicket.engine.registry import Registry
from kwicket.engine.sweeps import Sweeps
from kwicket.ports.backlog import elsewhere
from kwicket.ports.clock import Clock
from kwicket.ports.metrics import Metrics

EVERY = 300.0
"""Seconds between two audits."""
MOST_NAMED = 5

_log = structlog.get_logger(__name__)


class Audit:
    """Never in the way: it looks at some Jobs at a time, and others run between."""

    def __init__(
        self,
        census: Census,
        registry: Registry,
        intake: Intake,
        alarms: Alarms,
        sweeps: Sweeps,
        metrics: Metrics,
        clock: Clock,
    ) -> None:
        self._census = census
        self._registry = registry
        self._intake = intake
        self._alarms = alarms
        self._sweeps = sweeps
        self._metrics = metrics
        self._clock = clock

    async def run(self) -> None:
        """Audits until cancelled."""
        while True:
            await asyncio.sleep(EVERY)
            await self._places()
            for desk in self._registry.desks():
                await self._figures(desk)

    async def _places(self) -> None:
        """Considers each submission; whose place changes by that stood in a wrong one.

        Without a page, as with a follower, that is no error: who may run then is not known for
        sure, and what is known of the ledger changes without an event.
        """
        await self._sweeps.under_way()
        for uids in batched(self._intake.known(), SWEEP, strict=False):
            if self._sweeps.due:
                await self._sweeps.one()
            for uid in uids:
                self._look(uid)
            await asyncio.sleep(0)

    def _look(self, uid: str) -> None:
        if self._alarms.late(uid):
            return
        before, place = self._intake.desk(uid), self._place(uid)
        self._intake.consider(uid)
        desk = before or self._intake.desk(uid)
        if desk is not None and desk.page is not None and self._place(uid) != place:
            self._tell(desk, (f"the place of submission {uid}",))

    def _place(self, uid: str) -> object:
        home = self._intake.desk(uid)
        return home and (home.name, home.book.ticket(uid), home.book.lease(uid))

    async def _figures(self, desk: Desk) -> None:
        """Counts anew; a book whose figures are wrong is made anew, as by a start."""
        book, recount = desk.book, Recount(desk.book)
        wrong: list[str] = []
        for uids in batched(recount.uids, SWEEP, strict=False):
            recount.count(SWEEP)
            wrong += (f"submission {uid}, of which nobody knows" for uid in self._lost(desk, uids))
            await asyncio.sleep(0)
        wrong += recount.differences()
        if wrong and desk.book is book and self._registry.desk(desk.name) is desk:
            self._tell(desk, wrong)
            desk.page = None
            desk.book = Book(book.rules, State(1), self._clock.now())
            self._intake.evict(desk)
            desk.wake()
            await self._sweeps.one()

    def _lost(self, desk: Desk, uids: Iterable[str]) -> Iterator[str]:
        """Those that stand in a book of which intake does not know that they do."""
        for uid in uids:
            known = self._intake.desk(uid) is desk or uid in desk.pending or elsewhere(uid)
            if not known and (desk.book.ticket(uid) or desk.book.lease(uid)):
                yield uid

    def _tell(self, desk: Desk, wrong: Sequence[str]) -> None:
        what = "; ".join(wrong[:MOST_NAMED])
        _log.error("book was wrong", pool=desk.name, number=len(wrong), what=what)
        self._metrics.corrected(desk.name, len(wrong))
