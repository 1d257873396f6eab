"""The elector: leadership by a coordination.k8s.io Lease.

Nobody's clock is compared with anybody else's. A follower takes over when the Lease has not changed
for its duration, by the follower's own monotonic clock, since the follower saw the last change. The
leader believes in itself for a shorter time, counted from before it sent its last renewal.
"""

import asyncio
import random
from collections.abc import Mapping
from typing import Any, Self
from urllib.parse import quote

import structlog
from msgspec import Struct

from kwicket.failpoints import Failpoint, reach
from kwicket.kube.events import EVENTS, event
from kwicket.kube.lease import NAME, Record, given_back, leases_of, micro_time, record, taken
from kwicket.ports.clock import Clock
from kwicket.ports.errors import UnavailableError
from kwicket.ports.objects import Changed, Found, Missing, Objects, Refused

LONGEST_LEASE = 60.0
"""Seconds. A Lease that says more, by whatever hand, is not waited for any longer."""

SHORTEST = 0.001
"""Seconds. By a clock that runs slow, what is left is left again, if less, after each sleep."""

_NEVER = float("-inf")

_log = structlog.get_logger(__name__)


class Timing(Struct, frozen=True):
    """All in seconds. The defaults bear an API server that is away for seven seconds."""

    lease: float = 15
    """How long others wait after the last sign of life."""
    deadline: float = 10
    """How long a leader believes in itself without a renewal: less, so that it ends first."""
    renew: float = 2
    """Between two renewals."""
    look: float = 1
    """Between two looks of a follower, and after a renewal that failed."""
    answer: float = 4
    """How long one attempt may take."""


class Elector:
    """Implements ports/leadership.py. Used as a context it gives the Lease back at the end."""

    def __init__(
        self,
        objects: Objects,
        clock: Clock,
        *,
        namespace: str,
        identity: str,
        timing: Timing | None = None,
    ) -> None:
        self._objects = objects
        self._clock = clock
        self._namespace = namespace
        self._identity = identity
        self._timing = timing or Timing()
        self._folder = leases_of(namespace)
        self._path = f"{self._folder}/{NAME}"
        self._until = _NEVER
        self._seen = Record()
        self._seen_at = _NEVER
        self._complaint = ""
        self._gained, self._lost = asyncio.Event(), asyncio.Event()
        self._lost.set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """To be reached when everything that writes has ended."""
        await self._release()

    def leads(self) -> bool:
        """Whether the last renewal is young enough, now."""
        return self._clock.monotonic() < self._until

    async def gained(self) -> None:
        """Returns once this replica leads."""
        await self._gained.wait()

    async def lost(self) -> None:
        """Returns once this replica leads no more."""
        await self._lost.wait()

    async def run(self) -> None:
        """Campaigns and leads by turns until cancelled; no answer of the API server ends it."""
        while True:
            await self._campaign()
            reach(Failpoint.AFTER_LEASE)
            self._lost.clear()
            self._gained.set()
            await self._tell("leads")
            await self._hold()
            self._until = _NEVER
            self._gained.clear()
            self._lost.set()
            await self._tell("leads no more")

    async def _campaign(self) -> None:
        """Returns when the Lease is ours."""
        while not await self._tried(self._timing.answer):
            _log.debug("follows", leader=self._seen.holder)
            jitter = 0.8 + random.random() * 0.4  # noqa: S311  # spreads looks, guards nothing
            await asyncio.sleep(self._timing.look * jitter)

    async def _hold(self) -> None:
        """Returns when the Lease is ours no more, or can't be renewed in time."""
        kept = True
        while self.leads():
            pause = self._timing.renew if kept else self._timing.look
            await asyncio.sleep(max(min(pause, self._left()), SHORTEST))
            if self.leads():
                kept = await self._tried(min(self._timing.answer, self._left()))

    def _left(self) -> float:
        return max(self._until - self._clock.monotonic(), 0)

    async def _tried(self, seconds: float) -> bool:
        """Whether one attempt has got or kept the Lease; says so once if it goes wrong."""
        try:
            async with asyncio.timeout(seconds):
                return await self._attempt()
        except UnavailableError as error:
            self._complain(str(error))
        except TimeoutError:
            self._complain("no answer in time")
        return False

    async def _attempt(self) -> bool:
        begun = self._clock.monotonic()
        found = await self._objects.get(self._path)
        lease = found.body if isinstance(found, Found) else {}
        self._see(lease)
        if not self._free():
            self._until, self._complaint = _NEVER, ""
            return False
        return self._took(begun, await self._write(lease))

    async def _write(self, lease: Mapping[str, Any]) -> Found | Missing | Changed | Refused:
        seconds, now = self._timing.lease, self._clock.now()
        body = taken(lease, self._namespace, self._identity, seconds, now)
        if not lease:
            return await self._objects.create(self._folder, body)
        return await self._objects.replace(self._path, body)

    def _took(self, begun: float, answer: Found | Missing | Changed | Refused) -> bool:
        if isinstance(answer, Found):
            self._see(answer.body)
            self._until, self._complaint = begun + self._timing.deadline, ""
            return True
        if isinstance(answer, Refused):
            self._complain(answer.message)
        return False

    def _see(self, lease: Mapping[str, Any]) -> None:
        said = record(lease)
        if said != self._seen:
            self._seen, self._seen_at = said, self._clock.monotonic()

    def _free(self) -> bool:
        """Whether the Lease as last seen may be taken, or is ours."""
        if self._seen.holder in ("", self._identity):
            return True
        duration = min(max(self._seen.duration, self._timing.lease), LONGEST_LEASE)
        return self._clock.monotonic() >= self._seen_at + duration

    async def _release(self) -> None:
        """Gives the Lease back, so that a follower need not wait for its end. Best effort."""
        self._until = _NEVER
        try:
            async with asyncio.timeout(self._timing.renew):
                while not await self._given_back():
                    pass
        except (UnavailableError, TimeoutError) as error:
            _log.warning("lease not given back", error=str(error))

    async def _given_back(self) -> bool:
        """False if a renewal that was still on its way came between."""
        found = await self._objects.get(self._path)
        if isinstance(found, Missing) or record(found.body).holder != self._identity:
            return True
        answer = await self._objects.replace(self._path, given_back(found.body))
        if isinstance(answer, Refused):
            raise UnavailableError(answer.message)
        return isinstance(answer, Found | Missing)

    def _complain(self, why: str) -> None:
        if why != self._complaint:
            self._complaint = why
            _log.warning("lease neither got nor renewed", lease=self._path, error=why)

    async def _tell(self, what: str) -> None:
        """A line of the log, and an event on the Lease. Best effort."""
        _log.info(what, replica=self._identity, leader=self._seen.holder)
        regarding = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "namespace": self._namespace,
            "name": NAME,
        }
        note = f"{self._identity} {what}"
        key = f"{note}/{micro_time(self._clock.now())}"
        told = event(regarding, "LeaderElection", note, key=key, instance=self._identity)
        path = EVENTS.format(namespace=quote(self._namespace, safe=""))
        try:
            async with asyncio.timeout(self._timing.renew):
                await self._objects.create(path, told)
        except (UnavailableError, TimeoutError) as error:
            _log.info("event lost", error=str(error))
