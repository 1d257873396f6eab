"""A desk: one pool at work, with its book, its ledger page and what is under way between them."""

import asyncio

from msgspec import Struct
from msgspec.structs import replace

from kwicket.core.book import Book
from kwicket.core.decide import MOST_GRANTS, Decision
from kwicket.core.pools import Rules
from kwicket.core.state import Intent, State
from kwicket.core.tickets import Ticket
from kwicket.ports.ledger import Page

MOST_WRITING = 2 * MOST_GRANTS
"""Writes under way with which another turn may begin: while the ledger takes it, their writes
keep the API server busy."""
MOST_PENDING = 500
"""Grants that are not yet seen on their Jobs with which another turn may begin; a ledger holds
twice as many."""


class Acknowledged(Struct, frozen=True):
    """A grant was seen on its Job."""

    token: int


class Returned(Struct, frozen=True):
    """A grant never reached its Job."""

    intent: Intent


class Left(Struct, frozen=True):
    """The last waiting Job of a tenant went away without a grant."""

    tenant: str


class Passed(Struct, frozen=True):
    """A Job in line carries this token of another pool: the next ones must be higher."""

    token: int


type Edit = Acknowledged | Returned | Left | Passed


class Desk:
    """Changed by the event loop's thread only; nothing here awaits but `woken`."""

    def __init__(self, rules: Rules) -> None:
        self.name = rules.pool.name
        self.book = Book(rules, State(1))
        self.page: Page | None = None
        """The last page read or written; None while the ledger must be read before a decision."""
        self.fault: str | None = None
        """Why nothing can be granted at the moment, None if all is well."""
        self.pending: dict[str, Intent] = {}
        """Committed grants that are not yet seen on their Jobs, by UID."""
        self.writing: set[str] = set()
        """Those of them whose writes are on their way, and not held up by failures."""
        self.doubtful: set[int] = set()
        """The tokens that may have reached their Jobs although no answer said so."""
        self.unannounced: set[str] = set()
        """Submissions that came into line and whose authors were not told yet."""
        self.patches = asyncio.Semaphore(MOST_GRANTS)
        self.unsaved = False
        self._edits: list[Edit] = []
        self._wake = asyncio.Event()
        self._room = asyncio.Event()

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
        while len(self.writing) > MOST_WRITING or len(self.pending) > MOST_PENDING:
            self._room.clear()
            await self._room.wait()

    def submit(self, ticket: Ticket) -> None:
        """Puts a Job in line, if that says anything new."""
        if self.book.ticket(ticket.uid) == ticket:
            return
        if self.book.ticket(ticket.uid) is None:
            self.unannounced.add(ticket.uid)
        self.book.submit(ticket)
        self.wake()

    def pass_over(self, token: int) -> None:
        """Gives no later grant this token or a lower one."""
        if token > self.book.state.version:
            self._edit(Passed(token))

    def forget(self, uid: str) -> None:
        """Takes a submission out of the line and frees its slot."""
        ticket = self.book.ticket(uid)
        self.book.forget(uid)
        self.unannounced.discard(uid)
        if ticket is not None and ticket.tenant not in self.book.line():
            self._edit(Left(ticket.tenant))
        self.wake()

    def acknowledge(self, uid: str, token: int | None) -> bool:
        """Notes the token seen on a Job; False if its grant is still under way."""
        intent = self.pending.get(uid)
        if intent is None:
            return True
        if token is None or token < intent.lease.token:
            return False
        self._settled(intent)
        self._edit(Acknowledged(intent.lease.token))
        return True

    def give_back(self, intent: Intent) -> None:
        """Undoes a grant that never reached its Job."""
        self._undo(intent, Returned(intent))

    def drop(self, intent: Intent) -> None:
        """Frees the slot of a grant that may have reached a Job of which nothing is left.

        Its charge and its start stay: it may have run.
        """
        self._undo(intent, Acknowledged(intent.lease.token))

    def hold_up(self, intent: Intent) -> None:
        """Notes that a grant's write has failed for now, so that others need not wait for it."""
        self.writing.discard(intent.lease.uid)
        self._room.set()

    def _undo(self, intent: Intent, edit: Edit) -> None:
        if self.pending.get(intent.lease.uid) == intent:
            self._settled(intent)
            self.book.forget(intent.lease.uid)
            self._edit(edit)

    def _settled(self, intent: Intent) -> None:
        del self.pending[intent.lease.uid]
        self.doubtful.discard(intent.lease.token)
        self.hold_up(intent)

    def settle(self) -> None:
        """Brings what happened since the last turn into the state that is decided on."""
        for edit in self._edits:
            state = self.book.state
            match edit:
                case Acknowledged(token):
                    self.book.state = state.acknowledged((token,))
                case Returned(intent):
                    self.book.state = state.returned(intent)
                case Left(tenant):
                    self.book.state = state.left(tenant)
                case Passed(token):
                    self.book.state = replace(state, version=max(state.version, token))
        self._edits.clear()

    def committed(self, page: Page, decision: Decision) -> None:
        """Takes a decision that the ledger has accepted."""
        self.page = page
        self.unsaved = bool(self._edits)
        self.book.state = page.state
        for intent in decision.grants:
            self.unannounced.discard(intent.lease.uid)
            self.book.occupy(intent.lease)
            self.pending[intent.lease.uid] = intent
            self.writing.add(intent.lease.uid)

    def adopt(self, page: Page) -> None:
        """Takes the ledger's word instead of all that was under way."""
        self.page = page
        self.unsaved = False
        self.book.state = page.state
        self._edits.clear()
        self.pending = {intent.lease.uid: intent for intent in page.state.intents}
        self.writing &= self.pending.keys()
        self.doubtful = {intent.lease.token for intent in page.state.intents}
        self._room.set()
        for intent in page.state.intents:
            self.book.occupy(intent.lease)
        for tenant in page.state.fairness.standing.keys() - self.book.line().keys():
            self._edit(Left(tenant))

    def _edit(self, edit: Edit) -> None:
        self._edits.append(edit)
        self.unsaved = True
        self._wake.set()
