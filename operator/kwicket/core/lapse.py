"""When a lease lapses: none of its pods starts, or their nodes give no sign of life. Pure.

Moments are seconds of one monotonic clock: when the observer saw something, never when others say
that it was.
"""

from collections.abc import Container, Sequence
from enum import StrEnum

from msgspec import Struct

from kwicket.core.jobs import JobSeen, PodSeen
from kwicket.core.leases import OnLapse, Terms


class Cause(StrEnum):
    """Why a lease has lapsed."""

    NOT_STARTED = "NotStarted"
    NODES_SILENT = "NodesSilent"


class Lapse(Struct, frozen=True):
    """A lease that has lapsed; `nodes` are those that give no sign of life, if that is why."""

    cause: Cause
    action: OnLapse
    after: int
    """Milliseconds of which the terms say that they are enough."""
    nodes: tuple[str, ...] = ()

    @property
    def frees(self) -> bool:
        """Whether pods on silent nodes hold the slot no more."""
        return self.cause is Cause.NODES_SILENT and self.action is OnLapse.REDELIVER


class Watched(Struct, frozen=True, gc=False):
    """What was observed of a submission that runs, or whose pods may run still."""

    token: int | None
    """None once it runs no more: it was suspended or deleted, or is gone."""
    since: float
    """When it was first seen with this token."""
    started: bool = False
    """Whether any container of its pods has run."""
    silent: tuple[str, ...] = ()
    """The nodes of its pods, if none of them gives a sign of life."""
    silent_since: float = 0
    """Since when that has been so without a break."""


def watch(
    known: Watched | None,
    job: JobSeen | None,
    pods: Sequence[PodSeen],
    silent: Container[str],
    now: float,
) -> Watched | None:
    """What is known by now of a submission; None if there is nothing to wait for.

    `silent` has the names of the nodes that give no sign of life.
    """
    token = _running(job)
    own = [pod for pod in pods if token is None or _of(pod, token)]
    if token is None and (not any(pod.live for pod in own) or (job is not None and job.ended)):
        return None
    same = known is not None and known.token == token
    since, started = (known.since, known.started) if known and same else (now, False)
    nodes = _silent_nodes(own, silent, all_placed=token is None)
    lasts = bool(nodes and known and known.silent) and (same or token is None)
    return Watched(
        token,
        since,
        started or any(pod.started for pod in own),
        nodes,
        known.silent_since if known and lasts else now,
    )


def lapse(watched: Watched, terms: Terms, now: float) -> Lapse | None:
    """How the lease has lapsed by now, if it has."""
    if watched.silent and now >= watched.silent_since + terms.duration / 1000:
        return Lapse(Cause.NODES_SILENT, terms.on_lapse, terms.duration, watched.silent)
    if _may_start(watched) and now >= watched.since + terms.start_within / 1000:
        return Lapse(Cause.NOT_STARTED, terms.on_lapse, terms.start_within)
    return None


def next_look(watched: Watched, terms: Terms, now: float) -> float | None:
    """When time alone may have it lapse; None if it may not."""
    moments = []
    if watched.silent:
        moments.append(watched.silent_since + terms.duration / 1000)
    if _may_start(watched):
        moments.append(watched.since + terms.start_within / 1000)
    return min((moment for moment in moments if moment > now), default=None)


def _running(job: JobSeen | None) -> int | None:
    """The token by which a Job runs; None if it does not."""
    if job is None or job.ended or job.deleting or job.suspended:
        return None
    return job.token


def _of(pod: PodSeen, token: int) -> bool:
    """Whether a pod was started by this grant, and not by an earlier one that has lapsed."""
    return pod.token in (None, token)


def _silent_nodes(
    pods: Sequence[PodSeen], silent: Container[str], *, all_placed: bool
) -> tuple[str, ...]:
    """The nodes of the live pods if each is silent; none if one is not.

    A pod that has no node yet gives no sign of life either, but may find one: of a submission that
    is not running any more it must be waited for (`all_placed`).
    """
    nodes = {pod.node for pod in pods if pod.live}
    if not all_placed:
        nodes.discard("")
    return tuple(sorted(nodes)) if all(node in silent for node in nodes) else ()


def _may_start(watched: Watched) -> bool:
    return watched.token is not None and not watched.started
