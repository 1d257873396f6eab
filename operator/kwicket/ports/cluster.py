"""The cluster: what the engine asks of the Kubernetes API about Jobs and pods."""

from typing import Protocol

from msgspec import Struct

from kwicket.core.jobs import JobSeen, PodSeen
from kwicket.core.pools import Shown


class Order(Struct, frozen=True):
    """A grant to be written on its Job, at exactly one resourceVersion."""

    job: JobSeen
    pool: str
    lane: str
    token: int
    granted_at: int
    """Milliseconds since 1970."""
    charged: str
    """What the tenant was charged at the start, as a whole number: 1, or slot-milliseconds."""
    beside: bool = False
    """Whether pods of an earlier grant are left on silent nodes, beside which it must run."""


class Started(Struct, frozen=True):
    """The Job carries the grant; this is how it looks now."""

    job: JobSeen


class Stopped(Struct, frozen=True):
    """The Job is suspended; this is how it looks now."""

    job: JobSeen


class Replaced(Struct, frozen=True):
    """The Job's pods are replaced late again; this is how it looks now."""

    job: JobSeen


class Stale(Struct, frozen=True):
    """The Job has changed since it was read; nothing was written."""


class Gone(Struct, frozen=True):
    """There is no such Job any more."""


class Denied(Struct, frozen=True):
    """The API server refused the write for good, in its own words."""

    message: str


class Cluster(Protocol):
    """Each method raises UnavailableError if it can't say."""

    async def start(self, order: Order) -> Started | Stale | Gone | Denied:
        """Writes the grant: unsuspends the Job and stamps it and its pod template, whether or not
        it ran before.
        """
        ...

    async def stop(self, job: JobSeen, deliveries: int) -> Stopped | Stale | Gone | Denied:
        """Suspends a Job that must not run on, at exactly this resourceVersion; it has been
        delivered so often.
        """
        ...

    async def replace_late(self, job: JobSeen) -> Replaced | Stale | Gone | Denied:
        """Has a Job's pods replaced only once they have ended, at exactly this resourceVersion."""
        ...

    async def look(self, namespace: str, name: str) -> JobSeen | None:
        """The Job as it is now, read consistently; None if it is gone or not managed."""
        ...

    async def pods(self, namespace: str, job_uid: str) -> tuple[PodSeen, ...]:
        """The pods of a submission as they are now, read consistently."""
        ...

    async def alive(self, node: str) -> bool:
        """Whether a node is there and has not fallen silent, read consistently."""
        ...

    async def shown(self, pool: str) -> Shown:
        """What the Pool's status shows now, read consistently; nothing if there is no such Pool."""
        ...

    async def listed(self) -> None:
        """Returns when Jobs and pods were listed once, since this replica began."""
        ...

    async def relist(self) -> None:
        """Returns when a complete list of Jobs and pods, begun after the call, was taken in."""
        ...
