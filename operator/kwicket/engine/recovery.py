"""Recovery: how a pool is taken over, after a start and after a conflict alike.

First the ledger, then complete lists of Jobs and pods, until all of them are in the book, then the
grants that are still intents, and only then a decision. In this order a grant that somebody else
has made is seen in one or the other.
"""

import structlog
from msgspec.structs import replace

from kwicket.core.state import Intent, State
from kwicket.engine.census import Census
from kwicket.engine.desk import Desk
from kwicket.engine.intake import Intake
from kwicket.engine.registry import Registry
from kwicket.ports.clock import Clock
from kwicket.ports.cluster import Cluster
from kwicket.ports.ledger import Conflict, Ledger, Page

_log = structlog.get_logger(__name__)


class Recovery:
    """Has no rules of its own for Jobs: it asks intake to consider them."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        cluster: Cluster,
        clock: Clock,
        census: Census,
        registry: Registry,
        intake: Intake,
    ) -> None:
        self._ledger = ledger
        self._cluster = cluster
        self._clock = clock
        self._census = census
        self._registry = registry
        self._intake = intake

    async def recover(self, desk: Desk) -> tuple[Intent, ...]:
        """Reads the pool's page, or opens one, and returns the grants still to be applied.

        Raises UnavailableError, or ValueError for a page that can't be understood.
        """
        desk.page = None
        page = await self._ledger.read(desk.name)
        await self._cluster.relist()
        await self._intake.sweep()
        if page is None:
            page = await self._open(desk)
        highest = self._highest_token(desk)
        under_way = dict(desk.pending)
        desk.adopt(page)
        if highest > page.state.version:
            desk.book.state = replace(desk.book.state, version=highest)
        for uid in under_way | desk.pending:
            if uid in desk.pending:
                self._intake.home(uid, desk)
            self._intake.consider(uid)
        _log.info(
            "recovered",
            pool=desk.name,
            version=desk.book.state.version,
            intents=len(desk.pending),
            waiting=desk.book.waiting,
            running=desk.book.running,
        )
        return tuple(i for uid, i in desk.pending.items() if under_way.get(uid) != i)

    async def _open(self, desk: Desk) -> Page:
        now = self._clock.now()
        first = State(version=max(now, self._highest_token(desk) + 1))
        opened = await self._ledger.open(desk.name, first)
        while isinstance(opened, Conflict):
            page = await self._ledger.read(desk.name)
            opened = page or await self._ledger.open(desk.name, first)
        return opened

    def _highest_token(self, desk: Desk) -> int:
        """The highest token known: on the pool's Jobs, in its line or status, or given here."""
        ours = (
            job.token or 0
            for job in self._census.jobs()
            if job.granted_pool in (desk.name, None) or self._intake.desk(job.uid) is desk
        )
        known = desk.book.state.version, self._registry.token(desk.name)
        return max(max(ours, default=0), *known)
