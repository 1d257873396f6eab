"""A cluster that is restored from a backup of its etcd: Jobs, pods, and what its Pools show.

The revision is raised, as by --bump-revision, so that no version tells of it. What is declared is
applied again at once, and who holds a Job lets it go. What a pod was at the time of the backup it
is again, and ends soon.
"""

from copy import deepcopy

from faults.store import JOBS, PODS, POOLS, Key, Stored, changed
from faults.world import World

RESTORED = "restored"
"""The fault, and who has put back what the backup has."""
HOLD = "kwicket.dev/hold"


class Backup:
    """A cluster as it is now."""

    def __init__(self, world: World) -> None:
        self._world = world
        objects = world.store.objects
        self._kept = {kind: dict(objects.get(kind, {})) for kind in (PODS, JOBS, POOLS)}
        self._tallies = deepcopy(world.controller.tallies)

    def restore(self) -> None:
        """Has the cluster be so again."""
        store, controller = self._world.store, self._world.controller
        controller.restore(self._tallies)
        for key, pool in self._kept.pop(POOLS).items():
            self._put_back(POOLS, key, self._declared(key, pool))
        for kind, kept in self._kept.items():
            for key, stored in list(store.objects.get(kind, {}).items()):
                if key not in kept or _uid(kept[key]) != _uid(stored):
                    self._put_back(kind, key, None)
            for key, stored in kept.items():
                self._put_back(kind, key, _not_held(stored))

    def _declared(self, key: Key, pool: Stored) -> Stored:
        """A Pool with the status of then, and the rules of now."""
        now = self._world.store.get(POOLS, key)
        assert now is not None
        return Stored(pool.version, changed(now.body, status=pool.body.get("status", {})))

    def _put_back(self, kind: str, key: Key, stored: Stored | None) -> None:
        store = self._world.store
        if store.get(kind, key) is not stored:
            store.put_back(kind, key, stored, RESTORED)
            if kind == PODS and stored is not None:
                self._world.nodes.resume(key, stored)


def _uid(stored: Stored) -> str:
    return str(stored.body["metadata"]["uid"])


def _not_held(stored: Stored) -> Stored:
    labels = stored.body["metadata"]["labels"]
    if HOLD not in labels:
        return stored
    others = {name: said for name, said in labels.items() if name != HOLD}
    return Stored(stored.version, changed(stored.body, metadata={"labels": others}))
