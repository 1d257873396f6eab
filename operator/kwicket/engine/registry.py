"""The registry: the catalog as declared now, and a desk for each pool in it."""

import asyncio
from collections.abc import Callable

from kwicket.core.catalog import Catalog
from kwicket.core.jobs import JobSeen
from kwicket.core.pools import Pool, Shown
from kwicket.core.tokens import believable
from kwicket.engine.desk import Desk
from kwicket.engine.sent import Sent
from kwicket.engine.share import Share
from kwicket.ports.clock import Clock


class Registry:
    """The one place that knows which pools there are."""

    def __init__(self, clock: Clock, *, shared: bool = False) -> None:
        """`shared` says that clusters share the ledger."""
        self._shared = shared
        self.catalog = Catalog()
        self.changed = asyncio.Event()
        """Set after every declaration; whoever waits for it clears it."""
        self._clock = clock
        self._desks: dict[str, Desk] = {}
        self._tokens: dict[str, int] = {}
        self._sent: dict[str, Sent] = {}

    def desk(self, pool: str) -> Desk | None:
        """The desk of a pool, None if it is not declared."""
        return self._desks.get(pool)

    def desks(self) -> tuple[Desk, ...]:
        """All desks, by the pool's name."""
        return tuple(desk for _, desk in sorted(self._desks.items()))

    def declare(
        self, catalog: Catalog, opened: Callable[[Desk], None], closed: Callable[[Desk], None]
    ) -> bool:
        """Takes a new catalog; `opened` and `closed` hear of the pools that came and went.

        False if it says nothing new.
        """
        if catalog == self.catalog:
            return False
        self.catalog = catalog
        for name in self._desks.keys() - catalog.pools.keys():
            self.saw_token(name, self._desks[name].given)
            self._sent[name] = self._desks[name].sent
            closed(self._desks.pop(name))
        for name in sorted(catalog.pools):
            rules = catalog.rules(name)
            known = self._desks.get(name)
            if known is None:
                share = Share() if self._shared else None
                self._desks[name] = Desk(rules, self._clock, self._sent.pop(name, None), share)
                opened(self._desks[name])
            elif known.book.rules != rules:
                known.declare(rules)
        self.changed.set()
        return True

    def believes(self, pool: str | None, token: int) -> bool:
        """Whether a pool, declared or not, may go on from a token that was found."""
        desk = self._desks.get(pool or "")
        return desk.believes(token) if desk else believable(token, self._clock.now(), 0)

    def granter(self, job: JobSeen) -> Desk | None:
        """The desk that has granted a Job, if any has; None if its pool is not declared."""
        named = None if job.granted_pool else self.catalog.pool_for(job)
        pool = named.name if isinstance(named, Pool) else job.granted_pool
        return self._desks.get(pool or "")

    def may_be_granted(self, job: JobSeen) -> bool:
        """Whether a pool may have given the token that a Job carries."""
        if job.token is None:
            return False
        desk = self.granter(job)
        return desk.may_have_given(job.token) if desk else self.believes(None, job.token)

    def token(self, pool: str) -> int:
        """The highest token that a Pool's status, or its desk until it was closed, ever showed."""
        return self._tokens.get(pool, 0)

    def saw_token(self, pool: str, token: int) -> None:
        """Notes a token in a Pool's status, unless it is too high for the pool to go on from.

        One that was noted would be taken for the ledger's own, and be believed with all below it.
        """
        if self.believes(pool, token):
            self._tokens[pool] = max(token, self.token(pool))

    def saw_status(self, pool: str, shown: Shown) -> None:
        """Notes what a Pool's status shows, as far as it is believed."""
        if self.believes(pool, shown.token):
            self.saw_token(pool, shown.token)
            desk = self._desks.get(pool)
            if desk is not None and desk.share is not None:
                desk.share.saw(shown)
