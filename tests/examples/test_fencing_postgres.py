"""docs/examples/fencing/postgres.sql: after a higher token, a lower one changes nothing."""

import asyncio
from itertools import pairwise
from random import Random
from typing import Any

import asyncpg
import pytest

OLD, NEW = 7, 9
RESOURCES = ("orders", "invoices")

type Connection = Any
type Pool = Any


class UndoneError(Exception):
    """Somebody's transaction is rolled back."""


async def write(
    pool: Pool, token: int, resource: str = "orders", isolation: str = "read_committed"
) -> None:
    async with pool.acquire() as connection, connection.transaction(isolation=isolation):
        await fenced_write(connection, token, resource)


async def fenced_write(connection: Connection, token: int, resource: str = "orders") -> None:
    await connection.execute("SELECT kwicket_fence($1, $2)", resource, token)
    await connection.execute(
        "INSERT INTO written (resource, token) VALUES ($1, $2)", resource, token
    )


async def written(pool: Pool, resource: str = "orders") -> list[int]:
    rows = await pool.fetch(
        "SELECT token FROM written WHERE resource = $1 ORDER BY place", resource
    )
    return [row["token"] for row in rows]


async def somebody_waits_for(pool: Pool, connection: Connection) -> None:
    """Returns once another connection waits for a lock that this one holds."""
    pid = connection.get_server_pid()
    waits = "SELECT 1 FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))"
    while await pool.fetchval(waits, pid) is None:  # noqa: ASYNC110 - the server tells nobody
        await asyncio.sleep(0.005)


async def meet(pool: Pool, first: int, second: int, *, undo: bool, isolation: str) -> None:
    """The second token comes while the transaction of the first is open."""
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await fenced_write(connection, first)
        later = asyncio.create_task(write(pool, second, isolation=isolation))
        await somebody_waits_for(pool, connection)
        await (transaction.rollback() if undo else transaction.commit())
    await later


async def test_a_lower_token_than_one_that_was_seen_is_refused(pool: Pool) -> None:
    await write(pool, NEW)
    with pytest.raises(asyncpg.PostgresError) as refused:
        await write(pool, OLD)
    assert refused.value.sqlstate == "KW001"
    assert str(refused.value).startswith("token 7 is too old for orders: 9 was here")
    assert "do not try again" in (refused.value.hint or "")
    assert await written(pool) == [NEW]


async def test_the_same_token_comes_as_often_as_it_likes(pool: Pool) -> None:
    for _ in range(3):
        await write(pool, NEW)
    assert await written(pool) == [NEW] * 3


async def test_a_token_counts_for_its_resource_alone(pool: Pool) -> None:
    await write(pool, NEW, "orders")
    await write(pool, OLD, "invoices")
    assert await written(pool, "invoices") == [OLD]


async def test_a_transaction_that_is_rolled_back_leaves_no_token(pool: Pool) -> None:
    async with pool.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await fenced_write(connection, NEW)
        await transaction.rollback()
    await write(pool, OLD)
    assert await written(pool) == [OLD]


@pytest.mark.parametrize("token", [None, 0, -1])
async def test_what_is_no_token_is_refused_before_and_after_there_was_one(
    pool: Pool, token: int | None
) -> None:
    for _ in range(2):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await pool.execute("SELECT kwicket_fence('orders', $1)", token)
        await write(pool, NEW)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("isolation", ["read_committed", "repeatable_read", "serializable"])
class TestOneComesWhileTheTransactionOfAnotherIsOpen:
    """Whether the resource was known before, and whatever the isolation of the second."""

    @pytest.fixture(autouse=True)
    async def _known(self, pool: Pool, known: bool) -> None:
        if known:
            await pool.execute("SELECT kwicket_fence('orders', 5)")

    async def test_a_lower_token_waits_and_is_refused(self, pool: Pool, isolation: str) -> None:
        with pytest.raises(asyncpg.PostgresError) as refused:
            await meet(pool, NEW, OLD, undo=False, isolation=isolation)
        assert refused.value.sqlstate == ("KW001" if isolation == "read_committed" else "40001")
        with pytest.raises(asyncpg.PostgresError, match="too old"):
            await write(pool, OLD, isolation=isolation)
        assert await written(pool) == [NEW]

    async def test_a_lower_token_goes_on_if_the_higher_one_is_undone(
        self, pool: Pool, isolation: str
    ) -> None:
        await meet(pool, NEW, OLD, undo=True, isolation=isolation)
        assert await written(pool) == [OLD]

    async def test_a_higher_token_waits_until_the_lower_one_has_ended(
        self, pool: Pool, isolation: str
    ) -> None:
        try:
            await meet(pool, OLD, NEW, undo=False, isolation=isolation)
        except asyncpg.SerializationError:
            assert isolation != "read_committed"
            await write(pool, NEW, isolation=isolation)
        assert await written(pool) == [OLD, NEW]


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_accepted_tokens_never_fall_whoever_writes_at_once(pool: Pool, seed: int) -> None:
    dice = Random(seed)  # noqa: S311 - a history, not a secret
    asked = [
        (dice.choice(RESOURCES), step // 8 + dice.randint(1, 12), dice.random() < 0.2)
        for step in range(240)
    ]
    outcomes = await asyncio.gather(*(_worker(pool, asked[n::6]) for n in range(6)))
    assert {outcome for part in outcomes for outcome in part} == {"written", "refused", "undone"}
    for resource in RESOURCES:
        tokens = await written(pool, resource)
        assert len(tokens) > 1
        assert all(before <= after for before, after in pairwise(tokens)), tokens
        known = "SELECT highest FROM kwicket_fences WHERE name = $1"
        assert await pool.fetchval(known, resource) == tokens[-1]


async def _worker(pool: Pool, asked: list[tuple[str, int, bool]]) -> list[str]:
    outcomes = []
    async with pool.acquire() as connection:
        for resource, token, undo in asked:
            try:
                async with connection.transaction():
                    await fenced_write(connection, token, resource)
                    if undo:
                        raise UndoneError
                outcomes.append("written")
            except UndoneError:
                outcomes.append("undone")
            except asyncpg.PostgresError as error:
                outcomes.append("refused" if error.sqlstate == "KW001" else str(error))
    return outcomes
