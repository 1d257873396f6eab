"""The benchmark of the ledger in PostgreSQL: what it prints, and what its operators do."""

import json
from typing import Any

import pytest
from click.testing import CliRunner

from bench.postgres import __main__ as measured
from bench.postgres.deciding import Operator
from bench.postgres.table import Table, first
from bench.postgres.task import Task
from kwicket.core.decide import MOST_GRANTS
from kwicket.ports.ledger import Page
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections
from kwicket_storage.postgres import PostgresLedger

SMALL = ("--operators", "1", "--pools", "1", "--tenants", "16", "--seconds", "0.5", "--json")
TASK = Task("", 0, operators=2, pools=1, tenants=16, waiting=50, seconds=0)
type Operators = list[tuple[Operator, Table]]

GRANTS = "SELECT token, cluster, uid FROM kwicket.grants WHERE pool = $1 ORDER BY token"


@pytest.mark.timeout(180)
def test_it_says_how_many_grants_a_second_and_how_many_more_than_wicket() -> None:
    result = CliRunner().invoke(measured.main, SMALL)
    assert result.exit_code == 0, result.output
    [size] = json.loads(result.stdout)["sizes"]
    ours, theirs = size["kwicket"]["grants_per_second"], size["wicket"]["grants_per_second"]
    assert ours > theirs > 0
    assert size["ratio"] == pytest.approx(ours / theirs, abs=0.1)
    assert 0 < size["kwicket"]["deciding_ms_per_commit"] < size["kwicket"]["client_ms_per_commit"]


@pytest.fixture
async def operators(connections: Connections, pool: str) -> Operators:
    """Two, of one pool."""
    ledgers = [PostgresLedger(connections, Cluster(name)) for name in ("c-0", "c-1")]
    assert isinstance(await ledgers[0].open(pool, first(TASK.tenants)), Page)
    made = [Operator(ledger) for ledger in ledgers]
    return [(one, Table(TASK, await one.read(pool))) for one in made]


async def test_its_operators_grant_each_job_once_in_batches_though_they_conflict(
    operators: Operators, administrator: Any, pool: str
) -> None:
    east, west = operators
    for one, table in (east, west, west, east, east, east, west, west):
        await one.turn(table)
    done = [one.done(0, 1) for one, _ in operators]
    assert [one.conflicts for one in done] == [1, 2]
    assert [one.grants for one in done] == [3 * MOST_GRANTS, 2 * MOST_GRANTS]
    rows = await administrator.fetch(GRANTS, pool)
    assert len(rows) == len({(row["cluster"], row["uid"]) for row in rows}) == 5 * MOST_GRANTS
