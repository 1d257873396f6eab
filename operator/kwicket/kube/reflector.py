"""A reflector: one kind of object, listed and watched into typed values, for ever.

The list is the truth and the watch a hint: every watch ends after some minutes and is followed by
a full list, and what a list no longer holds is gone. From a list to the next, versions only rise:
whatever goes back in a watch ends it, and only a cluster restored from a backup lists what is older
than what it has shown before.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import structlog
from msgspec import Struct

from kwicket.engine.backoff import Backoff
from kwicket.kube import versions, wire
from kwicket.kube.client import Client, TooLargeError
from kwicket.kube.known import Known
from kwicket.kube.pages import Page, decoded
from kwicket.ports.errors import UnavailableError

PAGE = 500
BREATH = 100
"""Objects after which others may run."""
STEADY = 30.0
"""Seconds after which a watch counts as one that works; the next failure then waits little."""

_log = structlog.get_logger(__name__)


class Resource[Wire, Value](Struct, frozen=True):
    """A kind of object: where it is listed, how it is read, and what tells two apart."""

    path: str
    wire: type[Wire]
    value: Callable[[Wire], Value]
    key: Callable[[Value], str]
    selector: str = ""
    version: Callable[[Value], str] | None = None
    """Its resourceVersion, where the value has it and the key is its UID."""


class Sink[Value](Struct, frozen=True):
    """Whoever hears of the objects; never awaited."""

    seen: Callable[[Value], None]
    """Created, changed or listed."""
    gone: Callable[[Value], None]
    """Deleted, with the value last seen."""
    listed: Callable[[Value, int], None] | None = None
    """Hears of what is listed, in place of `seen`, with the version of the whole list."""
    went_back: Callable[[], None] = lambda: None
    """The cluster is at an older version than before; the list that says so comes next."""


class _Envelope(Struct):
    type: str
    object: msgspec.Raw


class Reflector[Wire, Value]:
    """Runs until cancelled; no answer of the API server ends it."""

    def __init__(self, client: Client, resource: Resource[Wire, Value]) -> None:
        self.synced = asyncio.Event()
        """Set after the first complete list."""
        self.failures = 0
        """Lists and watches that failed, after each of which all is listed again."""
        self.heard_at = time.monotonic()
        """When the API server last said anything of this kind; at first, when this was made."""
        self._client = client
        self._resource = resource
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(resource.wire)
        self._known = Known(resource.key, resource.version)
        self._sink: Sink[Value] = Sink(lambda _: None, lambda _: None)
        self._reached = 0
        """The highest version that the API server has shown of this kind, since it went back."""
        self._limit = PAGE
        self._wanted: list[asyncio.Future[None]] = []
        self._want = asyncio.Event()

    async def run(self, sink: Sink[Value]) -> None:
        """Lists and watches into `sink`."""
        self._sink = sink
        backoff = Backoff(first=0.2)
        while True:
            try:
                version = await self._list()
                await self._watch_until_wanted(version, backoff)
            except UnavailableError as error:
                self.failures += 1
                _log.warning("list again", path=self._resource.path, error=str(error))
                await backoff.sleep(error.retry_after)

    @property
    def kind(self) -> str:
        """What is reflected, by its plural name."""
        return self._resource.path.rpartition("/")[2]

    async def relist(self) -> None:
        """Returns when a complete list that was begun after the call was taken in.

        Raises UnavailableError if it could not be had.
        """
        done = asyncio.get_running_loop().create_future()
        self._wanted.append(done)
        self._want.set()
        await done

    async def _list(self) -> str:
        """Takes a complete list in; the resourceVersion to watch from."""
        wanted, self._wanted = self._wanted, []
        self._want.clear()
        try:
            version = await self._take_list()
        except UnavailableError as error:
            for done in wanted:
                if not done.done():
                    done.set_exception(UnavailableError(str(error), error.retry_after))
            raise
        except BaseException:
            self._wanted = wanted + self._wanted
            raise
        for done in wanted:
            if not done.done():
                done.set_result(None)
        self.synced.set()
        return version

    async def _take_list(self) -> str:
        listed: set[str] = set()
        page = await self._page(None)
        version = self._reach(page.metadata.resource_version)
        while True:
            for number, raw in enumerate(page.items or ()):
                value = self._known.unchanged(raw) or self._value(raw)
                if value is not None:
                    listed.add(self._list_one(value, version))
                if number % BREATH == BREATH - 1:
                    await asyncio.sleep(0)
            if not page.metadata.continue_:
                break
            page = await self._page(page.metadata.continue_)
        for number, key in enumerate(self._known.keys() - listed):
            vanished = self._known.drop(key)
            if vanished is not None:
                self._sink.gone(vanished)
            if number % BREATH == BREATH - 1:
                await asyncio.sleep(0)
        return page.metadata.resource_version

    def _reach(self, said: str) -> int:
        """The version of a list; what is older than anything shown before is of another life."""
        version = versions.number(said)
        if version < self._reached:
            before, now = self._reached, version
            _log.error("went back", path=self._resource.path, before=before, now=now)
            self._known.outlive()
            self._sink.went_back()
        self._reached = version
        return version

    def _list_one(self, value: Value, version: int) -> str:
        if self._sink.listed is None:
            return self._see(value)
        key = self._known.keep(value)
        self._sink.listed(value, version)
        return key

    async def _page(self, token: str | None) -> Page:
        """A page; a smaller one where the objects are too large to be taken together."""
        while True:
            try:
                page = await self._ask(token)
            except TooLargeError:
                if self._limit == 1:
                    raise
                self._limit = max(self._limit // 4, 1)
            else:
                self._limit = min(self._limit * 2, PAGE)
                return page

    async def _ask(self, token: str | None) -> Page:
        params = {"limit": str(self._limit), "labelSelector": self._resource.selector}
        if token:
            params["continue"] = token
        answer = await self._client.call("GET", self._resource.path, params=params)
        if not answer.ok:
            raise UnavailableError(f"list {self._resource.path}: {answer.message}")
        self.heard_at = time.monotonic()
        try:
            return decoded(answer.body, alone=self._limit == 1)
        except ValueError as error:
            raise UnavailableError(f"list {self._resource.path}: {error}") from error

    async def _watch_until_wanted(self, version: str, backoff: Backoff) -> None:
        """Watches until the server ends it, or until a list is wanted."""
        watch = asyncio.create_task(self._watch(version, backoff))
        want = asyncio.create_task(self._want.wait())
        try:
            await asyncio.wait((watch, want), return_when=asyncio.FIRST_COMPLETED)
            if watch.done():
                watch.result()
        finally:
            watch.cancel()
            want.cancel()
            await asyncio.gather(watch, want, return_exceptions=True)

    async def _watch(self, version: str, backoff: Backoff) -> None:
        """One watch. One that ends too soon is a failure, lest we list in a hot loop."""
        clock = asyncio.get_running_loop()
        begun = clock.time()
        try:
            await self._follow(version)
        finally:
            steady = clock.time() - begun >= STEADY
            if steady:
                backoff.reset()
        if not steady:
            raise UnavailableError(f"watch {self._resource.path}: it ended too soon")

    async def _follow(self, version: str) -> None:
        params = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(random.randint(240, 360)),  # noqa: S311  # spreads the re-lists
            "labelSelector": self._resource.selector,
        }
        async with self._client.stream(self._resource.path, params) as lines:
            await self._take_events(lines)

    async def _take_events(self, lines: AsyncIterator[bytes]) -> None:
        number = 0
        async for line in lines:
            self.heard_at = time.monotonic()
            event = self._event(line)
            if event is not None and self._advance(event):
                self._take_event(event)
            number += 1
            if number % BREATH == 0:
                await asyncio.sleep(0)

    def _event(self, line: bytes) -> _Envelope | None:
        """None if it is nested too deeply to be read; all else that is no event ends the watch."""
        try:
            event = msgspec.json.decode(line, type=_Envelope)
            if event.type != "ERROR":
                return event
            message = msgspec.json.decode(event.object, type=wire.Status).message
        except RecursionError as error:
            _log.warning("object not understood", path=self._resource.path, error=str(error))
            return None
        except ValueError as error:
            message = str(error)
        raise UnavailableError(f"watch {self._resource.path}: {message}")

    def _advance(self, event: _Envelope) -> bool:
        """False for a bookmark. What was shown before, or is older than that, ends the watch."""
        version = versions.of(event.object)
        if event.type == "BOOKMARK":
            self._reached = max(version, self._reached)
            return False
        if 0 < version <= self._reached:
            what = f"version {version} comes after {self._reached}"
            raise UnavailableError(f"watch {self._resource.path}: {what}")
        self._reached = max(version, self._reached)
        return True

    def _take_event(self, event: _Envelope) -> None:
        value = self._value(event.object)
        if value is None:
            return
        if event.type == "DELETED":
            self._known.drop(self._resource.key(value))
            self._sink.gone(value)
        else:
            self._see(value)

    def _see(self, value: Value) -> str:
        key = self._known.keep(value)
        self._sink.seen(value)
        return key

    def _value(self, raw: msgspec.Raw) -> Value | None:
        """None for an object that can't be understood: it is said, and the others go on."""
        try:
            return self._resource.value(self._decoder.decode(raw))
        except (ValueError, RecursionError) as error:
            _log.warning("object not understood", path=self._resource.path, error=str(error))
            return None
