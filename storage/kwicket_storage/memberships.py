"""The memberships of a cluster in PostgreSQL, for whoever moves its pools, with no operator."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from kwicket_storage.backlog import UNBROKEN
from kwicket_storage.clusters import Cluster
from kwicket_storage.connections import Connections
from kwicket_storage.queries import query

_NOBODY = ""
"""The teller of a cluster that has moved away while something of it may still run."""


class Membership(Struct, frozen=True):
    """One pool that the cluster shares."""

    pool: str
    teller: str
    alive: str
    """The last sign of life of its operator: another one means that it is at work."""
    highest: int
    """The highest token that anybody there knows of."""

    @property
    def moved(self) -> bool:
        """Whether the cluster has moved away, and goes by a Ledger of its own since."""
        return self.teller == _NOBODY


class Kept(Struct, frozen=True):
    """What stays in PostgreSQL of a cluster that has moved away; it left if that is nothing."""

    jobs: int
    """How many of its Jobs run, or may, and keep their slots."""
    untold: bool
    """Whether more may run, since it has not told all: the others must not go on."""

    def __bool__(self) -> bool:
        return self.jobs > 0 or self.untold


class Memberships:
    """Each method is one transaction, and raises UnavailableError."""

    def __init__(self, connections: Connections, cluster: Cluster, identity: str) -> None:
        self._connections = connections
        self._cluster = cluster
        self._identity = identity

    async def all(self) -> Mapping[str, Membership]:
        """By pool. Raises ValueError if another cluster has our name."""
        name = self._cluster.name
        rows = [row for row in await self._rows() if row["cluster"] == name]
        for row in rows:
            if row["identity"] != self._identity:
                raise ValueError(
                    f"pool {row['pool']}: another cluster shares it as {name!r}: say by which name"
                    " the others know this one"
                )
        return {
            row["pool"]: Membership(row["pool"], row["teller"], row["alive"], row["highest"])
            for row in rows
        }

    async def otherwise(self) -> Mapping[str, str]:
        """The pools that this cluster shares by another name alone, and that name."""
        rows, name = await self._rows(), self._cluster.name
        known = {row["pool"] for row in rows if row["cluster"] == name}
        return {row["pool"]: row["cluster"] for row in rows if row["pool"] not in known}

    async def end(self, one: Membership) -> Kept | None:
        """Ends it; again and again without harm.

        As long as anything is kept, the others know the cluster as one that is silent; then it is
        to be forgotten. None if a process has begun to tell of the cluster meanwhile.
        """
        row = await self._connections.row(
            query("backlog/retire"), one.pool, self._cluster.name, one.teller
        )
        return None if row is None else Kept(row["running"], not row["told"])

    async def _rows(self) -> Sequence[Any]:
        return await self._connections.rows(
            query("backlog/memberships"), self._cluster.name, self._identity
        )


async def forgotten(connections: Connections, pool: str, cluster: str, silent: float) -> bool:
    """Frees all that a cluster holds, by the word of an administrator; whether it did.

    If it was missing for so many seconds while another one was there, or has moved away. Raises
    UnavailableError.
    """
    rows = await connections.rows(query("backlog/lapse"), pool, cluster, silent, UNBROKEN, True)
    return bool(rows)
