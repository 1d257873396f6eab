"""The history of a database: grants that ended stay for a while, and are deleted then."""

import asyncio
import random

import structlog

from kwicket.ports.errors import UnavailableError
from kwicket_storage.connections import Connections
from kwicket_storage.queries import query

DAYS = 30.0
"""How long a grant is kept after its end."""
TICKETS = 3600.0
"""Seconds that a ticket is kept after it left the line, for who reads changes alone; it is no
history, since its grant is."""
BATCH = 500
"""Rows that one transaction deletes, so that it is short."""

EVERY = 3600.0
"""Seconds."""

_log = structlog.get_logger(__name__)


class History:
    """What is kept of the past. Any operator may prune it, several at once too."""

    def __init__(self, connections: Connections, *, days: float = DAYS) -> None:
        if days <= 0:
            raise ValueError(f"history: it is kept for some days, not for {days}")
        self._connections = connections
        self._seconds = days * 86_400

    async def run(self) -> None:
        """Prunes every hour or so until cancelled."""
        while True:
            await asyncio.sleep(random.uniform(0.5, 1.5) * EVERY)  # noqa: S311 - no secret
            try:
                rows = await self.prune()
            except UnavailableError as error:
                _log.warning("history not pruned", error=str(error))
            else:
                _log.info("history pruned", rows=rows)

    async def prune(self) -> int:
        """Deletes what is older, batch by batch; how many rows.

        Raises UnavailableError; what can be deleted is, though the rest can't.
        """
        old = (("history/prune_grants", self._seconds), ("history/prune_tickets", TICKETS))
        rows, failed = 0, None
        for name, seconds in old:
            try:
                rows += await self._pruned(name, seconds)
            except UnavailableError as error:
                failed = error
        if failed is not None:
            raise failed
        return rows

    async def _pruned(self, name: str, seconds: float) -> int:
        rows, last = 0, BATCH
        while last == BATCH:
            row = await self._connections.row(query(name), seconds, BATCH)
            last = 0 if row is None else row["rows"]
            rows += last
        return rows
