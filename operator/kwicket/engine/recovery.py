"""Recovery: how a pool is taken over, after a start and after a conflict alike.

First the ledger, then complete lists of Jobs and pods, then the charges of Jobs that ended unseen,
then grants that are still intents, then a decision: what somebody else granted is in one of both.
"""

import structlog

from kwicket.core.release import Over
from kwicket.core.state import Intent, State
from kwicket.core.tickets import Ticket
from kwicket.engine.census import Census
from kwicket.engine.desk import Desk
from kwicket.engine.intake import Intake, lease_of
from kwicket.engine.leases import Leases
from kwicket.engine.lists import Lists
from kwicket.engine.registry import Registry
from kwicket.engine.restores import WentBackError, compared
from kwicket.engine.sharing import Sharing
from kwicket.engine.sweeps import Sweeps
from kwicket.ports.backlog import Elsewhere, Freed, elsewhere
from kwicket.ports.clock import Clock
from kwicket.ports.cluster import Cluster
from kwicket.ports.errors import UnavailableError
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
        sweeps: Sweeps,
        leases: Leases,
        lists: Lists,
        sharing: Sharing | None = None,
    ) -> None:
        self._sharing = sharing
        self._ledger = ledger
        self._cluster = cluster
        self._clock = clock
        self._census = census
        self._registry = registry
        self._intake = intake
        self._sweeps = sweeps
        self._leases = leases
        self._lists = lists

    async def recover(self, desk: Desk) -> tuple[Intent, ...]:
        """Reads the pool's page, or opens one, and returns the grants still to be applied.

        Raises UnavailableError, ValueError (PageError if the page is one), or WentBackError.
        """
        desk.page = None
        shared = self._sharing is not None
        page = await (self._list_and_read(desk) if shared else self._read_and_list(desk))
        if page is None:
            page = await self._open(desk)
            await self._check(desk, page)
        self._await_starts(desk, page)
        heard = await self._hear(desk, page)
        started = await self._take_over(desk, page, heard)
        _log.info(
            "recovered",
            pool=desk.name,
            version=desk.book.version,
            intents=len(desk.pending),
            waiting=desk.book.waiting,
            running=desk.book.running,
        )
        return started

    async def _check(self, desk: Desk, page: Page | None) -> None:
        """Raises WentBackError if the pool's page, or the whole cluster, has gone back in time.

        A page that is older than a token heard of was read before that, if somebody else writes
        too: only one that is read after it proves anything. UnavailableError if it was. Where
        clusters share the ledger, a page goes back by a failover, after which all of them tell
        what runs and how far the tokens are.
        """
        known = self._known(desk)
        if self._sharing is None and page is not None and page.state.version < known:
            newest = await self._ledger.read(desk.name)
            if newest is None or newest.state.version >= known:
                raise UnavailableError("somebody else has written the ledger meanwhile")
            for uid in desk.distrust(known):
                self._intake.consider(uid)
        if desk.doubt is not None and self._sharing is not None:
            await self._sharing.doubt(desk, desk.doubt)
        if desk.doubt is not None:
            raise WentBackError(desk, max(self._clock.now(), desk.doubt + 1))

    def _await_starts(self, desk: Desk, page: Page) -> None:
        """Raises UnavailableError while a start is on its way of which the page knows no more.

        Its slot would be another's when it arrives: the ledger was lost, or the Pool was deleted
        with it. One that has arrived is on its Job, whose list was just taken in; a Job that is
        gone can't be reached.
        """
        kept = {intent.lease.token for intent in page.state.intents}
        for start, seconds in desk.sent.own():
            job = self._census.job(start.uid)
            arrives = job is not None and (job.token or 0) < start.token
            if arrives and start.token not in kept:
                what = f"the start of {start.uid} with token {start.token} may be on its way"
                raise UnavailableError(f"{what}, and the ledger was lost", seconds)

    def _known(self, desk: Desk) -> int:
        """The highest token that the ledger is known to have had as its version."""
        return max(desk.given, self._registry.token(desk.name))

    async def _read_and_list(self, desk: Desk) -> Page | None:
        page = await self._ledger.read(desk.name)
        await self._check(desk, page)
        if page is not None:
            desk.learn(page)
        await self._lists.since(desk, page)
        await self._sweeps.one()
        await self._check(desk, page)
        return page

    async def _list_and_read(self, desk: Desk) -> Page | None:
        """Where clusters share the ledger: no page is read until each has told what runs there.

        A grant that leaves the page after the list was told before this process joined, as its
        Job was seen with it; so the list has it. In doubt nothing is told: what ran may run.
        """
        assert self._sharing is not None  # noqa: S101 - it is asked for then alone
        await self._check(desk, None)
        before = await self._sharing.join(desk)
        await self._cluster.relist()
        await self._sweeps.one()
        shown = await compared(desk, before, self._cluster, self._sharing, self._intake)
        self._registry.saw_status(desk.name, shown)
        await self._check(desk, None)
        await self._sharing.tell_all(desk, self._highest_token(desk), self._over(desk), shown)
        self._sharing.read(desk)
        try:
            page = await self._ledger.read(desk.name)
        except UnavailableError:
            await self._sharing.hear(desk)  # who has not told and is silent for too long lapses
            raise
        await self._check(desk, page)
        return page

    async def catch_up(self, desk: Desk) -> tuple[Intent, ...]:
        """Takes in what other clusters did meanwhile; the grants still to be applied here.

        Raises UnavailableError, or PageError.
        """
        if self._sharing is not None:
            self._sharing.read(desk)
        page = await self._ledger.read(desk.name)
        if page is None:
            raise UnavailableError(f"ledger {desk.name}: somebody has removed the page")
        heard = await self._hear(desk, page)
        if desk.page is None or desk.doubt is not None:
            return ()
        self._consider(desk, self._adopt(desk, page, heard))
        return await self._due(desk)

    async def _take_over(
        self, desk: Desk, page: Page, heard: Elsewhere | None
    ) -> tuple[Intent, ...]:
        highest, word = self._highest_token(desk), desk.word
        under_way = self._adopt(desk, page, heard)
        desk.pass_over(highest)
        desk.pass_over(word)
        await self._settle(desk)
        self._consider(desk, under_way)
        if page.state.version < word:
            self._take_back(desk)
        desk.book.recovered()
        return await self._due(desk, anew=True)

    async def _hear(self, desk: Desk, page: Page) -> Elsewhere | None:
        """What other clusters have told, after the page was read; None if none share the ledger."""
        return None if self._sharing is None else await self._sharing.hear_of(desk, page)

    def _adopt(self, desk: Desk, page: Page, heard: Elsewhere | None) -> set[str]:
        """Takes the page's word, and that of other clusters; what was under way before."""
        under_way = set(desk.pending)
        if desk.page is None or desk.page.stamp != page.stamp:
            desk.adopt(page, self._not_granted(desk))
        if self._sharing is not None and heard is not None:
            self._sharing.take_in(desk, heard, under_way)
        return under_way

    def _consider(self, desk: Desk, under_way: set[str]) -> None:
        """Looks at the submissions of this cluster that are or were under way."""
        for uid in under_way | desk.pending.keys():
            if elsewhere(uid):
                continue
            if uid in desk.pending:
                self._intake.home(uid, desk)
            self._intake.consider(uid)

    async def _due(self, desk: Desk, *, anew: bool = False) -> tuple[Intent, ...]:
        """The grants that no task brings to their Jobs yet.

        `anew`: all are taken up again, since a failover may have lost that they were.
        """
        due = tuple(i for uid, i in desk.pending.items() if desk.applying.get(uid) != i)
        if self._sharing is None:
            return due
        asked = tuple(desk.pending.values()) if anew else due
        claimed = await self._sharing.claimed(desk, asked)
        for intent in asked:
            if intent.lease.uid not in desk.pending and not elsewhere(intent.lease.uid):
                self._intake.consider(intent.lease.uid)
        return tuple(i for i in claimed if desk.applying.get(i.lease.uid) != i)

    def _take_back(self, desk: Desk) -> None:
        """Gives back what was under way before an administrator's word: its tokens may be used.

        Those of other clusters may have started; theirs did not go back.
        """
        for uid, intent in list(desk.pending.items()):
            if desk.applying.get(uid) != intent and not elsewhere(uid):
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

    async def _settle(self, desk: Desk) -> None:
        """Settles the charges of Jobs whose end nobody saw: by their own stamps, while they last.

        Or by what other clusters have told. What a Job that is gone was charged stands.
        """
        charges = desk.book.charges()
        over = self._over(desk) if charges else ()
        ends: dict[int, int | None] = {one.lease.token: one.at for one in over}
        held = {lease.token for lease in desk.book.leases()}
        gone = {charge.token for charge in charges} - ends.keys() - held
        if self._sharing is not None:
            ends |= await self._sharing.ended(desk, tuple(sorted(gone)))
        for charge in charges:
            if charge.token in ends or charge.token not in held:
                desk.book.settle(charge.token, ends.get(charge.token))

    def _over(self, desk: Desk) -> tuple[Freed, ...]:
        """The pool's Jobs that have ended and are still there.

        One that has ended and does not say so yet has done so within the last second.
        """
        now, pods = self._clock.now(), self._census.pods
        return tuple(
            Freed(lease_of(job), now if job.finished is None else job.finished)
            for job in self._census.jobs()
            if job.token is not None
            and job.granted_pool == desk.name
            and (job.ended or isinstance(self._leases.judge(job, job.uid, pods(job.uid)), Over))
        )

    async def _open(self, desk: Desk) -> Page:
        """Raises UnavailableError if somebody else has: grants that have left its page are newer
        than our lists."""
        known = max(self._highest_token(desk), desk.book.version)
        first = State(version=max(self._clock.now(), known + 1))
        opened = await self._ledger.open(desk.name, first)
        if isinstance(opened, Conflict):
            raise UnavailableError("somebody else has opened the ledger meanwhile")
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
