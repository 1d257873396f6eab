"""Leadership without an election: it leaves a mark, so that others see who is at work."""

import asyncio
from typing import Self

import structlog

from kwicket.kube.lease import MARK, given_back, leases_of, record, taken
from kwicket.ports.clock import Clock
from kwicket.ports.errors import UnavailableError
from kwicket.ports.objects import Changed, Found, Missing, Objects, Refused

RENEW = 5.0
"""Seconds between two marks."""
AGAIN = 1.0
"""Seconds until a mark that could not be left is tried again."""
DURATION = 15.0
"""Seconds, as the Lease says; whoever looks at it waits longer."""
LAST = 2.0
"""Seconds for which a mark is tried to be taken away at the end."""

_log = structlog.get_logger(__name__)


class Unelected:
    """Implements ports/leadership.py. Used as a context it takes its mark away at the end.

    Nothing works before its first mark is there. It never loses after that: the mark keeps nobody
    else from working, and says so to whoever must not work beside an operator.
    """

    def __init__(self, objects: Objects, clock: Clock, *, namespace: str, identity: str) -> None:
        self._objects = objects
        self._clock = clock
        self._namespace = namespace
        self._identity = identity
        self._folder = leases_of(namespace)
        self._path = f"{self._folder}/{MARK}"
        self._marked = asyncio.Event()
        self._complaint = ""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """To be reached when everything that writes has ended."""
        try:
            async with asyncio.timeout(LAST):
                await self._take_away()
        except (UnavailableError, TimeoutError) as error:
            _log.warning("mark not taken away", error=str(error))

    def leads(self) -> bool:
        """Whether the mark was left."""
        return self._marked.is_set()

    async def gained(self) -> None:
        """Returns once the mark was left."""
        await self._marked.wait()

    async def lost(self) -> None:
        """Never."""
        await asyncio.Event().wait()

    async def run(self) -> None:
        """Marks until cancelled; no answer of the API server ends it."""
        while True:
            complaint = await self._tried()
            if complaint and complaint != self._complaint:
                self._complain(complaint)
            self._complaint = complaint
            if not complaint:
                self._marked.set()
            await asyncio.sleep(AGAIN if complaint else RENEW)

    def _complain(self, complaint: str) -> None:
        consequence = (
            "none: it was left before"
            if self.leads()
            else "nothing is granted until it is: that needs the namespace"
            f" {self._namespace}, or another one by --namespace, and the rights to get, create and"
            " update Leases in it"
        )
        _log.warning("mark not left", lease=self._path, error=complaint, consequence=consequence)

    async def _tried(self) -> str:
        """What is wrong with one attempt; nothing if the mark is there."""
        try:
            answer = await self._mark()
        except UnavailableError as error:
            return str(error)
        match answer:
            case Found():
                return ""
            case Refused(message):
                return message
            case Missing() | Changed():
                return "somebody else has written it meanwhile"

    async def _mark(self) -> Found | Missing | Changed | Refused:
        found = await self._objects.get(self._path)
        lease = found.body if isinstance(found, Found) else {}
        now = self._clock.now()
        body = taken(lease, self._namespace, self._identity, DURATION, now, name=MARK)
        if not lease:
            return await self._objects.create(self._folder, body)
        return await self._objects.replace(self._path, body)

    async def _take_away(self) -> None:
        """Not one that another operator has left since."""
        found = await self._objects.get(self._path)
        if isinstance(found, Found) and record(found.body).holder == self._identity:
            await self._objects.replace(self._path, given_back(found.body))
