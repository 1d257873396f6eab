"""Release: the proof, by a consistent list, that a submission's pods have really ended."""

import structlog

from kwicket.core.release import Unproved, standing
from kwicket.engine.backoff import Backoff
from kwicket.engine.census import Census
from kwicket.engine.intake import Intake
from kwicket.engine.tasks import Spawn
from kwicket.ports.cluster import Cluster
from kwicket.ports.errors import UnavailableError

_log = structlog.get_logger(__name__)


class Releases:
    """Proves each submission only once at a time."""

    def __init__(self, census: Census, intake: Intake, cluster: Cluster, spawn: Spawn) -> None:
        self._census = census
        self._intake = intake
        self._cluster = cluster
        self._spawn = spawn
        self._under_way: set[str] = set()

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
                proved = await self._live_pods_are_gone(uid, namespace)
            except UnavailableError as error:
                await backoff.sleep(error.retry_after)
        self._under_way.discard(uid)
        if proved:
            _log.info("released", uid=uid, proof="a consistent list shows no live pod")
            self._intake.proved(uid)
        else:
            self._intake.consider(uid)

    async def _live_pods_are_gone(self, uid: str, namespace: str) -> bool | None:
        """None if the Job has changed while the list was made: it says nothing then."""
        before = self._census.job(uid)
        pods = await self._cluster.pods(namespace, uid)
        for pod in pods:
            if pod.live:
                self._census.take_pod(pod)
        if self._census.job(uid) != before:
            return None
        return isinstance(standing(before, pods), Unproved)
