"""When the slot of a granted Job is free again (the lease's rules, pure)."""

from collections.abc import Sequence

from msgspec import Struct

from kwicket.core.jobs import JobSeen, PodSeen
from kwicket.core.lapse import Lapse


class Waits(Struct, frozen=True):
    """It holds no slot: it is suspended and never ran."""


class Holds(Struct, frozen=True):
    """It holds its slot."""


class Over(Struct, frozen=True):
    """It has ended and holds nothing."""


class Unproved(Struct, frozen=True):
    """No live pod is known, but only a consistent list may say so."""


class Stray(Struct, frozen=True):
    """It runs without a grant, or by a token that no pool has given."""


class Lapsed(Struct, frozen=True):
    """It holds its slot although its lease has lapsed."""

    lapse: Lapse


type Standing = Waits | Holds | Over | Unproved | Stray | Lapsed


def standing(
    job: JobSeen | None,
    pods: Sequence[PodSeen],
    lapse: Lapse | None = None,
    *,
    granted: bool = True,
) -> Standing:
    """Where a submission stands, by the Job as last seen (None if gone), its pods, and whether its
    lease has lapsed.

    `granted` is whether a pool may have given the token that the Job carries.
    """
    live = any(pod.live for pod in pods) and not (lapse is not None and lapse.frees)
    if job is not None and (job.ended or (job.deleting and not job.ran)):
        return Over()
    if job is None or job.deleting:
        return Holds() if live else Unproved()
    if job.suspended:
        if not (job.ran or job.started):
            return Waits()
        return Holds() if live or not job.settled else Unproved()
    if job.token is None or not granted:
        return Stray()
    return _running(job, pods, lapse)


def _running(job: JobSeen, pods: Sequence[PodSeen], lapse: Lapse | None) -> Standing:
    if _enough_succeeded(job, pods) and not any(_runs(pod, job) for pod in pods):
        return Over()
    return Holds() if lapse is None else Lapsed(lapse)


def _runs(pod: PodSeen, job: JobSeen) -> bool:
    """Whether a pod of a Job's present grant is live.

    When it was granted none was: what is left of an earlier grant is on a node that was silent.
    """
    return pod.live and pod.token in (None, job.token)


def _enough_succeeded(job: JobSeen, pods: Sequence[PodSeen]) -> bool:
    """Whether the Job needs no further pod, up to a second before it says so itself.

    A work queue (no completions) of several pods may still be creating some when the first has
    succeeded, so only its own condition counts.
    """
    if job.completions is None and job.parallelism != 1:
        return False
    done = {pod.index if job.indexed else pod.uid for pod in pods if pod.phase == "Succeeded"}
    return max(len(done), job.succeeded) >= (1 if job.completions is None else job.completions)
