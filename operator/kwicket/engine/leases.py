"""Leases: where each submission stands, by all that was observed of its pods and their nodes.

Followers observe as well, so that who takes over need not begin anew. Nothing here acts on it.
"""

from collections.abc import Sequence
from typing import assert_never

from kwicket.core.jobs import JobSeen, PodSeen
from kwicket.core.lapse import Cause, Lapse, Watched, lapse, next_look, watch
from kwicket.core.leases import Terms
from kwicket.core.release import Standing, standing
from kwicket.engine.alarms import Alarms
from kwicket.engine.census import Census
from kwicket.engine.registry import Registry
from kwicket.ports.clock import Clock


class Leases:
    """Keeps an observation of each submission that runs, or whose pods may run still."""

    def __init__(self, census: Census, registry: Registry, alarms: Alarms, clock: Clock) -> None:
        self._census = census
        self._registry = registry
        self._alarms = alarms
        self._clock = clock
        self._watched: dict[str, Watched] = {}
        self.lapsed: set[str] = set()
        """The submissions whose leases had lapsed when they were last considered."""

    def standing(self, uid: str) -> Standing:
        """Where a submission stands now; it is considered again when time alone may change that."""
        job, pods = self._census.job(uid), self._census.pods(uid)
        now = self._clock.monotonic()
        watched = watch(self._watched.get(uid), job, pods, self._census.silent, now)
        if watched is None:
            self._watched.pop(uid, None)
        else:
            self._watched[uid] = watched
        terms = self._terms(job, pods)
        found = None if watched is None or terms is None else lapse(watched, terms, now)
        (self.lapsed.discard if found is None else self.lapsed.add)(uid)
        moment = None if watched is None or terms is None else next_look(watched, terms, now)
        self._alarms.set(uid, moment)
        return self._standing(job, pods, found)

    def judge(self, job: JobSeen | None, uid: str, pods: Sequence[PodSeen]) -> Standing:
        """Where it stands by these pods; nothing is noted."""
        return self._standing(job, pods, self._lapse(job, uid, pods))

    def lapse(self, uid: str) -> Lapse | None:
        """How a submission's lease has lapsed, if it has."""
        return self._lapse(self._census.job(uid), uid, self._census.pods(uid))

    def _standing(
        self, job: JobSeen | None, pods: Sequence[PodSeen], found: Lapse | None
    ) -> Standing:
        granted = job is None or self._registry.may_be_granted(job)
        return standing(job, pods, found, granted=granted)

    def _lapse(self, job: JobSeen | None, uid: str, pods: Sequence[PodSeen]) -> Lapse | None:
        known, now = self._watched.get(uid), self._clock.monotonic()
        watched = watch(known, job, pods, self._census.silent, now)
        terms = self._terms(job, pods)
        return None if watched is None or terms is None else lapse(watched, terms, now)

    def _terms(self, job: JobSeen | None, pods: Sequence[PodSeen]) -> Terms | None:
        """Those of the pool that has granted it; None without one whose terms are understood."""
        pool = self._registry.catalog.pools.get(self._granter(job, pods))
        return None if pool is None or pool.fault is not None else pool.lease

    def _granter(self, job: JobSeen | None, pods: Sequence[PodSeen]) -> str:
        if job is None:
            return next((pod.pool for pod in pods if pod.pool), "")
        desk = self._registry.granter(job)
        return desk.name if desk else ""


def in_words(found: Lapse) -> str:
    """Why a lease has lapsed."""
    match found.cause:
        case Cause.NOT_STARTED:
            return f"none of its pods has run a container within {found.after // 1000}s"
        case Cause.NODES_SILENT:
            names = ", ".join(found.nodes[:5])
            return f"no sign of life for {found.after // 1000}s from where its pods run: {names}"
        case _:
            assert_never(found.cause)
