"""Upheld: whether the ledger still has a grant when its start is about to be written.

Whoever has waited, or took a grant over, may write it long after somebody else has given it back.
What the ledger was known to have counts for a moment; after that, and after every failure, it is
read again, once for all of a pool's grants that ask at that time.
"""

import asyncio

from msgspec import Struct

from kwicket.core.state import Intent
from kwicket.engine.desk import Desk
from kwicket.ports.clock import Clock
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Ledger, Page

FRESH = 5.0
"""Seconds for which a grant counts as upheld without another look at the ledger."""
NEVER = float("-inf")


class _Known(Struct):
    """The last page that was read of a pool, and when the read was sent."""

    lock: asyncio.Lock
    at: float = NEVER
    page: Page | None = None


class Upheld:
    """Remembers the last page that was read for this of each pool, and decides nothing."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._known: dict[str, _Known] = {}

    async def holds(self, desk: Desk, intent: Intent, known: float, failed: float) -> bool:
        """Whether the grant stands. If not, the pool must read everything again, and is told so.

        `known` is when the ledger was known to have it, `failed` when its write last failed, both
        by the monotonic clock. Raises UnavailableError if the ledger can't be read or understood.
        """
        since = max(failed, self._clock.monotonic() - FRESH)
        if known > since:
            return True
        page = await self._page(desk.name, since, intent.lease.token)
        if page is not None and intent in page.state.intents:
            return True
        if desk.pending.get(intent.lease.uid) == intent:
            desk.page = None
            desk.wake()
        return False

    async def _page(self, pool: str, since: float, token: int) -> Page | None:
        """A page whose read was sent after this moment; another one if it is older than a token."""
        known = self._known.setdefault(pool, _Known(asyncio.Lock()))
        async with known.lock:
            older = known.page is not None and known.page.state.version < token
            if known.at <= since or older:
                sent = self._clock.monotonic()
                known.page = await self._read(pool)
                known.at = sent
            return known.page

    async def _read(self, pool: str) -> Page | None:
        try:
            return await self._ledger.read(pool)
        except ValueError as error:
            raise UnavailableError(str(error)) from error
