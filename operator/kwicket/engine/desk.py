"""A desk: one pool at work, with its book, its ledger page and what is under way between them."""

import asyncio
from collections.abc import Iterable, Mapping

from kwicket.core.book import Book
from kwicket.core.decide import MOST_GRANTS, Decision
from kwicket.core.leases import Lease
from kwicket.core.limits import Rate
from kwicket.core.pools import Rules
from kwicket.core.state import Intent, State
from kwicket.core.tickets import Ticket
from kwicket.core.tokens import believable
from kwicket.engine.fault import Fault
from kwicket.engine.sent import Sent
from kwicket.engine.share import Share
from kwicket.ports.backlog import elsewhere
from kwicket.ports.clock import Clock
from kwicket.ports.ledger import Page

MOST_WRITING = 2 * MOST_GRANTS
"""Writes under way with which another turn may begin: while the ledger takes it, their writes
keep the API server busy."""
MOST_PENDING = 500
"""Grants that are not yet seen on their Jobs with which another turn may begin; a ledger holds
twice as many."""


class Desk:
    """Changed by the event loop's thread only; nothing awaits but `woken`, `writes_fit`, `trusted`.

    The book is ahead of the page: what happens while the ledger takes one state is in the next.
    """

    def __init__(
        self, rules: Rules, clock: Clock, sent: Sent | None = None, share: Share | None = None
    ) -> None:
        """`sent` has what an earlier desk sent; `share` is there if clusters share the ledger."""
        self.name = rules.pool.name
        self.book = Book(rules, State(1), clock.now())
        self.page: Page | None = None
        """The last page read or written; None while the ledger must be read before a decision, and
        so of a follower, whose book knows no version."""
        self.fault: Fault | None = None
        """Why nothing can be granted at the moment, None if all is well."""
        self.pending: dict[str, Intent] = {}
        """Grants that are not yet seen on their Jobs, by UID."""
        self.uncommitted: dict[str, Ticket | None] = {}
        """Those of them that the ledger has not accepted yet, with the tickets they had in line."""
        self.unsure: dict[Intent, Ticket | None] = {}
        """Those of them of which only the ledger's next page says whether it has them."""
        self.applying: dict[str, Intent] = {}
        """Those of them that have a task which brings them to their Jobs."""
        self.writing: set[str] = set()
        """Those whose writes are on their way, and not held up by failures."""
        self.sent = sent or Sent(clock)
        """Starts that were not answered."""
        self.share = share
        """What is known of other clusters; None if none share the ledger."""
        self.unannounced: set[str] = set()
        """Submissions that came into line and whose authors were not told yet."""
        self.given = 0
        """The highest token that the ledger is known to have had as its version."""
        self.doubt: int | None = None
        """The highest token known when the cluster was found to have gone back to a backup; nothing
        is granted until an administrator's word names a higher one. None if all is well."""
        self.patches = asyncio.Semaphore(MOST_GRANTS)
        self._clock = clock
        self._wake = asyncio.Event()
        self._room = asyncio.Event()

    @property
    def unsaved(self) -> bool:
        """Whether there is something that a ledger must be told.

        If only from when on it counts the starts of a limit that is new.
        """
        if self.page is None or self.book.unsaved:
            return self.book.unsaved
        limits = self.book.rules.limits
        rates = {limit.name for limit in limits if isinstance(limit.bound, Rate)}
        return rates != self.page.state.starts_since.keys()

    @property
    def word(self) -> int:
        """Up to which token all are used by an administrator's word; 0 if it is not believed."""
        above = self.book.rules.pool.above
        return above if self.believes(above) else 0

    def wake(self) -> None:
        """Asks for a turn."""
        self._wake.set()

    async def woken(self, pause: float | None) -> bool:
        """Waits for a wake-up; False if `pause` seconds (None: for ever) passed without one."""
        try:
            async with asyncio.timeout(pause):
                await self._wake.wait()
        except TimeoutError:
            return False
        self._wake.clear()
        return True

    async def writes_fit(self) -> None:
        """Waits until another turn's grants would find their writes free to go soon."""
        while len(self.writing) > MOST_WRITING or self._pending_here() > MOST_PENDING:
            self._room.clear()
            await self._room.wait()

    def declare(self, rules: Rules) -> None:
        """Takes new rules; the loop of turns brings a changed priority into force.

        By `Book.reorder`, which lets the former ranking go too, and sorts a line just read.
        """
        self.book.declare(rules)
        self.pass_over(self.word)
        if self.doubt is not None and self.word > self.doubt:
            self.doubt = None
        self.wake()

    def distrust(self, known: int) -> tuple[str, ...]:
        """Takes no turn without a word above all `known`; abandons all grants under way."""
        self.given = max(known, self.given)
        if self.word <= self.given:
            self.doubt = self.given
        self.wake()
        return self.abandon()

    async def word_given(self) -> None:
        """Returns once there is no doubt, or another word was given, which must be answered."""
        above = self.book.rules.pool.above
        while self.doubt is not None and self.book.rules.pool.above == above:
            self.tidy()
            await self.woken(None)

    def tidy(self) -> None:
        """Lets go of what has left the line. Decisions do so; without any, ask now and then."""
        self.book.advance(self._clock.now())

    def submit(self, ticket: Ticket) -> None:
        """Puts a Job in line, if that says anything new; a slot that it had is free from now on."""
        if self.book.ticket(ticket.uid) == ticket:
            return
        self._touch(ticket.uid)
        if self.book.ticket(ticket.uid) is None:
            self.unannounced.add(ticket.uid)
        self.book.submit(ticket, self._clock.now())
        self.wake()

    def occupy(self, lease: Lease) -> None:
        """Gives a Job that is seen running its slot."""
        self._touch(lease.uid)
        self.book.occupy(lease)
        self.wake()

    def believes(self, token: int) -> bool:
        """Whether the pool may go on from a token that was found, on a Job or in its status."""
        return believable(token, self._clock.now(), max(self.book.version, self.given))

    def learn(self, page: Page) -> None:
        """Notes how far the ledger is, so that its own tokens are believed."""
        self.given = max(page.state.version, self.given)

    def may_have_given(self, token: int) -> bool:
        """Whether a Job may run by this token, as far as is known here.

        Until the ledger was read and all Jobs were seen, any that is believed: it may be lost.
        """
        return self.believes(token) if self.page is None else token <= self.book.version

    def pass_over(self, token: int) -> None:
        """Gives no later grant this token or a lower one."""
        if token > self.book.version and self.believes(token):
            self.book.pass_over(token)
            self.wake()

    def forget(self, uid: str) -> None:
        """Takes a submission out of the line, or frees its slot: it has ended now."""
        self._touch(uid, over=True)
        self.book.forget(uid, self._clock.now())
        self.unannounced.discard(uid)
        self.wake()

    def acknowledge(self, uid: str, token: int | None) -> bool:
        """Notes the token seen on a Job; False if its grant is still under way."""
        intent = self.pending.get(uid)
        if intent is None:
            return True
        if token is None or token < intent.lease.token:
            return False
        self._settled(intent)
        self.book.acknowledge(intent.lease.token)
        if self.share is not None:
            self.share.started(intent.lease)
        self.wake()
        return True

    def abandon(self) -> tuple[str, ...]:
        """Forgets page and grants under way, whose tasks write no more; UIDs to be considered."""
        uids, self.page = tuple(self.pending), None
        self.pending, self.uncommitted, self.unsure = {}, {}, {}
        self.writing.clear()
        self.sent.forget_doubts()
        self._room.set()
        return uids

    def give_back(self, intent: Intent) -> None:
        """Undoes a grant that never reached its Job."""
        if self.pending.get(intent.lease.uid) == intent:
            self._settled(intent)
            self.book.give_back(intent)
            self.wake()

    def drop(self, intent: Intent, at: int | None = None) -> None:
        """Frees the slot of a grant that may have reached a Job of which nothing is left.

        Its charge and its start stay: it may have run; to its end `at`, if that is known.
        """
        if self.pending.get(intent.lease.uid) == intent:
            self._settled(intent)
            self.book.acknowledge(intent.lease.token)
            self.book.forget(intent.lease.uid, at)
            self.wake()

    def applied(self, intent: Intent) -> None:
        """Notes that no task brings this grant to its Job any more."""
        if self.applying.get(intent.lease.uid) == intent:
            del self.applying[intent.lease.uid]

    def hold_up(self, intent: Intent) -> None:
        """Notes that a grant's write has failed for now, so that others need not wait for it."""
        self.writing.discard(intent.lease.uid)
        self._room.set()

    def _touch(self, *uids: str, over: bool = False) -> None:
        if self.share is not None:
            self.share.touch(uids, self.book, self._clock.now(), over=over)

    def _pending_here(self) -> int:
        return sum(not elsewhere(uid) for uid in self.pending)

    def _settled(self, intent: Intent) -> None:
        del self.pending[intent.lease.uid]
        self._touch(intent.lease.uid)
        self.sent.settled(intent.lease.token)
        self.hold_up(intent)

    def decided(self, decision: Decision, tickets: Mapping[str, Ticket | None]) -> None:
        """Notes a decision that the ledger is being told; `tickets` of what it has granted.

        Nothing but its fate changes what was granted: an event of such a Job is looked at then.
        """
        self.uncommitted = dict(tickets)
        self.pending |= {intent.lease.uid: intent for intent in decision.grants}

    def unheard(self) -> None:
        """Notes that the ledger has not answered."""
        tickets = self.uncommitted.items()
        self.unsure = {self.pending[uid]: t for uid, t in tickets if uid in self.pending}

    def taken_unheard(self) -> list[tuple[Intent, Ticket | None]]:
        """The grants that the ledger turns out to have taken without an answer; each only once."""
        ours, self.unsure = self.unsure, {}
        intents = self.page.state.intents if self.page else ()
        return [(intent, ours[intent]) for intent in intents if intent in ours]

    def committed(self, page: Page) -> tuple[Intent, ...]:
        """Takes the page that has the decision; its grants that must be written on their Jobs."""
        self.page = page
        self.learn(page)
        if self.share is not None:
            self.share.committed(page.state.charges, page.state.intents)
        grants = [self.pending[uid] for uid in self.uncommitted if uid in self.pending]
        self.unannounced -= self.uncommitted.keys()
        self.writing |= self.uncommitted.keys() & self.pending.keys()
        self.uncommitted = {}
        return tuple(grants)

    def adopt(self, page: Page, tickets: Iterable[Ticket]) -> None:
        """Takes the ledger's word instead of all that was under way.

        `tickets` of what was granted and is in line again, unless the page knows of the grant.
        """
        self.page = page
        self.learn(page)
        self.sent.doubt(
            {intent.lease.token for intent in page.state.intents},
            {intent.lease.token for intent in self.pending.values()},
        )
        self.uncommitted = {}
        self._touch(*self.pending)
        self.pending = {intent.lease.uid: intent for intent in page.state.intents}
        self.writing &= self.pending.keys()
        self._room.set()
        for intent in page.state.intents:
            self.book.occupy(intent.lease)
        for ticket in tickets:
            if ticket.uid not in self.pending:
                self.book.submit(ticket)
        self.book.adopt(page.state)
