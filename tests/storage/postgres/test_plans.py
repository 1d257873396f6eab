"""Hot queries find their rows by an index, whether they are planned for their values or for any."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import asyncpg
import pytest

from kwicket_storage.queries import query
from kwicket_storage.schema import migrate
from support.databases import Database

pytestmark = pytest.mark.each_version

FILL = """
    INSERT INTO kwicket.pools (name, state, stamp)
        SELECT 'p-' || n, '{"version": "1"}', lpad(n::text, 32, '0')::uuid
        FROM generate_series(0, 9) AS n;
    INSERT INTO kwicket.members (pool, cluster, identity, teller)
        SELECT 'p-' || p, 'c-' || c, 'i', 't'
        FROM generate_series(0, 9) AS p, generate_series(0, 4) AS c;
    INSERT INTO kwicket.feeds (pool, change)
        SELECT 'p-' || n, 100000 FROM generate_series(0, 9) AS n;
    INSERT INTO kwicket.tickets
        (pool, cluster, uid, job, tenant, lane, traits, width, submitted, held, deliveries, change)
        SELECT 'p-' || n % 10, 'c-' || n / 10 % 5, 'u-' || n, 'team/j-' || n,
            't-' || n % 997, '', '{}', 1, n, false, 0, n
        FROM generate_series(1, 100000) AS n;
    INSERT INTO kwicket.grants
        (pool, token, cluster, job, uid, tenant, lane, width, claimed, started, ended,
        outcome, change)
        SELECT 'p-' || n % 10, n, 'c-' || n / 10 % 5, 'team/j-' || n, 'u-' || n,
            't-' || n % 997, '', 1, clock_timestamp(), clock_timestamp(), clock_timestamp(),
            'Ended', n
        FROM generate_series(1, 100000) AS n;
    UPDATE kwicket.grants SET ended = NULL, outcome = NULL WHERE token > 99500;
    UPDATE kwicket.grants SET started = NULL, claimed = NULL, change = 0 WHERE token > 99950;
    UPDATE kwicket.grants SET started = NULL, claimed = NULL, outcome = 'GivenBack',
        ended = ended - interval '2 hours' WHERE token BETWEEN 2000 AND 22000;
    UPDATE kwicket.grants SET outcome = 'Lapsed', ended = ended - interval '2 days'
        WHERE token BETWEEN 30000 AND 50000;
    UPDATE kwicket.grants SET outcome = 'Lapsed' WHERE token BETWEEN 50001 AND 50100;
    UPDATE kwicket.grants SET ended = ended - interval '40 days' WHERE token < 2000;
    UPDATE kwicket.tickets SET gone = clock_timestamp() - interval '40 days' WHERE change < 2000;
    UPDATE kwicket.tickets SET gone = clock_timestamp() WHERE change BETWEEN 2000 AND 40000;
    UPDATE kwicket.members SET since = since - interval '2 hours', alive = alive
        + CASE WHEN cluster = 'c-4' THEN interval '-1 hour' ELSE interval '1 hour' END;
    ANALYZE;
"""
POOL, CLUSTER, SILENT, RECENT = "p-3", "c-2", "c-4", "99900"
TIMELINE = "00000001"
STAMP = f"00000000-0000-0000-0000-000000000003@{TIMELINE}"
UNDER_WAY = "{99953,99973}"
"""Tokens of the pool that nobody took up: one of another cluster, one of this."""
TICKET = ["{u-3}", "{team/j}", "{t-1}", '{""}', '{"{}"}', "{1}", "{5}", "{f}", "{0}"]
LEASE = ["{3}", "{team/j}", "{u-3}", "{t-1}", '{""}', "{1}", "{5000}"]
GRANT = json.dumps(
    [
        {"token": 9, "cluster": "c-2", "job": "team/j", "uid": "u-3", "tenant": "t-1", "lane": ""}
        | {"width": 1, "charge": "7"}
    ]
)
HOT = {
    "ledger/read": [POOL, CLUSTER],
    "ledger/commit": [POOL, STAMP, '{"version": "2"}', GRANT, CLUSTER, UNDER_WAY, "t", "t"],
    "ledger/open": ["p-new", '{"version": "2"}', GRANT, CLUSTER],
    "ledger/claim": [POOL, STAMP, UNDER_WAY, CLUSTER],
    "backlog/tell": [POOL, CLUSTER, *TICKET, "{u-13,u-23}", *LEASE, "9", "t"],
    "backlog/tickets": [POOL, CLUSTER, RECENT],
    "backlog/leases": [POOL, CLUSTER, RECENT],
    "backlog/ended": [POOL, "{3,13}"],
    "backlog/running": [POOL, CLUSTER],
    "backlog/waiting": [POOL, CLUSTER],
    "backlog/told": [POOL, CLUSTER, TIMELINE, "t", "u", "5"],
    "backlog/join": [POOL, CLUSTER, "i", "rules", "x", "30"],
    "backlog/lapse": [POOL, SILENT, "90", "30", "f"],
    "backlog/overdue": [POOL, CLUSTER, "60"],
    "backlog/members": [POOL, "60", "30"],
    "backlog/feed": [POOL],
    "backlog/leave": [POOL, CLUSTER, "t"],
    "backlog/retire": [POOL, CLUSTER, "t"],
    "backlog/beat": [POOL, CLUSTER, "rules", "t", "30", "u", "5"],
    "backlog/alive": [POOL, CLUSTER, "i", "30"],
    "backlog/doubt": [POOL, CLUSTER, "i", "5"],
    "history/prune_grants": ["2592000", "5000"],
    "history/prune_tickets": ["3600", "5000"],
}
CHANGED = {
    "ledger/commit": {("Update", "pools"): 1, ("Insert", "grants"): 1, ("Update", "grants"): 2},
    "ledger/open": {("Insert", "pools"): 1, ("Insert", "grants"): 1},
    "ledger/claim": {("Update", "pools"): 1, ("Update", "grants"): 1},
    "backlog/told": {("Update", "members"): 1},
    "backlog/lapse": {
        ("Delete", "members"): 1,
        ("Insert", "feeds"): 1,
        ("Update", "tickets"): 1200,
        ("Update", "grants"): 9,
    },
}
"""How many rows of which table each of these writes in `FILL`."""
REMOVED = {"Rows Removed by Filter", "Rows Removed by Index Recheck"}
FEW = 300
OFTEN = 10
"""Twice as often as the server plans for the values before it weighs a plan for any."""
PLANS = ["force_custom_plan", "force_generic_plan"]


@pytest.fixture(scope="module")
def full(postgres: str) -> Database:
    """A database with many tickets and grants."""
    return asyncio.run(_filled(postgres))


async def _filled(postgres: str) -> Database:
    made = await Database.made(postgres)
    await migrate(made.url)
    connection = await asyncpg.connect(made.url)
    await connection.execute(FILL)
    await connection.close()
    return made


@pytest.fixture
async def connection(full: Database) -> AsyncIterator[Any]:
    made = await asyncpg.connect(full.url)
    yield made
    await made.close()


@pytest.mark.parametrize("name", HOT)
@pytest.mark.parametrize("plan", PLANS)
async def test_no_ticket_and_no_grant_is_read_that_is_not_asked_for(
    connection: Any, name: str, plan: str
) -> None:
    found = await planned(connection, query(name), HOT[name], plan)
    whole = [one for one in nodes(found) if one["Node Type"] == "Seq Scan"]
    assert {one["Relation Name"] for one in whole}.isdisjoint({"tickets", "grants"}), found


@pytest.mark.parametrize("name", HOT)
@pytest.mark.parametrize("plan", PLANS)
async def test_no_index_is_read_through_for_a_few_rows_of_it(
    connection: Any, name: str, plan: str
) -> None:
    """A condition that is no part of the index is a filter, which no `Seq Scan` shows."""
    found = await planned(connection, query(name), HOT[name], plan, run=True)
    removed = [rows for one in nodes(found) for what, rows in one.items() if what in REMOVED]
    assert sum(removed) < FEW, found


@pytest.mark.parametrize(
    ("name", "index"),
    [("backlog/leases", "grants_that_run"), ("backlog/tickets", "tickets_that_wait")],
)
@pytest.mark.parametrize("plan", ["force_custom_plan", "auto"])
async def test_who_begins_anew_reads_neither_what_has_ended_nor_what_has_left(
    connection: Any, name: str, index: str, plan: str
) -> None:
    """No plan for any values does that: the server must go on to plan for them, though the same
    statement was asked for changes alone again and again.
    """
    since = [RECENT] * OFTEN
    found = await planned(connection, query(name), [POOL, CLUSTER, "0"], plan, before=since)
    assert indexes(found) == [index]


@pytest.mark.parametrize("plan", PLANS)
async def test_all_that_waits_here_is_found_without_reading_what_has_left(
    connection: Any, plan: str
) -> None:
    found = await planned(connection, query("backlog/waiting"), [POOL, CLUSTER], plan)
    assert indexes(found) == ["tickets_that_wait"]


@pytest.mark.parametrize("name", CHANGED)
async def test_what_is_to_be_written_is_written(connection: Any, name: str) -> None:
    """Else its plan would say nothing about what it reads."""
    found = await planned(connection, query(name), HOT[name], "force_custom_plan", run=True)
    assert changed(found) == CHANGED[name], found


@pytest.mark.parametrize("plan", PLANS)
async def test_who_takes_up_what_is_found_without_reading_what_was_given_back_long_ago(
    connection: Any, plan: str
) -> None:
    """Nor what ended otherwise since."""
    found = await planned(connection, query("backlog/members"), [POOL, "60", "30"], plan)
    assert indexes(found, "grants") == ["grants_given_back"]


async def planned(
    connection: Any,
    text: str,
    values: list[str],
    plan: str,
    *,
    run: bool = False,
    before: Sequence[str] = (),
) -> dict[str, Any]:
    """How the server would do it; or how it has done it, which leaves no trace.

    It was done `before` for other last values.
    """
    quoted = _quoted(values)
    await connection.execute(f"SET plan_cache_mode = {plan}; PREPARE asked AS {text}")
    for last in before:
        await connection.execute(f"EXECUTE asked ({_quoted([*values[:-1], last])})")
    how = "ANALYZE, FORMAT JSON" if run else "FORMAT JSON"
    await connection.execute("BEGIN")
    [(said,)] = await connection.fetch(f"EXPLAIN ({how}) EXECUTE asked ({quoted})")
    await connection.execute("ROLLBACK")
    root: dict[str, Any] = json.loads(said)[0]["Plan"]
    return root


def _quoted(values: Sequence[str]) -> str:
    return ", ".join("'" + value.replace("'", "''") + "'" for value in values)


def changed(plan: dict[str, Any]) -> dict[tuple[str, str], float]:
    """How many rows were written, by what was done to which table."""
    return {
        (one["Operation"], one["Relation Name"]): below["Actual Rows"]
        for one in nodes(plan)
        if one["Node Type"] == "ModifyTable"
        for below in one["Plans"]
        if below["Parent Relationship"] == "Outer"
    }


def indexes(plan: dict[str, Any], table: str | None = None) -> list[str]:
    """Those that a plan reads, of one table or all."""
    read = [one for one in nodes(plan) if table in {None, one.get("Relation Name")}]
    return [one["Index Name"] for one in read if "Index Name" in one]


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A plan's node and all below."""
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)
