"""What a version of Kwicket may do that is later than this one: to pages, and to the schema."""

import json
from collections.abc import Awaitable, Callable

import pytest

from kwicket.core.state import State
from kwicket.ports.ledger import Conflict, Ledger, PageError
from kwicket_storage.encoding import of_text
from kwicket_storage.migrations import MAJOR, Migration, migrations
from kwicket_storage.postgres import PostgresLedger
from support.contract import FULL, written

MORE = {"borrowed": [{"uid": "x"}]}

_COLUMNS = """
    SET LOCAL ROLE kwicket_owner;
    ALTER TABLE kwicket.pools ADD more text, ADD again int NOT NULL DEFAULT 0;
    ALTER TABLE kwicket.members ADD more text, ADD again int NOT NULL DEFAULT 0;
    ALTER TABLE kwicket.feeds ADD more text, ADD again int NOT NULL DEFAULT 0;
    ALTER TABLE kwicket.tickets ADD more text, ADD again int NOT NULL DEFAULT 0;
    ALTER TABLE kwicket.grants ADD more text, ADD again int NOT NULL DEFAULT 0;
    CREATE TABLE kwicket.later (pool text PRIMARY KEY);
"""
EXPANDS = Migration(len(migrations()) + 1, "expands", MAJOR, _COLUMNS)
"""As far as the next migration of the same major version may go."""
CONTRACTS = Migration(len(migrations()) + 1, "contracts", MAJOR + 1, "SELECT")
"""The next migration, if it begins a new major version."""

type Rewrite = Callable[[str], Awaitable[None]]
"""Has a later version write the page of a pool; what it keeps more is in it then."""
type Kept = Callable[[str], Awaitable[bool]]
"""Whether what only the later version knows is still in the page."""


class LaterPostgresLedger(PostgresLedger):
    """That of a later version, which uses what it keeps more."""

    def _text(self, state: State) -> str:
        return json.dumps(json.loads(super()._text(state)) | MORE)

    def _state(self, text: str) -> State:
        return of_text(json.dumps({k: v for k, v in json.loads(text).items() if k not in MORE}))


class LaterContract:
    """What every ledger does whose pages several versions may write.

    A subclass gives the fixtures `ledger`, `pool`, `rewrite` and `kept`.
    """

    async def test_a_page_of_a_later_version_is_not_read(
        self, ledger: Ledger, pool: str, rewrite: Rewrite
    ) -> None:
        written(await ledger.open(pool, FULL))
        await rewrite(pool)
        with pytest.raises(PageError, match=r"unknown field `borrowed`.*upgrade this one"):
            await ledger.read(pool)

    async def test_a_page_of_a_later_version_is_not_written_over(
        self, ledger: Ledger, pool: str, rewrite: Rewrite, kept: Kept
    ) -> None:
        """Neither by who has read it before, nor by who takes it for missing."""
        page = written(await ledger.open(pool, State(5)))
        await rewrite(pool)
        assert await ledger.commit(page, State(6)) == Conflict()
        assert await ledger.open(pool, State(6)) == Conflict()
        assert await kept(pool)
