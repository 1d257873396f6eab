"""Whose Job is it? In PostgreSQL the Jobs of several clusters stand side by side.

There a Job is `cluster/namespace/name` and a submission `cluster/uid`, so that two clusters that
were made of one backup have no submission in common. An operator knows those of its own cluster
as everywhere else, without the cluster, and those of the others as they stand.
"""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from kwicket.core.state import Intent, Reservation, State


class Place(Struct, frozen=True):
    """A submission as columns have it."""

    cluster: str
    job: str
    """`namespace/name`."""
    uid: str


class Cluster(Struct, frozen=True):
    """The cluster that we work for. Raises ValueError for a name that can't be told from others."""

    name: str

    def __post_init__(self) -> None:
        if not self.name or "/" in self.name:
            raise ValueError(f"cluster: {self.name!r} is no name: it is empty, or has a /")

    def place(self, job: str, uid: str) -> Place:
        """The columns of a submission that we know by these names."""
        cluster, slash, foreign = uid.partition("/")
        if not slash:
            return Place(self.name, job, uid)
        return Place(cluster, job.removeprefix(f"{cluster}/"), foreign)

    def names(self, place: Place) -> tuple[str, str]:
        """By which job and uid we know a submission."""
        if place.cluster == self.name:
            return place.job, place.uid
        return f"{place.cluster}/{place.job}", f"{place.cluster}/{place.uid}"

    def shared(self, state: State) -> State:
        """A state as it is written for all clusters."""
        return _renamed(state, self._full)

    def own(self, state: State) -> State:
        """A state that was written for all clusters, as we know it."""
        return _renamed(state, self._short)

    def _full(self, name: str, uid: str) -> str:
        return name if "/" in uid else f"{self.name}/{name}"

    def _short(self, name: str, uid: str) -> str:
        prefix = f"{self.name}/"
        return name.removeprefix(prefix) if uid.startswith(prefix) else name


def _renamed(state: State, rename: Callable[[str, str], str]) -> State:
    def of_intent(intent: Intent) -> Intent:
        lease = intent.lease
        job, uid = rename(lease.job, lease.uid), rename(lease.uid, lease.uid)
        return replace(intent, lease=replace(lease, job=job, uid=uid))

    def of_reservation(one: Reservation) -> Reservation:
        return replace(one, job=rename(one.job, one.uid), uid=rename(one.uid, one.uid))

    return replace(
        state,
        intents=tuple(map(of_intent, state.intents)),
        reservations=tuple(map(of_reservation, state.reservations)),
    )
