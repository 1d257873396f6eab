"""A ledger and a backlog in memory that several clusters share: for tests and simulation."""

import asyncio
import math
from collections.abc import Callable

from msgspec.structs import replace

from kwicket.core.leases import Lease
from kwicket.core.pools import NOTHING, Shown
from kwicket.core.state import State
from kwicket.core.tickets import Ticket
from kwicket.ports.backlog import Claimed, Elsewhere, Freed, News, Remembered
from kwicket.ports.clock import Clock
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Conflict, Page
from kwicket_storage.backlog import START_DEADLINE, difference
from kwicket_storage.clusters import Cluster, Place
from kwicket_storage.shelves import KeptGrant, KeptMember, KeptTicket, Shelf


class SharedMemory:
    """What all share, by the one clock that counts."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._shelves: dict[str, Shelf] = {}
        self._stamps = 0
        self._listeners: list[Callable[[str], None]] = []

    def listen(self, listener: Callable[[str], None]) -> None:
        """Has it called with the pool's name after each write, by the event loop."""
        self._listeners.append(listener)

    def ring(self, pool: str) -> None:
        """Tells all listeners that a pool was written."""
        for listener in self._listeners:
            asyncio.get_running_loop().call_soon(listener, pool)

    def pools(self, cluster: str) -> tuple[str, ...]:
        """Those that a cluster shares."""
        return tuple(sorted(name for name, one in self._shelves.items() if cluster in one.members))

    def shelf(self, pool: str) -> Shelf:
        """All that is kept of a pool."""
        return self._shelves.setdefault(pool, Shelf())

    def stamp(self) -> int:
        """One that was never used."""
        self._stamps += 1
        return self._stamps


class SharedMemoryLedger:
    """The ledger of one cluster."""

    def __init__(
        self, memory: SharedMemory, cluster: Cluster, teller: "SharedMemoryBacklog | None" = None
    ) -> None:
        """Commits only as long as `teller` tells of the cluster; None: whoever does."""
        self._memory = memory
        self._cluster = cluster
        self._teller = teller

    async def read(self, pool: str) -> Page | None:
        """The newest page. Raises UnavailableError while another cluster has not told all."""
        shelf = self._memory.shelf(pool)
        if shelf.state is None:
            return None
        others = {name: one for name, one in shelf.members.items() if name != self._cluster.name}
        missing = sorted(name for name, one in others.items() if not one.told)
        if missing:
            raise UnavailableError(f"ledger {pool}: {', '.join(missing)} must tell first")
        return Page(pool, self._cluster.own(shelf.state), str(shelf.stamp))

    async def open(self, pool: str, state: State) -> Page | Conflict:
        """Makes the first page of a pool. Conflict if there is one already."""
        shelf = self._memory.shelf(pool)
        if shelf.state is not None:
            return Conflict()
        for intent in state.intents:
            self._grant(shelf, intent.lease)
        return self._write(pool, shelf, state)

    async def commit(self, page: Page, state: State) -> Page | Conflict:
        """Replaces `page` if nobody else has. Raises ValueError if the version would fall."""
        if state.version < page.state.version:
            raise ValueError(f"ledger {page.pool}: version {state.version} would fall")
        shelf = self._memory.shelf(page.pool)
        if shelf.state is None or str(shelf.stamp) != page.stamp or self._replaced(shelf):
            return Conflict()
        known = {intent.lease.token for intent in page.state.intents}
        kept = {intent.lease.token: intent.lease for intent in state.intents}
        for token in kept.keys() - known:
            self._grant(shelf, kept[token])
        for (_, token), one in shelf.grants.items():
            if token in known - kept.keys() and not one.started and one.ended is None:
                one.ended = self._memory.clock.now()
        return self._write(page.pool, shelf, state)

    def _replaced(self, shelf: Shelf) -> bool:
        member = shelf.members.get(self._cluster.name)
        told_by = None if member is None else member.teller
        return self._teller is not None and told_by is not self._teller

    def remove(self, pool: str) -> None:
        """Removes a page, as an administrator may."""
        self._memory.shelf(pool).state = None

    def _grant(self, shelf: Shelf, lease: Lease) -> None:
        place = self._cluster.place(lease.job, lease.uid)
        shelf.grants[place.cluster, lease.token] = KeptGrant(
            place.cluster,
            replace(lease, job=place.job, uid=place.uid),
            self._memory.clock.monotonic(),
            claimed=place.cluster == self._cluster.name,
        )

    def _write(self, pool: str, shelf: Shelf, state: State) -> Page:
        shelf.stamp, shelf.state = self._memory.stamp(), self._cluster.shared(state)
        self._memory.ring(pool)
        return Page(pool, state, str(shelf.stamp))


class SharedMemoryBacklog:
    """The backlog for one process of one cluster."""

    def __init__(self, memory: SharedMemory, cluster: Cluster, identity: str) -> None:
        self._memory = memory
        self._cluster = cluster
        self._identity = identity

    async def join(self, pool: str, rules: str) -> Remembered:
        """Takes over the telling. Raises ValueError if another cluster has our name."""
        shelf, name = self._memory.shelf(pool), self._cluster.name
        known = shelf.members.get(name)
        if known is not None and known.identity != self._identity:
            raise ValueError(f"pool {pool}: {name!r} is taken: give each cluster a name of its own")
        wall, now = self._memory.clock.now(), self._memory.clock.monotonic()
        member = known or KeptMember(self._identity, self, rules, now, now, now)
        shelf.members[name] = member.taken_over(self, rules, now)
        if known is not None:
            shelf.members[name].formerly = wall - math.ceil((now - known.seen) * 1000)
        return shelf.remembered(name)

    async def beat(self, pool: str, rules: str, shown: Shown = NOTHING) -> bool:
        """Gives a sign of life; False if all must be told anew."""
        member = self._memory.shelf(pool).members.get(self._cluster.name)
        if member is None or member.teller is not self:
            return False
        member.seen, member.rules = self._memory.clock.monotonic(), rules
        member.live(member.seen)
        if shown.uid == member.shown.uid and shown.token > member.shown.token:
            member.shown = shown
        return member.told

    async def alive(self, pool: str) -> None:
        """Gives a sign of life, whoever tells of this cluster."""
        member = self._memory.shelf(pool).members.get(self._cluster.name)
        if member is not None and member.identity == self._identity:
            member.live(self._memory.clock.monotonic())

    async def doubt(self, pool: str, token: int) -> None:
        """Remembers that this cluster went back."""
        member = self._memory.shelf(pool).members.get(self._cluster.name)
        if member is not None and member.identity == self._identity:
            member.doubt = max(token, member.doubt)

    async def tell(self, pool: str, news: News, highest: int) -> None:
        """Notes what has changed here."""
        shelf, name = self._memory.shelf(pool), self._cluster.name
        self._member(pool)
        shelf.change += 1
        shelf.highest = max(shelf.highest, highest)
        for ticket in news.waiting:
            shelf.tickets[name, ticket.uid] = KeptTicket(ticket, shelf.change)
        for uid in news.left:
            shelf.depart((name, uid))
        for lease in news.running:
            self._lease(shelf, lease, None)
        for freed in news.over:
            self._lease(shelf, freed.lease, min(freed.at, self._memory.clock.now()))
        self._memory.ring(pool)

    async def tell_all(self, pool: str, here: News, highest: int, shown: Shown = NOTHING) -> None:
        """Notes that this is all."""
        shelf, name = self._memory.shelf(pool), self._cluster.name
        member = self._member(pool)
        waiting = [
            one.ticket for key, one in shelf.tickets.items() if key[0] == name and not one.gone
        ]
        running = [
            one.lease
            for one in shelf.grants.values()
            if one.cluster == name and one.started and one.ended is None
        ]
        last = self._memory.clock.now() if member.formerly is None else member.formerly
        await self.tell(pool, difference(waiting, running, here, last), highest)
        member.told, member.shown, member.doubt = True, shown, 0
        self._memory.ring(pool)

    async def hear(self, pool: str, since: int) -> Elsewhere:
        """What the others have told after a change."""
        shelf, clock, here = self._memory.shelf(pool), self._memory.clock, self._cluster.name
        now, wall = clock.monotonic(), clock.now()
        waiting, left = self._line(shelf, since)
        running, freed = self._slots(shelf, since)
        others = (one for one in shelf.grants.values() if one.cluster != here)
        overdue = (one.lease.token for one in others if shelf.overdue(one, now - START_DEADLINE))
        late = wall - START_DEADLINE * 1000
        return Elsewhere(
            waiting,
            left,
            running,
            freed,
            upto=shelf.change,
            whole=since == 0,
            highest=max(shelf.highest, 0 if since else wall),
            overdue=tuple(sorted(overdue)),
            members=tuple(
                shelf.heard(name, now, late, here=name == here) for name in sorted(shelf.members)
            ),
        )

    async def ended(self, pool: str, tokens: tuple[int, ...]) -> dict[int, int | None]:
        """When these grants ended."""
        grants = self._memory.shelf(pool).grants.items()
        mine = ((token, one.ended) for (_, token), one in grants if token in tokens)
        return {token: at for token, at in mine if at is not None}

    async def claim(self, page: Page, tokens: tuple[int, ...]) -> Claimed:
        """Notes that this cluster took up its grants; the page has another stamp then."""
        shelf = self._memory.shelf(page.pool)
        if shelf.state is None:
            return Claimed()
        keys = {(self._cluster.name, token) for token in tokens} & shelf.grants.keys()
        live = [shelf.grants[key] for key in sorted(keys) if shelf.grants[key].ended is None]
        for one in live:
            one.claimed = True
        newest = str(shelf.stamp) == page.stamp
        shelf.stamp = self._memory.stamp()
        written = replace(page, stamp=str(shelf.stamp)) if newest else None
        return Claimed(tuple(one.lease.token for one in live), written)

    async def shared(self) -> tuple[str, ...]:
        """The pools that have this cluster as a member."""
        return self._memory.pools(self._cluster.name)

    async def leave(self, pool: str) -> bool:
        """Unless something of this cluster runs; whether it left."""
        shelf, name = self._memory.shelf(pool), self._cluster.name
        member = shelf.members.get(name)
        if member is None or member.teller is not self:
            return False
        self._memory.ring(pool)
        return shelf.leave(name)

    async def forget(self, pool: str, cluster: str, silent: float) -> bool:
        """Forgets a cluster that was missing for so many seconds; whether it was. Never our own."""
        shelf, now = self._memory.shelf(pool), self._memory.clock.monotonic()
        missing = shelf.missing(cluster, now)
        if cluster == self._cluster.name or missing is None or missing < silent:
            return False
        shelf.lapse(cluster, self._memory.clock.now())
        self._memory.ring(pool)
        return True

    def _member(self, pool: str) -> KeptMember:
        member = self._memory.shelf(pool).members.get(self._cluster.name)
        if member is None or member.teller is not self:
            raise UnavailableError(f"pool {pool}: another replica tells of this cluster now")
        return member

    def _lease(self, shelf: Shelf, lease: Lease, end: int | None) -> None:
        name, now = self._cluster.name, self._memory.clock.monotonic()
        known = shelf.grants.setdefault((name, lease.token), KeptGrant(name, lease, now))
        if known.lease.uid == lease.uid:
            known.tell(lease, end, shelf.change)

    def _line(self, shelf: Shelf, since: int) -> tuple[tuple[Ticket, ...], tuple[str, ...]]:
        tickets = [
            (self._named(cluster, entry.ticket), entry.gone)
            for (cluster, _), entry in shelf.tickets.items()
            if cluster != self._cluster.name and entry.change > since
        ]
        left = tuple(ticket.uid for ticket, gone in tickets if gone and since)
        return tuple(ticket for ticket, gone in tickets if not gone), left

    def _slots(self, shelf: Shelf, since: int) -> tuple[tuple[Lease, ...], tuple[Freed, ...]]:
        leases = [
            (self._named(one.cluster, one.lease), one.ended)
            for one in shelf.grants.values()
            if one.cluster != self._cluster.name and one.change > since
        ]
        freed = tuple(Freed(lease, at) for lease, at in leases if at is not None and since)
        return tuple(lease for lease, at in leases if at is None), freed

    def _named[One: (Ticket, Lease)](self, cluster: str, one: One) -> One:
        job, uid = self._cluster.names(Place(cluster, one.job, one.uid))
        return replace(one, job=job, uid=uid)
