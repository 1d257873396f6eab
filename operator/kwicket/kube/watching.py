"""Watching Pools, Lanes and Limits by kopf, in a thread of its own with a loop of its own.

kopf ends itself on watch errors that pass, waits five seconds for tasks that are none of its, and
takes over signals in the main thread; here it can do neither harm, and is started again.
"""

import asyncio
import contextlib
import functools
import logging
import threading
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import aiohttp
import kopf
import structlog

from kwicket.kube.access import Access
from kwicket.kube.sockets import Sockets
from kwicket.kube.statuses import PLURALS

AGAIN = 5.0
"""Seconds until kopf is started again after it has ended by itself."""
IDENTITY = "kwicket"
"""Who we would be among peers, of which there are none."""

_log = structlog.get_logger(__name__)

type Seen = Callable[[str, Mapping[str, Any]], None]
type Gone = Callable[[str, str], None]
type Served = Callable[[], Coroutine[Any, Any, None]]
"""Returns once the API server serves what is to be watched."""


class Watching:
    """Calls `seen` and `gone` in the loop that made it, and `served` each time before kopf begins.

    kopf serves for ever only the kinds that there were when it began.
    """

    def __init__(self, access: Access, seen: Seen, gone: Gone, served: Served) -> None:
        self._access = access
        self._seen = seen
        self._gone = gone
        self._served = served
        self._loop = asyncio.get_running_loop()
        self._stop = threading.Event()
        self._sockets = Sockets()
        self._end: Callable[[], object] = lambda: None
        self._thread = threading.Thread(target=self._watch, name="kopf", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        logging.getLogger("kopf").setLevel(logging.WARNING)
        self._thread.start()

    def renew(self) -> None:
        """Has kopf begin anew: after a cluster went back it may go on from a version of the former
        life, and hear of no change below that one.
        """
        with contextlib.suppress(RuntimeError):  # its loop is closed: it has ended by itself
            self._end()

    def stop(self) -> None:
        """Asks the thread to end. It is a daemon, so the process need not wait for it."""
        self._stop.set()
        self.renew()

    def _watch(self) -> None:
        while not self._stop.is_set():
            try:
                asyncio.run(self._operate())
            except (Exception, asyncio.CancelledError) as error:  # whatever went wrong in it
                _log.warning("kopf ended", error=repr(error))
            self._stop.wait(AGAIN)

    async def _operate(self) -> None:
        """One life of kopf, with a flag of its loop: it would wait for a thread's flag in a thread,
        and asyncio then for that thread, for minutes, before kopf could start again.
        """
        stop = asyncio.Event()
        self._end = functools.partial(asyncio.get_running_loop().call_soon_threadsafe, stop.set)
        if self._stop.is_set() or not await self._is_served(stop):
            return
        await kopf.operator(
            registry=self._handlers(),
            settings=_settings(),
            clusterwide=True,
            standalone=True,
            stop_flag=stop,
            # Else kopf looks up this user's name, which a container's user often has not.
            identity=IDENTITY,  # type: ignore[arg-type] # kopf keeps its type of it to itself
        )
        await self._sockets.closed()

    async def _is_served(self, stop: asyncio.Event) -> bool:
        """Waits for it; False if it was stopped before."""
        asked = asyncio.run_coroutine_threadsafe(self._served(), self._loop)
        served = asyncio.ensure_future(asyncio.wrap_future(asked))
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait((served, stopped), return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        return not served.cancel() and not stop.is_set()

    def _handlers(self) -> kopf.OperatorRegistry:
        registry = kopf.OperatorRegistry()

        @kopf.on.login(registry=registry)
        async def login(**_: Any) -> kopf.ConnectionInfo | kopf.AiohttpSession:
            headers = await self._access.headers()
            if self._access.server_name:
                return self._session(headers)
            scheme, _space, token = headers.get("Authorization", "").partition(" ")
            return kopf.ConnectionInfo(
                server=self._access.server,
                ca_path=self._access.ca_file,
                certificate_path=self._access.certificate_file,
                private_key_path=self._access.key_file,
                insecure=not self._access.verifies,
                scheme=scheme or None,
                token=token or None,
            )

        for kind, plural in PLURALS.items():
            self._follow(registry, kind, plural)
        return registry

    def _session(self, headers: Mapping[str, str]) -> kopf.AiohttpSession:
        """Ours, as kopf's own would expect the address as the name of the server."""
        connector = aiohttp.TCPConnector(
            limit=0, ssl=self._access.tls or True, socket_factory=self._sockets
        )
        session = aiohttp.ClientSession(connector=connector, headers=dict(headers))
        return kopf.AiohttpSession(server=self._access.server, aiohttp_session=session)

    def _follow(self, registry: kopf.OperatorRegistry, kind: str, plural: str) -> None:
        @kopf.on.event("kwicket.dev", "v1alpha1", plural, registry=registry)
        def follow(event: kopf.RawEvent, **_: Any) -> None:
            body = event["object"]
            if event["type"] == "DELETED":
                self._call(self._gone, kind, body["metadata"]["name"])
            else:
                self._call(self._seen, kind, body)

    def _call(self, function: Callable[..., None], *arguments: object) -> None:
        """In the loop that made us; when that is closed, nobody listens any more."""
        if self._stop.is_set():
            return
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function, *arguments)


def _settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.peering.standalone = True
    settings.process.ultimate_exiting_timeout = None
    settings.watching.server_timeout = 300
    settings.watching.connect_timeout = 5
    settings.networking.request_timeout = 30
    settings.scanning.disabled = True
    return settings
