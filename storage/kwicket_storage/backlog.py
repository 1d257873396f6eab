"""The shared backlog in PostgreSQL: tickets and leases of all clusters, by numbered changes."""

import uuid
from collections.abc import Iterable, Iterator, Sequence
from itertools import batched
from typing import Any

import msgspec

from kwicket.core.leases import Lease
from kwicket.core.pools import NOTHING, Shown
from kwicket.core.tickets import Ticket
from kwicket.ports.backlog import Claimed, Elsewhere, Freed, Member, News, Remembered
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Page
from kwicket_storage.clusters import Cluster, Place
from kwicket_storage.connections import Connections
from kwicket_storage.queries import query

MOST_TOLD = 1_000
"""Tickets and leases that one transaction tells, so that its lock of the feed is short."""
START_DEADLINE = 60.0
"""Seconds within which a cluster takes up what others granted it."""
UNBROKEN = 30.0
"""Most seconds between two signs of life that have come one after the other."""


class PostgresBacklog:
    """The port, for one operator of one cluster; `identity` tells it from others of its name."""

    def __init__(self, connections: Connections, cluster: Cluster, identity: str) -> None:
        self._connections = connections
        self._cluster = cluster
        self._identity = identity
        self.teller = uuid.uuid4().hex
        """By which PostgreSQL knows this process."""
        self._timelines: dict[str, str] = {}
        self._formerly: dict[str, int] = {}
        self._heard: dict[str, str] = {}

    async def join(self, pool: str, rules: str) -> Remembered:
        """Takes over the telling. Raises ValueError if another cluster has our name."""
        name = self._cluster.name
        row = await self._connections.row(
            query("backlog/join"), pool, name, self._identity, rules, self.teller, UNBROKEN
        )
        if row is None:
            raise ValueError(
                f"pool {pool}: another cluster shares it as {name!r}: give each a name of its own"
            )
        self._timelines[pool] = row["timeline"]
        self._formerly[pool] = row["formerly"]
        return Remembered(Shown(row["pool_uid"], row["shown"]), row["doubt"], row["highest"])

    async def beat(self, pool: str, rules: str, shown: Shown = NOTHING) -> bool:
        """Gives a sign of life; False if all must be told anew."""
        row = await self._connections.row(
            query("backlog/beat"),
            pool,
            self._cluster.name,
            rules,
            self.teller,
            UNBROKEN,
            shown.uid,
            shown.token,
        )
        return row is not None and row["told"]

    async def alive(self, pool: str) -> None:
        """Gives a sign of life, whoever tells of this cluster."""
        await self._connections.rows(
            query("backlog/alive"), pool, self._cluster.name, self._identity, UNBROKEN
        )

    async def doubt(self, pool: str, token: int) -> None:
        """Remembers that this cluster went back, whoever tells of it."""
        await self._connections.rows(
            query("backlog/doubt"), pool, self._cluster.name, self._identity, token
        )

    async def tell(self, pool: str, news: News, highest: int) -> None:
        """Tells the other clusters, in as many transactions as it takes."""
        for part in _parts(news):
            row = await self._connections.row(
                query("backlog/tell"),
                pool,
                self._cluster.name,
                *_ticket_columns(part.waiting),
                list(part.left),
                *_lease_columns(part),
                highest,
                self.teller,
            )
            if row is None:
                raise UnavailableError(f"pool {pool}: another replica tells of this cluster now")

    async def tell_all(self, pool: str, here: News, highest: int, shown: Shown = NOTHING) -> None:
        """Tells what differs from what was told before, and then that it is all."""
        timeline = self._timelines[pool]
        waiting, running = await self._connections.snapshot(
            (query("backlog/waiting"), (pool, self._cluster.name)),
            (query("backlog/running"), (pool, self._cluster.name)),
        )
        last = self._formerly[pool]
        here = difference(map(_ticket, waiting), map(_lease, running), here, last)
        await self.tell(pool, here, highest)
        noted = await self._connections.rows(
            query("backlog/told"),
            pool,
            self._cluster.name,
            timeline,
            self.teller,
            shown.uid,
            shown.token,
        )
        if not noted:
            raise UnavailableError(f"pool {pool}: the server or the leader changed meanwhile")

    async def hear(self, pool: str, since: int) -> Elsewhere:
        """Reads all in one snapshot.

        All there is if too much is forgotten of what was since, or if another server took over,
        which may have given the same numbers to other changes. With all there is, tokens go on from
        the present time, as those of a new pool do: of a grant that was lost nobody may know.
        """
        heard = await self._hear(pool, since)
        return heard or await self._hear(pool, 0) or Elsewhere()

    async def _hear(self, pool: str, since: int) -> Elsewhere | None:
        name = self._cluster.name
        [feed], tickets, leases, overdue, members = await self._connections.snapshot(
            (query("backlog/feed"), (pool,)),
            (query("backlog/tickets"), (pool, name, since)),
            (query("backlog/leases"), (pool, name, since)),
            (query("backlog/overdue"), (pool, name, START_DEADLINE)),
            (query("backlog/members"), (pool, START_DEADLINE, UNBROKEN)),
        )
        if since and (since < feed["pruned"] or feed["timeline"] != self._heard.get(pool)):
            return None
        self._heard[pool] = feed["timeline"]
        waiting, left = self._line(tickets)
        running, freed = self._slots(leases)
        return Elsewhere(
            waiting,
            left,
            running,
            freed,
            upto=feed["change"],
            whole=since == 0,
            highest=max(feed["highest"], 0 if since else feed["now"]),
            overdue=tuple(row["token"] for row in overdue),
            members=tuple(
                Member(
                    row["cluster"],
                    row["silence"],
                    row["rules"],
                    row["takes_up"],
                    row["cluster"] == name,
                    row["missing"],
                )
                for row in members
            ),
        )

    async def ended(self, pool: str, tokens: tuple[int, ...]) -> dict[int, int | None]:
        """When these grants ended, by the database's clock."""
        rows = await self._connections.rows(query("backlog/ended"), pool, list(tokens))
        return {row["token"]: row["ended"] for row in rows}

    async def claim(self, page: Page, tokens: tuple[int, ...]) -> Claimed:
        """Notes that this cluster took up its grants; the page has another stamp then."""
        row = await self._connections.row(
            query("ledger/claim"), page.pool, page.stamp, list(tokens), self._cluster.name
        )
        if row is None:
            return Claimed()
        newest = msgspec.structs.replace(page, stamp=row["stamp"]) if row["newest"] else None
        return Claimed(tuple(row["tokens"]), newest)

    async def shared(self) -> tuple[str, ...]:
        """The pools that have this cluster as a member."""
        rows = await self._connections.rows(
            query("backlog/shared"), self._cluster.name, self._identity
        )
        return tuple(row["pool"] for row in rows)

    async def leave(self, pool: str) -> bool:
        """Leaves the pool, unless something of this cluster runs; whether it left."""
        rows = await self._connections.rows(
            query("backlog/leave"), pool, self._cluster.name, self.teller
        )
        return bool(rows)

    async def forget(self, pool: str, cluster: str, silent: float) -> bool:
        """Forgets a cluster that was missing for so many seconds; whether it was.

        Never our own, nor one that has moved away.
        """
        if cluster == self._cluster.name:
            return False
        rows = await self._connections.rows(
            query("backlog/lapse"), pool, cluster, silent, UNBROKEN, False
        )
        return bool(rows)

    def _line(self, rows: Sequence[Any]) -> tuple[tuple[Ticket, ...], tuple[str, ...]]:
        """Who waits elsewhere, and the UIDs of those who left."""
        tickets = [(self._named(row, _ticket(row)), row["gone"]) for row in rows]
        waiting = tuple(ticket for ticket, gone in tickets if not gone)
        return waiting, tuple(ticket.uid for ticket, gone in tickets if gone)

    def _slots(self, rows: Sequence[Any]) -> tuple[tuple[Lease, ...], tuple[Freed, ...]]:
        """Who holds a slot elsewhere, and who has freed it."""
        leases = [(self._named(row, _lease(row)), row["ended"]) for row in rows]
        running = tuple(lease for lease, ended in leases if ended is None)
        return running, tuple(Freed(lease, at) for lease, at in leases if at is not None)

    def _named[One: (Ticket, Lease)](self, row: Any, one: One) -> One:
        job, uid = self._cluster.names(Place(row["cluster"], one.job, one.uid))
        return msgspec.structs.replace(one, job=job, uid=uid)


def difference(waiting: Iterable[Ticket], running: Iterable[Lease], here: News, last: int) -> News:
    """What to tell of what is `here`, after these tickets and leases were told.

    What is over, and not said to be since when, ran for the `last` time that anybody saw it.
    """
    ends = {one.lease.token: one.at for one in here.over}
    told, held = {one.uid: one for one in waiting}, {one.token: one for one in running}
    uids, tokens = {one.uid for one in here.waiting}, {one.token for one in here.running}
    return News(
        waiting=tuple(one for one in here.waiting if told.get(one.uid) != one),
        left=tuple(sorted(told.keys() - uids)),
        running=tuple(one for one in here.running if held.get(one.token) != one),
        over=tuple(
            Freed(lease, ends.get(token, last))
            for token, lease in held.items()
            if token not in tokens
        ),
    )


def _parts(news: News) -> Iterator[News]:
    """At least one, since the highest token must be told too; what holds a slot goes first."""
    parts = [
        *(News(running=part) for part in batched(news.running, MOST_TOLD)),
        *(News(over=part) for part in batched(news.over, MOST_TOLD)),
        *(News(left=part) for part in batched(news.left, MOST_TOLD)),
        *(News(waiting=part) for part in batched(news.waiting, MOST_TOLD)),
    ]
    small = sum(map(len, (news.waiting, news.left, news.running, news.over))) <= MOST_TOLD
    yield from [news] if small else parts


def _ticket(row: Any) -> Ticket:
    return Ticket(
        uid=row["uid"],
        job=row["job"],
        tenant=row["tenant"],
        submitted=row["submitted"],
        lane=row["lane"],
        traits=tuple(sorted(msgspec.json.decode(row["traits"], type=dict[str, int]).items())),
        width=row["width"],
        held=row["held"],
        deliveries=row["deliveries"],
    )


def _lease(row: Any) -> Lease:
    return Lease(row["uid"], row["job"], row["tenant"], row["lane"], row["width"], row["token"])


def _ticket_columns(tickets: Sequence[Ticket]) -> list[list[object]]:
    return [
        [one.uid for one in tickets],
        [one.job for one in tickets],
        [one.tenant for one in tickets],
        [one.lane for one in tickets],
        [msgspec.json.encode(dict(one.traits)).decode() for one in tickets],
        [one.width for one in tickets],
        [one.submitted for one in tickets],
        [one.held for one in tickets],
        [one.deliveries for one in tickets],
    ]


def _lease_columns(news: News) -> list[list[object]]:
    leases = [*news.running, *(one.lease for one in news.over)]
    ends: list[object] = [*([None] * len(news.running)), *(one.at for one in news.over)]
    return [
        [one.token for one in leases],
        [one.job for one in leases],
        [one.uid for one in leases],
        [one.tenant for one in leases],
        [one.lane for one in leases],
        [one.width for one in leases],
        ends,
    ]
