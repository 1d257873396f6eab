"""The backlog that several clusters share: what waits and what runs in each of them."""

from typing import Protocol

from msgspec import Struct

from kwicket.core.leases import Lease
from kwicket.core.pools import NOTHING, Shown
from kwicket.core.tickets import Ticket
from kwicket.ports.ledger import Page


def elsewhere(uid: str) -> bool:
    """Whether a submission is of another cluster: it is `cluster/uid` then."""
    return "/" in uid


class Freed(Struct, frozen=True):
    """A slot that was freed."""

    lease: Lease
    at: int
    """When, as far as is known, in milliseconds since 1970."""


class News(Struct, frozen=True):
    """What became of a pool's Jobs in one cluster; each submission stands in one place only."""

    waiting: tuple[Ticket, ...] = ()
    """In line, or in line as another ticket than before."""
    left: tuple[str, ...] = ()
    """The UIDs of those that left the line."""
    running: tuple[Lease, ...] = ()
    """Each holds a slot."""
    over: tuple[Freed, ...] = ()
    """Each has freed its slot."""


class Member(Struct, frozen=True):
    """A cluster that shares a pool."""

    cluster: str
    silence: float
    """Seconds since it last took part."""
    rules: str
    """A digest of what the pool is decided by, as it is declared there; empty if it is not."""
    takes_up: bool = True
    """Whether it has taken up the last grants that others gave it, or there were none lately."""
    here: bool = False
    """Whether it is this one."""
    missing: float = 0.0
    """For how many seconds it gave no sign of life while another one did all the time; a backlog
    that nobody reached, or whose clock was set, makes nobody missing."""


class Elsewhere(Struct, frozen=True):
    """What the other clusters have told."""

    waiting: tuple[Ticket, ...] = ()
    left: tuple[str, ...] = ()
    running: tuple[Lease, ...] = ()
    freed: tuple[Freed, ...] = ()
    upto: int = 0
    """The number of the last change that is in it."""
    whole: bool = True
    """Whether it is all that waits and runs there, and not only what has changed."""
    highest: int = 0
    """The highest token that any cluster knows of. With all that there is the present time as well:
    after a failover nobody may know of the highest one."""
    overdue: tuple[int, ...] = ()
    """The tokens of grants that their clusters did not take up in time, or lost by falling silent;
    whoever decides may give them back, on a page that was read before this."""
    members: tuple[Member, ...] = ()


class Remembered(Struct, frozen=True):
    """What is known of this cluster's own past in a pool; no restore of the cluster undoes it."""

    shown: Shown = NOTHING
    """The most that the Pool's status was ever seen to show."""
    doubt: int = 0
    """The highest token known when the cluster was found to have gone back to a backup; 0 if it was
    not, or if an administrator's word has let it go on since."""
    highest: int = 0
    """The highest token that any cluster knows of."""


class Claimed(Struct, frozen=True):
    """What came of taking up grants."""

    tokens: tuple[int, ...] = ()
    """Those that are taken up; the others were given back, or were lost with a server."""
    page: Page | None = None
    """The page as it is now; None if somebody else had written it, so that it must be read."""


class Backlog(Protocol):
    """Every method raises UnavailableError if the outcome is unknown; each may be called again."""

    async def join(self, pool: str, rules: str) -> Remembered:
        """Has this cluster share a pool, told of by this process alone from now on.

        What this cluster told before stands; if it told nothing, or the server is another one since
        then, nobody else reads a page until it tells all. Raises ValueError if another cluster
        shares the pool under our name.
        """
        ...

    async def beat(self, pool: str, rules: str, shown: Shown = NOTHING) -> bool:
        """Gives a sign of life; False if this process must join again.

        Another one has taken over, or the server is another one that may have lost the last news.
        What the Pool's status was `shown` to say is remembered if it is that of `tell_all`.
        """
        ...

    async def alive(self, pool: str) -> None:
        """Gives a sign of life of a cluster that takes no part at the moment.

        Its slots are not free then, and nothing is granted to it. Whoever tells of it may call.
        """
        ...

    async def doubt(self, pool: str, token: int) -> None:
        """Remembers that this cluster went back to a backup, until it tells all again.

        Tokens up to this one may be used.
        """
        ...

    async def tell(self, pool: str, news: News, highest: int) -> None:
        """Tells the other clusters what has changed here, and the highest token known here."""
        ...

    async def tell_all(self, pool: str, here: News, highest: int, shown: Shown = NOTHING) -> None:
        """Tells all that waits and runs here; nothing else does from then on.

        The Pool's status has `shown` this just now: that is what is remembered, and no doubt.

        What was told to run before has ended when `here` says so; if it says nothing, with the last
        sign of life before this process joined, after which nobody saw it run.
        """
        ...

    async def hear(self, pool: str, since: int) -> Elsewhere:
        """What other clusters have told after a change; all that there is if that is 0."""
        ...

    async def ended(self, pool: str, tokens: tuple[int, ...]) -> dict[int, int | None]:
        """When those of the grants with these tokens that ended did so, in ms since 1970."""
        ...

    async def claim(self, page: Page, tokens: tuple[int, ...]) -> Claimed:
        """Takes up grants of this cluster that others may have decided, before they are applied.

        Whatever page they were read on: no other writer, however busy, gets in the way.
        """
        ...

    async def shared(self) -> tuple[str, ...]:
        """The pools that this cluster shares."""
        ...

    async def leave(self, pool: str) -> bool:
        """Shares the pool no more, unless something of this cluster holds a slot: whether it left.

        What this cluster took up and did not start can be given back. Tell all before it.
        """
        ...

    async def forget(self, pool: str, cluster: str, silent: float) -> bool:
        """Frees all that a cluster holds if it was missing for so many seconds.

        Whether it was so. Never one that has moved away to a ledger of its own, whose Jobs may run.
        """
        ...
