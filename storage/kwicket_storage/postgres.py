"""A ledger in PostgreSQL: one row a pool, guarded by a stamp that each write makes anew."""

from collections.abc import Iterable

from msgspec import Struct, json

from kwicket.core.state import Intent, State
from kwicket.ports.errors import UnavailableError
from kwicket.ports.ledger import Conflict, Page
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections
from kwicket_storage.encoding import as_text, of_text
from kwicket_storage.migrations import SchemaError, not_newer
from kwicket_storage.queries import query


class Grant(Struct, frozen=True):
    """A row of the table of grants."""

    token: int
    cluster: str
    job: str
    uid: str
    tenant: str
    lane: str
    width: int
    charge: str
    """In full: a number of JSON need not be exact."""


class PostgresLedger:
    """The port, for the operators of one cluster. Each method is one transaction."""

    def __init__(
        self, connections: Connections, cluster: Cluster, teller: str | None = None
    ) -> None:
        """Commits only as long as `teller` tells of the cluster; None: whoever does."""
        self._connections = connections
        self._cluster = cluster
        self._teller = teller

    async def read(self, pool: str) -> Page | None:
        """The newest page. Raises PageError if it can't be understood.

        And UnavailableError if the schema is too new, also for who began with one that was not, or
        while another cluster has not told yet, since it joined or since the server took over from
        another one, what holds slots there.
        """
        [row] = await self._connections.at_once(query("ledger/read"), pool, self._cluster.name)
        _check(row["major"])
        if row["stamp"] is None:
            return None
        if row["missing"]:
            raise UnavailableError(
                f"ledger {pool}: {', '.join(row['missing'])} must tell first what runs there"
            )
        return Page(pool, self._cluster.own(self._state(row["state"])), row["stamp"])

    async def open(self, pool: str, state: State) -> Page | Conflict:
        """Inserts the row of a pool, and its grants. Conflict if there is one."""
        row = await self._connections.row(
            query("ledger/open"),
            pool,
            self._text(state),
            self._grants(state.intents),
            self._cluster.name,
        )
        return Conflict() if row is None else Page(pool, state, row["stamp"])

    async def commit(self, page: Page, state: State) -> Page | Conflict:
        """Replaces the row at the page's stamp, and writes down each grant that is new in it.

        Raises ValueError if the version would fall.
        """
        if state.version < page.state.version:
            raise ValueError(f"ledger {page.pool}: version {state.version} would fall")
        former = {intent.lease.token for intent in page.state.intents}
        kept = {intent.lease.token for intent in state.intents}
        rows = await self._connections.at_once(
            query("ledger/commit"),
            page.pool,
            page.stamp,
            self._text(state),
            self._grants([one for one in state.intents if one.lease.token not in former]),
            self._cluster.name,
            sorted(former - kept),
            True,
            self._teller,
        )
        return Page(page.pool, state, rows[0]["stamp"]) if rows else Conflict()

    def _text(self, state: State) -> str:
        return as_text(self._cluster.shared(state))

    def _state(self, text: str) -> State:
        return of_text(text)

    def _grants(self, intents: Iterable[Intent]) -> str:
        """Rows for the table of grants."""
        return json.encode([self._grant(intent) for intent in intents]).decode()

    def _grant(self, intent: Intent) -> Grant:
        lease = intent.lease
        place = self._cluster.place(lease.job, lease.uid)
        return Grant(
            lease.token,
            place.cluster,
            place.job,
            place.uid,
            lease.tenant,
            lease.lane,
            lease.width,
            str(intent.charge),
        )


def _check(major: int) -> None:
    try:
        not_newer(major)
    except SchemaError as error:
        raise UnavailableError(f"PostgreSQL: {error}") from error


async def pools(connections: Connections) -> list[str]:
    """The names of all pools that have a page."""
    return [row["name"] for row in await connections.rows(query("ledger/pools"))]
