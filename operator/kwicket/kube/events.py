"""Events on Jobs: few, best effort, and the same again after a restart is not a second one.

Warnings are written first and given up last: behind a crowd of grants nobody would see them.
"""

import asyncio
import hashlib
import time
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import structlog

from kwicket.core.reasons import Reason
from kwicket.failpoints import Failpoint, reach
from kwicket.kube.client import Client
from kwicket.ports.errors import UnavailableError
from kwicket.ports.notices import Notice
from kwicket.ports.objects import Refused

EVENTS = "/apis/events.k8s.io/v1/namespaces/{namespace}/events"
"""The collection of a namespace's events."""
MOST_WAITING = 2000
LONGEST_NOTE = 1000
"""Bytes; the API server takes 1024."""
PATIENCE = 19
"""How many times as long as the last event took we wait before the next: a busy API server is
left to what the events tell of."""

_log = structlog.get_logger(__name__)


class Events:
    """Two bounded queues, warnings and the others, with one writer."""

    def __init__(self, client: Client, instance: str) -> None:
        self._client = client
        self._instance = instance
        self._warnings: dict[tuple[str, Reason], Notice] = {}
        self._others: dict[tuple[str, Reason], Notice] = {}
        self._dropped = 0
        self._some = asyncio.Event()

    def tell(self, notice: Notice) -> None:
        """Takes a notice. A grant replaces the notice that its Job is queued, if still unsent.

        Of too many, the oldest is dropped, a warning only if nothing else waits.
        """
        if notice.reason is Reason.GRANTED:
            self._others.pop((notice.job.uid, Reason.QUEUED), None)
        queue = self._warnings if notice.warning else self._others
        queue[notice.job.uid, notice.reason] = notice
        if len(self._warnings) + len(self._others) > MOST_WAITING:
            _oldest(self._others or self._warnings)
            self._dropped += 1
        self._some.set()

    async def run(self) -> None:
        """Writes events until cancelled."""
        while True:
            await self._some.wait()
            while queue := self._warnings or self._others:
                if self._dropped:
                    _log.info("events dropped, too many wait", number=self._dropped)
                    self._dropped = 0
                begun = time.monotonic()
                await self._write(_oldest(queue))
                await asyncio.sleep((time.monotonic() - begun) * PATIENCE)
            self._some.clear()

    async def _write(self, notice: Notice) -> None:
        path = EVENTS.format(namespace=quote(notice.job.namespace, safe=""))
        try:
            answer = await self._client.create(path, _of_job(notice, self._instance))
            reach(Failpoint.AFTER_EVENT)
        except UnavailableError as error:
            _log.info("event lost", job=notice.job.job, error=str(error))
            return
        if isinstance(answer, Refused):
            _log.info("event refused", job=notice.job.job, error=answer.message)


def _oldest[K, V](queue: dict[K, V]) -> V:
    return queue.pop(next(iter(queue)))


def _of_job(notice: Notice, instance: str) -> dict[str, Any]:
    job = notice.job
    regarding = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "namespace": job.namespace,
        "name": job.name,
        "uid": job.uid,
    }
    made = event(regarding, str(notice.reason), notice.sentence, key=notice.key, instance=instance)
    return made | {"type": "Warning"} if notice.warning else made


def event(
    regarding: dict[str, str], reason: str, note: str, *, key: str, instance: str
) -> dict[str, Any]:
    """The body of an event. Its name says which it is: of two with one reason and key, the second
    is refused.
    """
    name = regarding["name"]
    text = f"{regarding.get('uid', name)}/{reason}/{key}".encode()
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {
            "name": f"{name[:200].rstrip('-.')}.{hashlib.sha256(text).hexdigest()[:16]}",
            "namespace": regarding["namespace"],
        },
        "eventTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "reportingController": "kwicket.dev/operator",
        "reportingInstance": instance[:128],
        "action": "Admit",
        "reason": reason,
        "type": "Normal",
        "note": note.encode()[:LONGEST_NOTE].decode(errors="ignore"),
        "regarding": regarding,
    }
