"""Release: the proof, by a consistent list, that a submission's pods have really ended."""

import asyncio

import structlog

from kwicket.core.release import Unproved
from kwicket.engine.backoff import Backoff
from kwicket.engine.census import Census
from kwicket.engine.intake import Intake
from kwicket.engine.leases import Leases
from kwicket.engine.tasks import Spawn
from kwicket.ports.cluster import Cluster
from kwicket.ports.errors import UnavailableError

MOST_LISTS = 16
"""Proofs that are under way at a time."""

_log = structlog.get_logger(__name__)


class Releases:
    """Proves each submission only once at a time."""

    def __init__(
        self, census: Census, intake: Intake, leases: Leases, cluster: Cluster, spawn: Spawn
    ) -> None:
        self._census = census
        self._intake = intake
        self._leases = leases
        self._cluster = cluster
        self._spawn = spawn
        self._under_way: set[str] = set()
        self._lists = asyncio.Semaphore(MOST_LISTS)

    def demand(self, uid: str, namespace: str) -> None:
        """Asks for the proof; a demand that is under way already is enough."""
        if uid not in self._under_way:
            self._under_way.add(uid)
            self._spawn(self._prove(uid, namespace), name=f"prove {uid}")

    async def _prove(self, uid: str, namespace: str) -> None:
        backoff = Backoff()
        proved = None
        while proved is None:
            try:
                async with self._lists:
                    proved = await self._live_pods_are_gone(uid, namespace)
                if proved is None:
                    await backoff.sleep()
            except UnavailableError as error:
                await backoff.sleep(error.retry_after)
        self._under_way.discard(uid)
        if proved:
            _log.info("released", uid=uid, proof="a consistent list shows no pod that holds it")
            self._intake.proved(uid)
        else:
            self._intake.consider(uid)

    async def _live_pods_are_gone(self, uid: str, namespace: str) -> bool | None:
        """None if the list settles nothing, and must be asked for again.

        So it is if the Job has changed meanwhile, or if it shows live pods that the watch has yet
        to show or has already seen the end of: only the watch, which is in order, may say which.
        Pods on nodes that have been silent for too long don't count, unless a node is read alive.
        """
        before = self._census.job(uid)
        pods = await self._cluster.pods(namespace, uid)
        nodes = {pod.node for pod in pods if pod.live and pod.node}
        alive = any([await self._cluster.alive(node) for node in sorted(nodes)])
        job = self._census.job(uid)
        if not isinstance(self._leases.judge(job, uid, self._census.pods(uid)), Unproved):
            return False
        if job == before and isinstance(self._leases.judge(before, uid, pods), Unproved):
            return None if alive else True
        return None
