"""Reports of one pod to the API server: only what has changed, and only while it can be heard."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import aiohttp

from e2e.plane.agent.status import Account
from e2e.plane.api import Api, ApiError

RETRY_SECONDS = 0.2

log = logging.getLogger(__name__)


@dataclass
class Link:
    """Whether a node can reach the API server."""

    is_up: bool = True


class Reporter:
    """Says what the account says; once it is over and `is_to_delete`, removes the pod."""

    def __init__(
        self, api: Api, account: Account, link: Link, *, on_gone: Callable[[], None]
    ) -> None:
        self.is_mute = False
        self.is_to_delete = False
        self._api = api
        self._account = account
        self._link = link
        self._on_gone = on_gone
        self._sent: dict[str, Any] | None = None
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def soon(self) -> None:
        """Report without waiting for it."""
        task = asyncio.create_task(self.report())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def report(self) -> None:
        """Bring the API server's view up to date; without effect while mute or cut off."""
        async with self._lock:
            while self._can_speak and (status := self._account.written()) != self._sent:
                if await self._attempt(self._patch(status)):
                    self._sent = status
            while self._can_speak and self._account.is_over and self.is_to_delete:
                self.is_to_delete = not await self._attempt(self._delete())

    @property
    def _can_speak(self) -> bool:
        return self._link.is_up and not self.is_mute

    async def _attempt(self, request: Any) -> bool:
        """Whether the request went through; where not, a pause, or the end if the pod is gone."""
        try:
            await request
        except ApiError as error:
            if error.status == 404 or (error.status == 409 and "uid" in error.message.lower()):
                self._on_gone()
            else:
                log.warning("%s: %s", self._account.pod.path, error)
                await asyncio.sleep(RETRY_SECONDS)
            return False
        except aiohttp.ClientError:
            await asyncio.sleep(RETRY_SECONDS)
            return False
        return True

    async def _patch(self, status: dict[str, Any]) -> None:
        pod = self._account.pod
        body = {"metadata": {"uid": pod.metadata.uid}, "status": status}
        await self._api.patch(f"{pod.path}/status", body, "strategic")

    async def _delete(self) -> None:
        pod = self._account.pod
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod.metadata.uid}}
        await self._api.delete(pod.path, options)
