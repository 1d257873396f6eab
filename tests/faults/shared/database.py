"""A model of the database: the shared ledger in memory, with timelines and a record of its pages.

A failover goes back to what a standby had, under another timeline: every page is stale, and
nothing counts as told, as storage/kwicket_storage/sql/ has it.
"""

from typing import Any

from msgspec.structs import replace

from faults.store import LEDGERS, Change, Stored, Versions
from kwicket.core.pools import NOTHING, Shown
from kwicket.core.state import State
from kwicket.ports.backlog import Elsewhere, News, Remembered
from kwicket.ports.clock import Clock
from kwicket.ports.errors import UnavailableError
from kwicket_storage.encoding import encoded
from kwicket_storage.shared_memory import SharedMemory, SharedMemoryBacklog
from kwicket_storage.shelves import Shelf

FAILOVER = "failover"
"""Who has put back a page that a standby had."""
LAPSED = "lapsed"
"""The kind of change by which a cluster's slots in a pool are free; its key has both names."""

type Copy = dict[str, Shelf]


class Database(SharedMemory):
    """All writes are of one moment each."""

    def __init__(self, clock: Clock, versions: Versions) -> None:
        super().__init__(clock)
        self.timeline = 1
        self.down = self.read_only = False
        self.locked = False
        """Whether a transaction that has written something was not committed yet."""
        self.changes: list[Change] = []
        """What became of pages, and which clusters lapsed."""
        self._versions = versions
        self._pages: dict[str, tuple[State | None, Stored | None]] = {}

    def note(self, by: str, heard: int = 0) -> None:
        """Writes down what a process has made of the pages."""
        for pool, shelf in self._shelves.items():
            state, before = self._pages.get(pool, (None, None))
            if shelf.state is state:
                continue
            after = None
            if shelf.state is not None:
                metadata = {"name": pool, "uid": pool}
                body = {"metadata": metadata, "spec": encoded(shelf.state)}
                after = Stored(self._versions.next(), body)
            self._pages[pool] = shelf.state, after
            self._record(LEDGERS, ("", pool), before, after, by, heard)

    def lapsed(self, pool: str, cluster: str, by: str) -> None:
        """Writes down that a cluster was forgotten."""
        body = {"metadata": {"name": pool, "uid": cluster}}
        entry = Stored(self._versions.next(), body)
        self._record(LAPSED, (pool, cluster), None, entry, by, 0)

    def intents(self) -> int:
        """How many grants are not yet seen on their Jobs."""
        states = (shelf.state for shelf in self._shelves.values())
        return sum(len(state.intents) for state in states if state is not None)

    def copy(self) -> Copy:
        """What a standby has that hears of nothing more."""
        return {pool: _copied(shelf) for pool, shelf in self._shelves.items()}

    def fail_over(self, copy: Copy) -> None:
        """A standby takes over. A pool that has a member which it does not know goes not back.

        Such a cluster is not waited for until its next sign of life (decision 37).
        """
        self.timeline += 1
        for pool, shelf in list(self._shelves.items()):
            known = copy.get(pool)
            if known is not None and known.members.keys() >= shelf.members.keys():
                shelf = self._shelves[pool] = known
            shelf.stamp = self.stamp()
            for member in shelf.members.values():
                member.told = False
        self.note(FAILOVER)

    def _record(self, kind: str, key: Any, before: Any, after: Any, by: str, heard: int) -> None:
        at = self.clock.monotonic()
        self.changes.append(Change(at, self._versions.last, kind, key, before, after, by, heard))


class TimedBacklog(SharedMemoryBacklog):
    """Knows on which timeline it joined and heard, as the one in PostgreSQL does."""

    def __init__(self, database: Database, *named: Any, process: str) -> None:
        super().__init__(database, *named)
        self._database = database
        self._process = process
        self._joined: dict[str, int] = {}
        self._listened: dict[str, int] = {}

    async def join(self, pool: str, rules: str) -> Remembered:
        """Notes the server that it joined on."""
        before = await super().join(pool, rules)
        self._joined[pool] = self._database.timeline
        return before

    async def tell_all(self, pool: str, here: News, highest: int, shown: Shown = NOTHING) -> None:
        """What is told counts for all on the server that was joined alone."""
        if self._joined.get(pool) != self._database.timeline:
            raise UnavailableError(f"pool {pool}: the server changed meanwhile")
        await super().tell_all(pool, here, highest, shown)

    async def hear(self, pool: str, since: int) -> Elsewhere:
        """All, if another server may have given the same numbers to other changes."""
        timeline = self._database.timeline
        same = self._listened.get(pool) == timeline
        self._listened[pool] = timeline
        return await super().hear(pool, since if same else 0)

    async def forget(self, pool: str, cluster: str, silent: float) -> bool:
        """Writes down who lapsed."""
        forgotten = await super().forget(pool, cluster, silent)
        if forgotten:
            self._database.lapsed(pool, cluster, self._process)
        return forgotten


def _copied(shelf: Shelf) -> Shelf:
    """With entries of its own; what they hold never changes."""
    return replace(
        shelf,
        members={name: replace(one) for name, one in shelf.members.items()},
        tickets={key: replace(one) for key, one in shelf.tickets.items()},
        grants={key: replace(one) for key, one in shelf.grants.items()},
    )
