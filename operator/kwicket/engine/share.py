"""A share: what a desk knows of the other clusters' Jobs, and what they were told of its own.

Only with a ledger that clusters share. A submission of another cluster stands in the book like any
other; its ticket is kept here as well, since it may have to go back in line.
"""

from collections.abc import Collection, Iterable, Mapping

from kwicket.core.book import Book
from kwicket.core.leases import Lease
from kwicket.core.pools import NOTHING, Shown
from kwicket.core.state import Charge, Intent
from kwicket.core.tickets import Ticket
from kwicket.ports.backlog import Elsewhere, Freed, Member, News, elsewhere

SILENT = 30.0
"""Seconds without a sign of life after which no Job of a cluster is granted."""


class Share:
    """Of one desk. Nothing awaits."""

    def __init__(self) -> None:
        self.behind = True
        """Whether the page or the backlog may have been written by others since they were read."""
        self.touched: set[str] = set()
        """Own submissions whose place may be another one than was told."""
        self.upto = 0
        """Up to which change the others were heard."""
        self.highest = 0
        """Up to which token all may be used, by all that was heard, whatever a page says."""
        self.able = True
        """Whether Jobs can be started here. While not, none is told to wait, and none taken up."""
        self.shown = NOTHING
        """The most that the status has shown of the Pool that there was when all was told."""
        self.differing: tuple[str, ...] = ()
        """The clusters that declare the pool otherwise."""
        self.unread: set[str] = set()
        """Submissions under way that the API server could not be asked for when last tried."""
        self._waiting: dict[str, Ticket] = {}
        self._running: dict[str, Lease] = {}
        self._away: set[str] = set()
        self._untold: dict[int, Lease] = {}
        self._ended: dict[int, int] = {}
        self._over: set[tuple[str, int]] = set()
        self._told_waiting: dict[str, Ticket] = {}
        self._told_running: dict[str, Lease] = {}
        self._held_until: dict[int, int] = {}

    def saw(self, shown: Shown) -> None:
        """Notes what the Pool's status shows."""
        if shown.uid == self.shown.uid and shown.token > self.shown.token:
            self.shown = shown

    def compare(self, members: Iterable[Member], rules: str) -> None:
        """Notes which clusters that give signs of life go by other rules than these."""
        others = (one for one in members if not one.here and one.silence <= SILENT)
        self.differing = tuple(one.cluster for one in others if one.rules not in ("", rules))

    def started(self, lease: Lease) -> None:
        """Notes that a grant was seen on its Job, so that this is told though it end at once."""
        if not (elsewhere(lease.uid) or lease.token in self._ended or self._has_told(lease)):
            self._untold[lease.token] = lease

    def untold(self) -> set[str]:
        """Whose grants were seen on their Jobs, and were not told of yet."""
        return {lease.uid for lease in self._untold.values()}

    def touch(self, uids: Iterable[str], book: Book, now: int, *, over: bool = False) -> None:
        """Notes that the place of own submissions changes `now`; it is to be told.

        `over`: they have ended. What a page says later of one that was not told of is not so.
        """
        for uid in uids:
            if elsewhere(uid):
                continue
            self.touched.add(uid)
            lease = book.lease(uid)
            if lease is not None and self._has_told(lease):
                self._held_until[lease.token] = now
            elif lease is not None and over and lease.token in self._untold:
                self._held_until.setdefault(lease.token, now)

    def waiting_here(self) -> tuple[str, ...]:
        """The own submissions that were told to wait."""
        return tuple(sorted(self._told_waiting))

    def ticket(self, uid: str) -> Ticket | None:
        """The ticket of a submission of another cluster, as that has told it."""
        return self._waiting.get(uid)

    def enable(self, able: bool, book: Book) -> None:
        """Notes whether Jobs can be started here; if that changes, who waits is to be told anew."""
        if able == self.able:
            return
        self.able, self.behind = able, True
        own = {ticket.uid for ticket in book.tickets() if not elsewhere(ticket.uid)}
        self.touched |= own | self._told_waiting.keys()

    def forget_told(self, book: Book) -> None:
        """Nothing counts as told; all that stands in the book is to be told."""
        self._told_waiting, self._told_running = {}, {}
        self._held_until = {t: at for t, at in self._held_until.items() if t in self._untold}
        self.upto = 0
        uids = {ticket.uid for ticket in book.tickets()} | {lease.uid for lease in book.leases()}
        self.touched = {uid for uid in uids if not elsewhere(uid)}

    def news(
        self, uids: Collection[str], book: Book, pending: Mapping[str, Intent], now: int
    ) -> News:
        """What differs from what was told. What is pending stands in the page, which says it."""
        waiting: list[Ticket] = []
        left: list[str] = []
        running: list[Lease] = []
        for uid in sorted(uids):
            ticket = book.ticket(uid) if self.able else None
            lease = None if uid in pending else book.lease(uid)
            told = self._told_waiting.get(uid)
            if ticket is not None and ticket != told:
                waiting.append(ticket)
            if ticket is None and told is not None and uid not in pending:
                left.append(uid)
            if lease is not None and lease.token and lease != self._told_running.get(uid):
                running.append(lease)
        untold = [lease for lease in self._untold.values() if lease.uid in uids]
        over = (*self.freed(uids, book, pending, now), *self._over_of(untold, book, pending, now))
        return News(tuple(waiting), tuple(left), tuple(running), over)

    def freed(
        self, uids: Collection[str], book: Book, pending: Mapping[str, Intent], now: int
    ) -> tuple[Freed, ...]:
        """The slots that were told of and are over.

        One that was told of before its grant was seen is no more over than that grant.
        """
        told = [self._told_running[uid] for uid in sorted(uids) if uid in self._told_running]
        return self._over_of(told, book, pending, now)

    def _over_of(
        self, leases: Iterable[Lease], book: Book, pending: Mapping[str, Intent], now: int
    ) -> tuple[Freed, ...]:
        return tuple(
            Freed(lease, self._held_until.get(lease.token, now))
            for lease in leases
            if lease.token != _token(lease.uid, book, pending)
        )

    def told(self, news: News) -> None:
        """Notes what the others know from now on."""
        for uid in news.left:
            self._told_waiting.pop(uid, None)
        for freed in news.over:
            self._told_running.pop(freed.lease.uid, None)
            self._held_until.pop(freed.lease.token, None)
            self._ended.setdefault(freed.lease.token, freed.at)
        for lease in (*news.running, *(freed.lease for freed in news.over)):
            self._untold.pop(lease.token, None)
        self._told_waiting |= {ticket.uid: ticket for ticket in news.waiting}
        self._told_running |= {lease.uid: lease for lease in news.running}

    def hear(self, heard: Elsewhere) -> None:
        """Notes what must not be lost of it if it is never taken in."""
        self.highest = max(self.highest, heard.highest)
        if heard.whole:
            self.upto = 0

    def take(self, heard: Elsewhere, book: Book) -> None:
        """Takes in what the others have told; slots of which nobody tells are to `reconcile`."""
        self.upto = heard.upto
        left = set(heard.left)
        if heard.whole:
            left |= self._waiting.keys() - {ticket.uid for ticket in heard.waiting}
            self._running.clear()
        for uid in left:
            self._leave(uid, book)
        for freed in heard.freed:
            self._free(freed.lease, freed.at, book)
        for lease in heard.running:
            self._running[lease.uid] = lease
            self._over.discard((lease.uid, lease.token))
            if book.lease(lease.uid) != lease:
                book.occupy(lease)
        self._waiting |= {ticket.uid: ticket for ticket in heard.waiting}
        away = {one.cluster for one in heard.members if one.silence > SILENT or not one.takes_up}
        back, left_away = self._away - away, away - self._away
        self._away = away
        self._line_up(heard.waiting, book)
        self._line_up(self._of(back), book)
        for ticket in self._of(left_away):
            if book.ticket(ticket.uid) is not None:
                book.forget(ticket.uid, book.now)

    def reconcile(self, former: Iterable[str], pending: Mapping[str, Intent], book: Book) -> None:
        """Puts the submissions of grants that are pending no more where their clusters say."""
        for uid in former:
            if not elsewhere(uid) or uid in pending:
                continue
            lease = self._running.get(uid)
            if lease is not None and book.lease(uid) != lease:
                book.occupy(lease)
            elif lease is None:
                book.vacate(uid)
                self._line_up([self._waiting[uid]] if uid in self._waiting else [], book)

    def over(self, lease: Lease) -> bool:
        """Whether a grant of another cluster, which the page may still have, is over."""
        return (lease.uid, lease.token) in self._over

    def settle(self, book: Book, pending: Iterable[Intent]) -> None:
        """Settles what a page that was adopted still holds open, by the moments heard or told."""
        self.committed(book.charges(), pending)
        for token, at in self._ended.items():
            book.settle(token, at)

    def committed(self, charges: Iterable[Charge], intents: Iterable[Intent]) -> None:
        """Notes which charges and grants are left in the page."""
        kept = {charge.token for charge in charges}
        self._ended = {token: at for token, at in self._ended.items() if token in kept}
        self._over &= {(one.lease.uid, one.lease.token) for one in intents}

    def _has_told(self, lease: Lease) -> bool:
        held = self._told_running.get(lease.uid)
        return held is not None and held.token == lease.token

    def _leave(self, uid: str, book: Book) -> None:
        self._waiting.pop(uid, None)
        if book.ticket(uid) is not None:
            book.forget(uid, book.now)

    def _free(self, lease: Lease, at: int, book: Book) -> None:
        held = self._running.get(lease.uid)
        if held is not None and held.token == lease.token:
            del self._running[lease.uid]
        self._ended[lease.token] = at
        self._over.add((lease.uid, lease.token))
        known = book.lease(lease.uid)
        if known is not None and known.token == lease.token:
            book.forget(lease.uid, at)

    def _of(self, clusters: set[str]) -> list[Ticket]:
        """The tickets of some clusters; looked for only if there are any."""
        tickets = self._waiting.values() if clusters else ()
        return [ticket for ticket in tickets if _cluster(ticket.uid) in clusters]

    def _line_up(self, tickets: Iterable[Ticket], book: Book) -> None:
        for ticket in tickets:
            if book.lease(ticket.uid) is None and _cluster(ticket.uid) not in self._away:
                book.submit(ticket, book.now)


def _token(uid: str, book: Book, pending: Mapping[str, Intent]) -> int | None:
    """By which a submission holds a slot, or may."""
    held = pending[uid].lease if uid in pending else book.lease(uid)
    return None if held is None else held.token


def _cluster(uid: str) -> str:
    return uid.partition("/")[0]
