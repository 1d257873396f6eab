"""Recovery: how a pool is taken over, after a start and after a conflict alike.

First the ledger, then complete lists of Jobs and pods, until all of them are in the book, then the
charges of Jobs that have ended unseen, then the grants that are still intents, and only then a
decision. In this order a grant that somebody else has made is seen in one or the other.
"""

import structlog

from kwicket.core.pools import GO_ON_ABOVE
from kwicket.core.release import Over
from kwicket.core.state import Intent, State
from kwicket.core.tickets import Ticket
from kwicket.engine.census import Census
from kwicket.engine.desk import Desk
from kwicket.engine.intake import Intake
from kwicket.engine.leases import Leases
from kwicket.engine.registry import Registry
from kwicket.ports.clock import Clock
from kwicket.ports.cluster import Cluster
from kwicket.ports.ledger import Conflict, Ledger, Page

_log = structlog.get_logger(__name__)


class WentBackError(Exception):
    """The cluster was restored from an older backup; an administrator must say how to go on."""

    def __init__(self, desk: Desk, above: int) -> None:
        word = desk.book.rules.pool.above
        too_high = f"; {word} is too high to be believed" if word > desk.word else ""
        super().__init__(
            f"the cluster or this ledger went back to a backup from before token {desk.doubt}, or"
            f" before what happened since then{too_high}: look at what runs, then let the pool go"
            f" on, with kubectl annotate pool {desk.name} --overwrite {GO_ON_ABOVE}={above}"
        )


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
        leases: Leases,
    ) -> None:
        self._ledger = ledger
        self._cluster = cluster
        self._clock = clock
        self._census = census
        self._registry = registry
        self._intake = intake
        self._leases = leases

    async def recover(self, desk: Desk) -> tuple[Intent, ...]:
        """Reads the pool's page, or opens one, and returns the grants still to be applied.

        Raises UnavailableError, ValueError for a page that can't be understood, or WentBackError.
        """
        desk.page = None
        page = await self._ledger.read(desk.name)
        self._check(desk, page)
        if page is not None:
            desk.learn(page)
        await self._cluster.relist()
        await self._intake.sweep()
        self._check(desk, page)
        if page is None:
            page = await self._open(desk)
            self._check(desk, page)
        started = self._take_over(desk, page)
        _log.info(
            "recovered",
            pool=desk.name,
            version=desk.book.version,
            intents=len(desk.pending),
            waiting=desk.book.waiting,
            running=desk.book.running,
        )
        return started

    def _check(self, desk: Desk, page: Page | None) -> None:
        """Raises WentBackError if the pool's page, or the whole cluster, has gone back in time."""
        known = max(desk.given, self._registry.token(desk.name))
        if page is not None and page.state.version < known:
            for uid in desk.distrust(known):
                self._intake.consider(uid)
        if desk.doubt is not None:
            raise WentBackError(desk, max(self._clock.now(), desk.doubt + 1))

    def _take_over(self, desk: Desk, page: Page) -> tuple[Intent, ...]:
        highest, word = self._highest_token(desk), desk.word
        under_way = dict(desk.pending)
        desk.adopt(page, self._not_granted(desk))
        desk.pass_over(highest)
        desk.pass_over(word)
        self._settle(desk)
        for uid in under_way | desk.pending:
            if uid in desk.pending:
                self._intake.home(uid, desk)
            self._intake.consider(uid)
        if page.state.version < word:
            self._take_back(desk)
        desk.book.recovered()
        return tuple(i for uid, i in desk.pending.items() if desk.applying.get(uid) != i)

    def _take_back(self, desk: Desk) -> None:
        """Gives back what was under way before an administrator's word: its tokens may be used."""
        for uid, intent in list(desk.pending.items()):
            if desk.applying.get(uid) != intent:
                desk.give_back(intent)
                self._intake.consider(uid)

    def _not_granted(self, desk: Desk) -> tuple[Ticket, ...]:
        """The tickets of a decision that the ledger has not accepted, so far as they still hold.

        Of a Job that has changed, or was granted by somebody else, only intake knows the place.
        """
        return tuple(
            ticket
            for uid, ticket in desk.uncommitted.items()
            if ticket is not None and self._intake.ticket(uid, desk) == ticket
        )

    def _settle(self, desk: Desk) -> None:
        """Settles the charges of Jobs whose end nobody saw: by their own stamps, while they last.

        What a Job that is gone was charged stands.
        """
        charges = desk.book.charges()
        ends = self._ends(desk) if charges else {}
        held = {lease.token for lease in desk.book.leases()}
        for charge in charges:
            if charge.token in ends or charge.token not in held:
                desk.book.settle(charge.token, ends.get(charge.token))

    def _ends(self, desk: Desk) -> dict[int, int]:
        """When the pool's Jobs ended, by token, in milliseconds since 1970.

        One that has ended and does not say so yet has done so within the last second.
        """
        now = self._clock.now()
        return {
            job.token: now if job.finished is None else job.finished
            for job in self._census.jobs()
            if job.token is not None
            and job.granted_pool == desk.name
            and isinstance(self._leases.judge(job, job.uid, self._census.pods(job.uid)), Over)
        }

    async def _open(self, desk: Desk) -> Page:
        now = self._clock.now()
        known = max(self._highest_token(desk), desk.book.version)
        first = State(version=max(now, known + 1))
        opened = await self._ledger.open(desk.name, first)
        while isinstance(opened, Conflict):
            page = await self._ledger.read(desk.name)
            opened = page or await self._ledger.open(desk.name, first)
        return opened

    def _highest_token(self, desk: Desk) -> int:
        """The highest token known: on the pool's Jobs, in its line or status, or given here.

        Those that no pool can have given are left out.
        """
        ours = [
            job.token or 0
            for job in self._census.jobs()
            if job.granted_pool in (desk.name, None) or self._intake.desk(job.uid) is desk
        ]
        found = [*ours, desk.given, self._registry.token(desk.name)]
        return max(token for token in found if desk.believes(token))
