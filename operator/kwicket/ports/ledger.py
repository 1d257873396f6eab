"""The ledger: where the state of each pool outlives the operator."""

from typing import Protocol

from msgspec import Struct

from kwicket.core.state import State


class Page(Struct, frozen=True):
    """What a ledger holds of a pool, with the stamp that a compare-and-swap compares."""

    pool: str
    state: State
    stamp: str


class Conflict(Struct, frozen=True):
    """Somebody else wrote, or removed, the page in the meantime; nothing was changed."""


class PageError(ValueError):
    """A page that this version can't understand, and so must not write; says the way out."""


class Ledger(Protocol):
    """One page a pool. Every method raises UnavailableError if the outcome is unknown."""

    async def read(self, pool: str) -> Page | None:
        """The newest page, never a stale one; None if there is none. Raises PageError."""
        ...

    async def open(self, pool: str, state: State) -> Page | Conflict:
        """Makes the first page of a pool. Conflict if there is one already."""
        ...

    async def commit(self, page: Page, state: State) -> Page | Conflict:
        """Replaces `page`, whole, if nobody else has; all of it or nothing.

        Raises ValueError if the version of `state` is lower than the page's. A state that the
        ledger refuses, such as one too large for it, is an UnavailableError that says so.
        """
        ...
