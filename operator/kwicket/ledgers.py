"""Which ledger the settings ask for, and what comes with it. Part of the composition root."""

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from msgspec import Struct

from kwicket.engine.sharing import Sharing
from kwicket.kube.client import Client
from kwicket.kube.clock import SystemClock
from kwicket.kube.identity import identity_of
from kwicket.ports.clock import Clock
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Ledger
from kwicket.settings import Shared
from kwicket_storage.backlog import PostgresBacklog
from kwicket_storage.clock import DatabaseClock
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections
from kwicket_storage.history import History
from kwicket_storage.kubernetes import KubernetesLedger
from kwicket_storage.listener import Listener
from kwicket_storage.migrations import SchemaError
from kwicket_storage.postgres import PostgresLedger
from kwicket_storage.queries import query
from kwicket_storage.schema import examine, look
from kwicket_storage.servers import UNREACHED, Servers

type Rung = Callable[[str | None], None]


class Ledgers(Struct, frozen=True):
    """The ledger, by whose clock it is written, and what joins it to other clusters."""

    ledger: Ledger
    clock: Clock
    sharing: Sharing | None = None
    chores: tuple[Callable[[Rung], Coroutine[Any, Any, None]], ...] = ()
    """Run until cancelled; one calls back whenever another cluster has written."""


@asynccontextmanager
async def ledgers(shared: Shared | None, client: Client) -> AsyncIterator[Ledgers]:
    """What the settings ask for.

    Raises ValueError for a URL that is none, or if PostgreSQL's schema is not one that we can work
    with. A server that is not reached is waited for later, as every time, and its schema is looked
    at then: UnavailableError.
    """
    if shared is None:
        yield Ledgers(KubernetesLedger(client), SystemClock())
        return
    clock, cluster = DatabaseClock(), Cluster(shared.cluster)
    connections = Connections(shared.url, clock=clock, examine=examine)
    heard = connections.servers if shared.listen is None else Servers(shared.listen)
    try:
        await look(shared.url)
        await connections.rows(query("now"))
    except SchemaError as error:
        raise ValueError(f"PostgreSQL: {error}") from error
    except (*UNREACHED, UnavailableError):
        pass
    backlog = PostgresBacklog(connections, cluster, await identity_of(client))
    try:
        yield Ledgers(
            PostgresLedger(connections, cluster, backlog.teller),
            clock,
            Sharing(backlog, clock, shared.lapse),
            (
                lambda rung: Listener(heard, rung, connections.mine).run(),
                lambda _: History(connections, days=shared.history).run(),
            ),
        )
    finally:
        await connections.close()
