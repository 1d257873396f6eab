"""What stays of grants that ended, for how long, and what can be asked of it."""

import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kwicket.core.state import State
from kwicket.ports.backlog import Freed, News
from kwicket.ports.errors import UnavailableError
from kwicket_storage import history as module
from kwicket_storage.backlog import PostgresBacklog
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections
from kwicket_storage.history import History
from kwicket_storage.queries import query
from support.backlog_contract import Share, granted, joined, opened
from support.builders import intent, ticket
from support.shares import share_of

PAGE = Path(__file__).parents[3] / "docs" / "postgres.md"
RAN = """
    INSERT INTO kwicket.grants (pool, token, cluster, job, uid, tenant, lane, width, granted,
        claimed, started, ended, outcome, change)
    VALUES ($1, $2, 'east', 'team/j', 'u', $3, '', $4, $5, $5, $5, $6,
        CASE WHEN $6::timestamptz IS NOT NULL THEN 'Ended' END, 1)
"""
LEFT = """
    INSERT INTO kwicket.tickets (pool, cluster, uid, job, tenant, lane, traits, width, submitted,
        held, deliveries, change, gone)
    VALUES ($1, 'east', $2, 'team/j', 'alice', '', '{}', 1, 1, false, 0, 1, $3)
"""
NOON = datetime(2026, 3, 28, 12, tzinfo=UTC)
"""The day before clocks change in Europe, where some servers are."""
DAY = timedelta(days=1)


@pytest.fixture
def share(connections: Connections) -> Share:
    return share_of(connections, "east", "east")


async def shares(administrator: Any, pool: str) -> list[tuple[str, date, int, float]]:
    rows = await administrator.fetch(
        "SELECT tenant, day, starts, slot_seconds FROM kwicket.shares WHERE pool = $1"
        " ORDER BY tenant, day",
        pool,
    )
    return [(row["tenant"], row["day"], row["starts"], float(row["slot_seconds"])) for row in rows]


async def test_a_start_that_was_over_before_it_was_told_is_as_long_as_it_was(
    share: Share, administrator: Any, pool: str
) -> None:
    """It began when its cluster took it up, as far as anybody knows."""
    await joined(share, pool)
    await granted(share, await opened(share, pool, State(1)), intent("a-1", token=2))
    await administrator.execute(
        "UPDATE kwicket.grants SET claimed = claimed - interval '1 minute' WHERE pool = $1", pool
    )
    now = await administrator.fetchval("SELECT kwicket.now_ms()")
    await share.backlog.tell(pool, News(over=(Freed(intent("a-1", token=2).lease, now),)), 2)
    row = await administrator.fetchrow(
        "SELECT outcome, started = claimed AS claimed, ended - started AS lasted"
        " FROM kwicket.grants WHERE pool = $1",
        pool,
    )
    assert (row["outcome"], row["claimed"]) == ("Ended", True)
    assert timedelta(seconds=59) < row["lasted"] < timedelta(seconds=61)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Pacific/Kiritimati"])
async def test_a_share_is_clipped_to_the_days_by_utc(
    administrator: Any, pool: str, zone: str
) -> None:
    await administrator.execute(f"SET timezone = '{zone}'")
    await administrator.execute(RAN, pool, 1, "alice", 2, NOON, NOON + 2 * DAY)
    await administrator.execute(RAN, pool, 2, "alice", 1, NOON, NOON + timedelta(seconds=30))
    await administrator.execute(RAN, pool, 3, "bob", 1, NOON + DAY / 2, NOON + 3 * DAY / 2)
    await administrator.execute(RAN, pool, 4, "carol", 0, NOON, NOON)
    assert await shares(administrator, pool) == [
        ("alice", date(2026, 3, 28), 2, 2 * 43_200 + 30),
        ("alice", date(2026, 3, 29), 0, 2 * 86_400),
        ("alice", date(2026, 3, 30), 0, 2 * 43_200),
        ("bob", date(2026, 3, 29), 1, 86_400),
        ("carol", date(2026, 3, 28), 1, 0),
    ]


async def test_what_runs_counts_up_to_now_and_what_never_ran_does_not(
    administrator: Any, pool: str
) -> None:
    await administrator.execute(
        RAN, pool, 1, "alice", 3, datetime.now(UTC) - timedelta(hours=1), None
    )
    await administrator.execute(
        "INSERT INTO kwicket.grants (pool, token, cluster, job, uid, tenant, lane, width)"
        " VALUES ($1, 2, 'east', 'team/j', 'u', 'bob', '', 1)",
        pool,
    )
    found = await shares(administrator, pool)
    assert {tenant for tenant, *_ in found} == {"alice"}
    assert 3 * 3600 <= sum(seconds for *_, seconds in found) < 3 * 3700


async def test_grants_are_deleted_so_long_after_their_end_and_in_batches(
    connections: Connections, administrator: Any, pool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH", 2)
    now = datetime.now(UTC)
    for token, ended in enumerate([now - 31 * DAY] * 5 + [now - 29 * DAY, None], start=1):
        await administrator.execute(RAN, pool, token, "alice", 1, now - 40 * DAY, ended)
    assert await History(connections).prune() >= 5
    left = "SELECT token FROM kwicket.grants WHERE pool = $1 ORDER BY token"
    assert [row["token"] for row in await administrator.fetch(left, pool)] == [6, 7]
    assert await History(connections, days=28).prune() >= 1
    assert [row["token"] for row in await administrator.fetch(left, pool)] == [7]


@pytest.mark.parametrize("name", ["prune_grants", "prune_tickets"])
async def test_a_transaction_deletes_no_more_than_its_batch(
    connections: Connections, administrator: Any, pool: str, name: str
) -> None:
    """Else the first one after a long pause holds its locks for as long as that takes."""
    then = datetime.now(UTC) - 40 * DAY
    for number in range(1, 6):
        await administrator.execute(RAN, pool, number, "alice", 1, then, then)
        await administrator.execute(LEFT, pool, f"u-{number}", then)
    row = await connections.row(query(f"history/{name}"), DAY.total_seconds(), 2)
    assert row is not None
    assert row["rows"] == 2


@pytest.mark.parametrize("old", ["tickets SET gone = gone", "grants SET ended = ended"])
async def test_who_knows_less_than_was_deleted_hears_all(
    connections: Connections, share: Share, administrator: Any, pool: str, old: str
) -> None:
    """Else it would believe for ever that what left the line waits, and what ended runs."""
    await joined(share, pool)
    west = PostgresBacklog(connections, Cluster("west"), "west")
    lease = intent("b", token=2).lease
    await share.backlog.tell(pool, News(waiting=(ticket("a"),), running=(lease,)), 2)
    upto = (await west.hear(pool, 0)).upto
    await share.backlog.tell(pool, News(left=("a",)), 2)
    await share.backlog.tell(pool, News(over=(Freed(lease, 2**52),)), 2)
    last = (await west.hear(pool, upto)).upto
    await administrator.execute(f"UPDATE kwicket.{old} - interval '40 days' WHERE pool = $1", pool)
    await History(connections).prune()
    heard = await west.hear(pool, upto)
    assert (heard.whole, heard.waiting, heard.running) == (True, (), ())
    assert not (await west.hear(pool, last)).whole


async def test_tickets_are_deleted_though_grants_can_not_be(
    connections: Connections, share: Share, administrator: Any, pool: str
) -> None:
    await joined(share, pool)
    await share.backlog.tell(pool, News(waiting=(ticket("a"),)), 2)
    await share.backlog.tell(pool, News(left=("a",)), 2)
    await administrator.execute("UPDATE kwicket.tickets SET gone = gone - interval '40 days'")
    await administrator.execute("ALTER TABLE kwicket.grants RENAME TO hidden")
    try:
        with pytest.raises(UnavailableError):
            await History(connections).prune()
    finally:
        await administrator.execute("ALTER TABLE kwicket.hidden RENAME TO grants")
    left = "SELECT count(*) FROM kwicket.tickets WHERE pool = $1"
    assert await administrator.fetchval(left, pool) == 0


@pytest.mark.parametrize("days", [0, -1])
def test_a_history_of_no_days_is_refused(connections: Connections, days: float) -> None:
    with pytest.raises(ValueError, match="some days"):
        History(connections, days=days)


ASKED = re.findall(r"```sql\n(SELECT.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_page_has_three_queries() -> None:
    assert len(ASKED) == 3


@pytest.mark.parametrize("asked", ASKED)
async def test_a_query_of_the_page_answers(administrator: Any, asked: str) -> None:
    now = datetime.now(UTC)
    pool = "licences"
    await administrator.execute("DELETE FROM kwicket.grants WHERE pool = $1", pool)
    await administrator.execute(RAN, pool, 1, "alice", 3, now - DAY, now)
    await administrator.execute(RAN, pool, 2, "bob", 1, now - DAY, now)
    await administrator.execute(RAN, pool, 3, "alice", 1, now - 99 * DAY, None)
    rows = await administrator.fetch(asked)
    assert rows
    assert [row["tenant"] for row in rows][:1] == ["alice"]
