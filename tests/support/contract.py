"""The behaviour of a Ledger, written once. Whoever keeps one subclasses `LedgerContract`.

A subclass gives the fixtures `ledger` and `remove`; pools have names of their own, so that a
ledger that is shared or kept between tests does no harm.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable

import pytest
from msgspec.structs import replace

from kwicket.core.fairness import Fairness
from kwicket.core.pools import Charging
from kwicket.core.starts import Start
from kwicket.core.state import HIGHEST_TOKEN, Charge, Reservation, State
from kwicket.ports.ledger import Conflict, Ledger, Page
from support.builders import START, fairness, intent

type Remove = Callable[[str], Awaitable[None]]

FULL = State(
    version=HIGHEST_TOKEN - 1,
    fairness=Fairness(
        scale=997 * 991,
        virtual_time=10**30,
        tags={"alice": 10**31, "bob": 10**33 + 7},
        standing={"carol": 0},
        credits={"dave": 10**20 + 1},
    ),
    charging=Charging.TIME,
    intents=(
        intent("a-1", "alice", charge=2**60, lane="gpu", width=3, token=HIGHEST_TOKEN - 1),
        intent("b-1", "bob", charge=0, width=0, token=2**53 + 1),
    ),
    reservations=(
        Reservation("w-2", "team/w-2", "carol", "gpu", 8, START + 1, 480_000, kept=START + 2),
        Reservation("w-1", "team/w-1", "alice", "", 4, START + 3, 2**60),
    ),
    charges=(
        Charge(2**53 + 1, "bob", 0, START, 0),
        Charge(HIGHEST_TOKEN - 1, "alice", 3, START, 2**60),
    ),
    means={"zoe": 60_000, "alice": 1_000, "bob": 2_000},
    starts=(Start(START, "alice", ""), Start(START, "alice", "gpu"), Start(START + 1, "bob", "")),
    starts_since={"rate": START - 5},
    last_grant=START + 1,
)
"""A state with something in every field, and numbers beyond 2^53."""


def written(answer: Page | Conflict) -> Page:
    """The page that was written."""
    assert isinstance(answer, Page)
    return answer


class LedgerContract:
    """What every ledger does."""

    @pytest.fixture
    def pool(self) -> str:
        return f"pool-{uuid.uuid4().hex[:12]}"

    async def test_a_pool_without_a_page_has_none(self, ledger: Ledger, pool: str) -> None:
        assert await ledger.read(pool) is None

    async def test_what_is_opened_is_read(self, ledger: Ledger, pool: str) -> None:
        opened = written(await ledger.open(pool, FULL))
        assert (opened.pool, opened.state) == (pool, FULL)
        assert await ledger.read(pool) == opened

    async def test_a_page_is_opened_once(self, ledger: Ledger, pool: str) -> None:
        first = written(await ledger.open(pool, State(1)))
        assert await ledger.open(pool, State(2)) == Conflict()
        assert await ledger.read(pool) == first

    async def test_a_commit_replaces_the_whole_page(self, ledger: Ledger, pool: str) -> None:
        opened = written(await ledger.open(pool, replace(FULL, version=5)))
        committed = written(await ledger.commit(opened, State(6)))
        assert committed.state == State(6)
        assert await ledger.read(pool) == committed

    async def test_commits_follow_each_other(self, ledger: Ledger, pool: str) -> None:
        page = written(await ledger.open(pool, State(1)))
        for version in range(2, 6):
            page = written(await ledger.commit(page, replace(FULL, version=version)))
        assert await ledger.read(pool) == page

    async def test_a_commit_on_an_old_page_changes_nothing(self, ledger: Ledger, pool: str) -> None:
        old = written(await ledger.open(pool, State(1)))
        newer = written(await ledger.commit(old, State(2)))
        assert await ledger.commit(old, State(3)) == Conflict()
        assert await ledger.read(pool) == newer

    async def test_a_commit_on_an_old_page_that_looks_like_the_new_one_changes_nothing(
        self, ledger: Ledger, pool: str
    ) -> None:
        old = written(await ledger.open(pool, State(5)))
        between = written(await ledger.commit(old, State(5, fairness(1))))
        newer = written(await ledger.commit(between, State(5)))
        assert await ledger.commit(old, State(6)) == Conflict()
        assert await ledger.read(pool) == newer

    async def test_of_two_commits_at_once_one_is_taken(self, ledger: Ledger, pool: str) -> None:
        page = written(await ledger.open(pool, State(1)))
        answers = await asyncio.gather(*(ledger.commit(page, State(n)) for n in (2, 3)))
        [taken] = [answer for answer in answers if isinstance(answer, Page)]
        assert Conflict() in answers
        assert await ledger.read(pool) == taken

    async def test_of_two_openings_at_once_one_is_taken(self, ledger: Ledger, pool: str) -> None:
        answers = await asyncio.gather(*(ledger.open(pool, State(n)) for n in (2, 3)))
        [taken] = [answer for answer in answers if isinstance(answer, Page)]
        assert Conflict() in answers
        assert await ledger.read(pool) == taken

    async def test_a_version_that_would_fall_is_refused(self, ledger: Ledger, pool: str) -> None:
        page = written(await ledger.open(pool, State(5)))
        with pytest.raises(ValueError, match="fall"):
            await ledger.commit(page, State(4))
        assert await ledger.read(pool) == page

    async def test_a_version_may_stay(self, ledger: Ledger, pool: str) -> None:
        """Acknowledgements are committed without a grant."""
        page = written(await ledger.open(pool, FULL))
        after = replace(FULL, intents=FULL.intents[1:])
        assert written(await ledger.commit(page, after)).state == after

    async def test_a_commit_on_a_removed_page_makes_none(
        self, ledger: Ledger, pool: str, remove: Remove
    ) -> None:
        page = written(await ledger.open(pool, State(1)))
        await remove(pool)
        assert await ledger.commit(page, State(2)) == Conflict()
        assert await ledger.read(pool) is None

    async def test_a_page_made_anew_is_another_page(
        self, ledger: Ledger, pool: str, remove: Remove
    ) -> None:
        """Else a leader that slept would write over what its successor began."""
        old = written(await ledger.open(pool, State(5)))
        await remove(pool)
        fresh = written(await ledger.open(pool, State(5)))
        assert await ledger.commit(old, State(6)) == Conflict()
        assert await ledger.read(pool) == fresh

    async def test_pools_have_pages_of_their_own(self, ledger: Ledger, pool: str) -> None:
        page = written(await ledger.open(pool, State(5)))
        other = written(await ledger.open(f"{pool}-b", State(7)))
        written(await ledger.commit(page, State(6)))
        assert await ledger.read(f"{pool}-b") == other

    async def test_means_keep_the_order_in_which_they_were_taught(
        self, ledger: Ledger, pool: str
    ) -> None:
        written(await ledger.open(pool, FULL))
        page = await ledger.read(pool)
        assert page is not None
        assert list(page.state.means) == ["zoe", "alice", "bob"]

    async def test_a_long_line_of_tenants_is_kept(self, ledger: Ledger, pool: str) -> None:
        tags = {f"tenant-{n}": n for n in range(1, 1001)}
        state = State(1, Fairness(tags=tags))
        written(await ledger.open(pool, state))
        page = await ledger.read(pool)
        assert page is not None
        assert page.state == state
