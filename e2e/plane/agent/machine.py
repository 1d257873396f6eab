"""One node: what it is told to run, and whether it can be reached."""

import asyncio
import logging
import os
import signal
import traceback
from contextlib import aclosing
from pathlib import Path

import aiohttp

from e2e.plane.agent import specs
from e2e.plane.agent.heartbeat import Heartbeat
from e2e.plane.agent.reporter import Link
from e2e.plane.agent.specs import Pod
from e2e.plane.agent.workload import Workload
from e2e.plane.api import Api, ApiError

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.5
PODS = "/api/v1/pods"


class Machine:
    """A node and its workloads, by pod uid; in touch with the API server unless told otherwise."""

    def __init__(self, api: Api, name: str, number: int, root: Path) -> None:
        self._api = api
        self._name = name
        self._number = number
        self._root = root
        self._link = Link(is_up=False)
        self._workloads: dict[str, Workload] = {}
        self._runs: set[asyncio.Task[None]] = set()
        self._contact: asyncio.Task[None] | None = None
        self._addresses = 0

    async def come_back(self) -> None:
        """Get in touch: register, report what has happened meanwhile, obey again."""
        if self._contact is None:
            self._link.is_up = True
            self._contact = asyncio.create_task(self._stay_in_touch())
            self._contact.add_done_callback(_end_if_broken)
            for workload in self._workloads.values():
                workload.reporter.soon()

    async def silence(self) -> None:
        """Lose touch; what runs goes on running."""
        self._link.is_up = False
        if self._contact is not None:
            self._contact.cancel()
            await asyncio.gather(self._contact, return_exceptions=True)
            self._contact = None

    async def die(self) -> None:
        """Lose touch and everything that runs; returns when no process is left."""
        await self.silence()
        for workload in self._workloads.values():
            workload.kill()
        await asyncio.gather(*self._runs)
        self._workloads.clear()

    async def _stay_in_touch(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(Heartbeat(self._api, self._name).beat())
            group.create_task(self._obey())

    async def _obey(self) -> None:
        """Follow the pods bound here: list, then watch, then over again."""
        while True:
            try:
                await self._obey_once()
            except (ApiError, aiohttp.ClientError) as error:
                log.warning("%s: %s", self._name, error)
                await asyncio.sleep(RETRY_SECONDS)

    async def _obey_once(self) -> None:
        here = {"fieldSelector": f"spec.nodeName={self._name}"}
        items, version = await self._api.list(PODS, **here)
        pods = [specs.pod(item) for item in items]
        for uid in self._workloads.keys() - {pod.metadata.uid for pod in pods}:
            self._drop(uid)
        for pod in pods:
            self._see(pod)
        async with aclosing(self._api.watch(PODS, version, **here)) as events:
            async for event in events:
                match event.type:
                    case "ADDED" | "MODIFIED":
                        self._see(specs.pod(event.object))
                    case "DELETED":
                        self._drop(event.object["metadata"]["uid"])

    def _see(self, pod: Pod) -> None:
        workload = self._workloads.get(pod.metadata.uid)
        if workload is not None:
            workload.see(pod)
        elif not pod.has_ended:
            self._take_on(pod)

    def _take_on(self, pod: Pod) -> None:
        address = pod.status.pod_ip or self._address()
        workload = Workload(pod, address, self._api, self._root, self._link)
        workload.see(pod)
        self._workloads[pod.metadata.uid] = workload
        run = asyncio.create_task(workload.run())
        self._runs.add(run)
        run.add_done_callback(self._runs.discard)
        run.add_done_callback(_end_if_broken)

    def _drop(self, uid: str) -> None:
        workload = self._workloads.pop(uid, None)
        if workload is not None:
            workload.kill()

    def _address(self) -> str:
        """The next pod's IP: one of this node's own on loopback, so that pods can listen there."""
        self._addresses = self._addresses % 65000 + 1
        return f"127.{64 + self._number}.{self._addresses // 256}.{self._addresses % 256}"


def _end_if_broken(task: asyncio.Task[None]) -> None:
    """A bug in here must end the agent, with its traceback in the log, and not a node only."""
    if not task.cancelled() and (error := task.exception()):
        traceback.print_exception(error)
        os.kill(os.getpid(), signal.SIGTERM)
