"""Worlds of several clusters that share one ledger."""

from kwicket.engine.engine import Engine
from kwicket.engine.sharing import Sharing
from kwicket.ports.ledger import Ledger
from kwicket_storage.clusters import Cluster
from kwicket_storage.shared_memory import SharedMemory, SharedMemoryBacklog, SharedMemoryLedger
from support.world import World


class ClusterWorld(World):
    """One of them, which the others know by its name."""

    def __init__(self, memory: SharedMemory, name: str) -> None:
        super().__init__()
        self.lapse: float | None = None
        self.backlogs = SharedMemoryBacklog
        """What it makes of each process's backlog."""
        self._memory = memory
        self._cluster = Cluster(name)
        self._latest = self.backlog()

    def backlog(self) -> SharedMemoryBacklog:
        """What one process of it tells and hears with."""
        return self.backlogs(self._memory, self._cluster, f"of {self._cluster.name}")

    def sharing(self) -> Sharing:
        return Sharing(self._latest, self.clock, self.lapse)

    def begun(self, engine: Engine) -> None:
        self._memory.listen(engine.rung)

    def shelf(self) -> Ledger:
        """A replica asks for it first, and then for what joins it to the others."""
        self._latest = self.backlog()
        return SharedMemoryLedger(self._memory, self._cluster, self._latest)
