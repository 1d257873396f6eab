"""What one process of a cluster works with, on a PostgreSQL."""

from kwicket_storage.backlog import PostgresBacklog
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections
from kwicket_storage.postgres import PostgresLedger
from support.backlog_contract import Share


def share_of(connections: Connections, name: str, identity: str = "") -> Share:
    """By these connections; whoever leads commits."""
    cluster = Cluster(name)
    backlog = PostgresBacklog(connections, cluster, identity or f"of {name}")
    return Share(PostgresLedger(connections, cluster), backlog)
