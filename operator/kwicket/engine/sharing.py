"""Sharing: tells the other clusters of a pool what happens here, and hears what happens there."""

import asyncio
import hashlib
import math
from collections.abc import Iterable

import structlog
from msgspec.structs import replace

from kwicket.core.pools import Shown
from kwicket.core.state import Intent
from kwicket.engine.desk import Desk
from kwicket.engine.share import Share
from kwicket.ports.backlog import Backlog, Elsewhere, Freed, News, Remembered, elsewhere
from kwicket.ports.clock import Clock
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Page

BEAT = 5.0
"""Seconds between two signs of life, after which the others are heard too, if nobody rang."""

_log = structlog.get_logger(__name__)


class Sharing:
    """Of all desks. Every method but `keep` raises UnavailableError."""

    def __init__(self, backlog: Backlog, clock: Clock, lapse: float | None = None) -> None:
        """`lapse` is after how many seconds of silence a cluster's slots are free; None: never."""
        self.backlog = backlog
        self._clock = clock
        self._lapse = math.inf if lapse is None else lapse

    def read(self, desk: Desk) -> None:
        """The page is read now, and the others are heard then: who rings from now on is newer."""
        _share(desk).behind = False

    async def join(self, desk: Desk) -> Remembered:
        """Takes part in the pool. Raises ValueError if another cluster has our name."""
        return await self.backlog.join(desk.name, _digest(desk))

    async def doubt(self, desk: Desk, token: int) -> None:
        """Has it remembered that this cluster went back, for whoever leads next."""
        await self.backlog.doubt(desk.name, token)

    async def tell_all(
        self, desk: Desk, highest: int, over: tuple[Freed, ...], shown: Shown
    ) -> None:
        """Tells all that stands in the book; from then on others may decide. `over` ended unseen.

        A start that was sent may arrive, though the server that took its grant be lost: its slot
        counts as taken. One that is over and was never told of is not told here, but next.
        """
        share, now = _share(desk), self._clock.now()
        ended = share.freed(share.touched, desk.book, desk.pending, now)
        share.forget_told(desk.book)
        uids, share.touched = share.touched, share.untold()
        sent = {start.token for start, _ in desk.sent.own()}
        unsent = {uid: one for uid, one in desk.pending.items() if one.lease.token not in sent}
        here = share.news(uids, desk.book, unsent, now)
        await self.backlog.tell_all(desk.name, replace(here, over=(*over, *ended)), highest, shown)
        share.told(replace(here, over=()))
        share.shown = shown

    async def tell(self, desk: Desk) -> None:
        """Tells until there is nothing to tell; what leaves the page next was told then.

        Or until the desk has let go of its page or its book: another book may not have all yet, and
        what it lacks is not over. All is told once the pool is recovered.
        """
        share, book, page = _share(desk), desk.book, desk.page
        while share.touched and desk.book is book and desk.page is page:
            uids, share.touched = share.touched, set()
            news = share.news(uids, desk.book, desk.pending, self._clock.now())
            if news == News():
                continue
            try:
                await self.backlog.tell(desk.name, news, desk.book.version)
            except UnavailableError:
                share.touched |= uids
                raise
            share.told(news)

    async def hear(self, desk: Desk) -> Elsewhere:
        """What the others have told since they were heard last. Read the page before.

        What clusters hold that were silent for too long is freed, and heard of the next time.
        """
        heard = await self.backlog.hear(desk.name, _share(desk).upto)
        _share(desk).hear(heard)
        for member in heard.members:
            if member.missing > self._lapse:
                await self._forget(desk, member.cluster)
        return heard

    async def hear_of(self, desk: Desk, page: Page) -> Elsewhere:
        """The same, after this page was read.

        All that there is says nothing of what is over, which the page may still have: its cluster,
        which would take it off, may be gone.
        """
        heard = await self.hear(desk)
        if not heard.whole:
            return heard
        running = {one.token for one in heard.running}
        leases = (intent.lease for intent in page.state.intents if elsewhere(intent.lease.uid))
        unheard = {one.token: one for one in leases if one.token not in running}
        ends = await self.ended(desk, tuple(unheard))
        over = (Freed(unheard[token], at) for token, at in ends.items() if at is not None)
        return replace(heard, freed=(*heard.freed, *over))

    def take_in(self, desk: Desk, heard: Elsewhere, former: Iterable[str]) -> None:
        """Takes in what the others have told, after the page that was adopted.

        `former` were pending before it. Gives back what their clusters did not take up in time.
        """
        share = _share(desk)
        share.compare(heard.members, _digest(desk))
        share.take(heard, desk.book)
        over = [one.lease for one in desk.pending.values() if share.over(one.lease)]
        for lease in over:
            desk.acknowledge(lease.uid, lease.token)
        held = (lease.uid for lease in desk.book.leases()) if heard.whole else ()
        share.reconcile({*former, *held, *(one.uid for one in over)}, desk.pending, desk.book)
        share.settle(desk.book, desk.pending.values())
        late = [i for i in desk.pending.values() if i.lease.token in heard.overdue]
        for intent in late:
            if elsewhere(intent.lease.uid):
                desk.give_back(intent)
        share.reconcile([intent.lease.uid for intent in late], desk.pending, desk.book)
        desk.pass_over(share.highest)
        desk.wake()

    async def ended(self, desk: Desk, tokens: tuple[int, ...]) -> dict[int, int | None]:
        """When grants ended, of which nothing else is known here."""
        return await self.backlog.ended(desk.name, tokens) if tokens else {}

    async def claimed(self, desk: Desk, due: tuple[Intent, ...]) -> tuple[Intent, ...]:
        """Those of this cluster, taken up: from now on nobody else gives them back.

        Whatever others have written meanwhile, which is read before the next decision. While Jobs
        can't be started here only what has a task already, so that others can give back the rest.
        """
        share, page, tasks = _share(desk), desk.page, desk.applying
        here = (one for one in due if not elsewhere(one.lease.uid))
        own = [one for one in here if share.able or tasks.get(one.lease.uid) == one]
        if not own or page is None:
            return ()
        claimed = await self.backlog.claim(page, tuple(one.lease.token for one in own))
        if claimed.page is not None and desk.page is page:
            desk.page = claimed.page
        else:
            share.behind = True
            desk.wake()
        await self._drop(desk, [one for one in own if one.lease.token not in claimed.tokens])
        taken_up = (one for one in own if one.lease.token in claimed.tokens)
        return tuple(one for one in taken_up if desk.pending.get(one.lease.uid) == one)

    async def _drop(self, desk: Desk, lost: list[Intent]) -> None:
        """Drops those that a page still has although this cluster has told that they are over."""
        ends = await self.ended(desk, tuple(one.lease.token for one in lost))
        for one in lost:
            if one.lease.token in ends:
                desk.drop(one, ends[one.lease.token])

    async def keep(self, desk: Desk) -> None:
        """Gives signs of life until cancelled, and has the others heard if nobody rang.

        So is tried what failed: who can't hear the others says so, though nothing is to be written.
        """
        while True:
            await asyncio.sleep(BEAT)
            try:
                if desk.page is None:
                    await self.backlog.alive(desk.name)
                    continue
                if not await self.backlog.beat(desk.name, _digest(desk), _share(desk).shown):
                    desk.page = None
            except UnavailableError as error:
                _log.warning("no sign of life", pool=desk.name, error=str(error))
            _share(desk).behind = True
            desk.wake()

    async def _forget(self, desk: Desk, cluster: str) -> None:
        if await self.backlog.forget(desk.name, cluster, self._lapse):
            _log.warning("cluster lapsed", pool=desk.name, cluster=cluster, silent_s=self._lapse)
        _share(desk).behind = True


def _share(desk: Desk) -> Share:
    assert desk.share is not None  # noqa: S101 - who shares a ledger gives each desk a share
    return desk.share


def _digest(desk: Desk) -> str:
    """Of what decides about the Jobs of all clusters, in whatever order it was written."""
    rules = desk.book.rules
    pool, limits = rules.pool, sorted(rules.limits, key=lambda limit: limit.name)
    factors, shares = sorted(map(repr, pool.priority.factors)), sorted(pool.shares.items())
    text = repr((factors, pool.charging, shares, limits))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
