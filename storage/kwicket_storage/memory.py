"""A ledger in memory: for tests and simulation, and the reference for the others."""

from kwicket.core.state import State
from kwicket.ports.ledger import Conflict, Page


class MemoryLedger:
    """No locks, since no method awaits."""

    def __init__(self) -> None:
        self._pages: dict[str, Page] = {}
        self._writes = 0
        """Of all pools together, so that no stamp is used twice, not even by a page made anew."""

    async def read(self, pool: str) -> Page | None:
        """The newest page; None if there is none."""
        return self._pages.get(pool)

    async def open(self, pool: str, state: State) -> Page | Conflict:
        """Makes the first page of a pool. Conflict if there is one already."""
        if pool in self._pages:
            return Conflict()
        return self._write(pool, state)

    async def commit(self, page: Page, state: State) -> Page | Conflict:
        """Replaces `page` if nobody else has. Raises ValueError if the version would fall."""
        if state.version < page.state.version:
            raise ValueError(f"ledger {page.pool}: version {state.version} would fall")
        if self._pages.get(page.pool) != page:
            return Conflict()
        return self._write(page.pool, state)

    def remove(self, pool: str) -> None:
        """Removes a page, as an administrator may."""
        del self._pages[pool]

    def _write(self, pool: str, state: State) -> Page:
        self._writes += 1
        page = Page(pool, state, str(self._writes))
        self._pages[pool] = page
        return page
