"""The contracts of a ledger and of a shared backlog, on those that `connections` lead to."""

from typing import Any

import pytest

from kwicket_storage.backlog import PostgresBacklog
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections
from kwicket_storage.memberships import Membership, Memberships
from kwicket_storage.postgres import PostgresLedger
from support.backlog_contract import BacklogContract, Share, Shares
from support.contract import LedgerContract, Remove, written
from support.departure_contract import Away, DepartureContract
from support.later import Kept, LaterContract, LaterPostgresLedger, Rewrite
from support.restore_contract import RestoreContract
from support.silence_contract import Later, SilenceContract


class PostgresLedgerContract(LedgerContract, LaterContract):
    """On a real server, whichever way `connections` lead there."""

    @pytest.fixture
    def ledger(self, connections: Connections) -> PostgresLedger:
        return PostgresLedger(connections, Cluster("east"))

    @pytest.fixture
    def remove(self, administrator: Any) -> Remove:
        async def remove(pool: str) -> None:
            await administrator.execute("DELETE FROM kwicket.pools WHERE name = $1", pool)

        return remove

    @pytest.fixture
    def rewrite(self, connections: Connections) -> Rewrite:
        later = LaterPostgresLedger(connections, Cluster("west"))

        async def rewrite(pool: str) -> None:
            page = await later.read(pool)
            assert page is not None
            written(await later.commit(page, page.state))

        return rewrite

    @pytest.fixture
    def kept(self, administrator: Any) -> Kept:
        async def kept(pool: str) -> bool:
            asked = "SELECT state ->> 'borrowed' IS NOT NULL FROM kwicket.pools WHERE name = $1"
            found: bool = await administrator.fetchval(asked, pool)
            return found

        return kept


class PostgresBacklogContract(BacklogContract, SilenceContract, DepartureContract, RestoreContract):
    """On a real server, whichever way `connections` lead there."""

    @pytest.fixture
    def later(self, administrator: Any) -> Later:
        async def later(pool: str, seconds: float) -> None:
            await administrator.execute(
                "UPDATE kwicket.members SET seen = seen - passed, alive = alive - passed,"
                " since = since - passed FROM make_interval(secs => $2) AS passed WHERE pool = $1",
                pool,
                seconds,
            )

        return later

    @pytest.fixture
    def away(self, connections: Connections) -> Away:
        async def away(pool: str, cluster: str) -> None:
            members = Memberships(connections, Cluster(cluster), f"of {cluster}")
            told = "SELECT teller FROM kwicket.members WHERE pool = $1 AND cluster = $2"
            row = await connections.row(told, pool, cluster)
            assert row is not None
            assert await members.end(Membership(pool, row["teller"], "", 0)) is not None

        return away

    @pytest.fixture
    def share(self, connections: Connections) -> Shares:
        def share(name: str, identity: str = "") -> Share:
            cluster = Cluster(name)
            backlog = PostgresBacklog(connections, cluster, identity or f"of {name}")
            return Share(PostgresLedger(connections, cluster, backlog.teller), backlog)

        return share
