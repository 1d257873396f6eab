"""The network between an operator and the API server: latency, lost and late answers, watches.

`Session` takes the place of aiohttp's under the real client. What is on its way belongs to the
world: it arrives, whatever has become of the process that sent it.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextvars import Context
from typing import Any, Self

import aiohttp
import msgspec
from msgspec import Struct

from support.api_parts import selected

from .server import Asked, Reply, Server, place, refusal
from .store import Change

HANGS = 3600.0
"""Seconds after which what hangs is given up by the world, too."""


class Trouble(Struct):
    """What goes wrong on one operator's way to the API server, each as a chance from 0 to 1."""

    lost_request: float = 0
    """It never arrives, and nobody says so."""
    lost_answer: float = 0
    """It is done, and no answer comes."""
    reset: float = 0
    """It is done, and the connection is reset before the answer."""
    late: float = 0
    """It is done long after the client has given up."""
    busy: float = 0
    """HTTP 429 with Retry-After; nothing is done."""
    broken: float = 0
    """HTTP 500, 503 or 504: done or not."""
    forbidden: frozenset[str] = frozenset()
    """Kinds of which lists are HTTP 403."""
    unwritable: frozenset[str] = frozenset()
    """Kinds that can't be written: HTTP 403."""
    cut: bool = False
    """There is no connection."""
    deaf: bool = False
    """Requests arrive, answers don't."""
    silent: frozenset[str] = frozenset()
    """Kinds whose watches say nothing more, and don't end either."""
    closing: frozenset[str] = frozenset()
    """Kinds whose watches end as soon as they begin."""
    slow: float = 0.02
    """Seconds that one way takes, on average."""
    lag: float = 0.02
    """Seconds that a watch is behind, on average."""
    replays: int = 0
    """How many events from before its beginning a watch repeats."""


class Link:
    """One process's connections. `world` is the context in which the world's callbacks run."""

    def __init__(self, server: Server, process: str, dice: random.Random, world: Context) -> None:
        self.server = server
        self.process = process
        self.trouble = Trouble()
        self.heard = 0
        """Up to which version this process has heard of declarations."""
        self.writes = 0
        """How many writes of this process were applied."""
        self.open = True
        self.on_write: Any = lambda: None
        """Called when a write was applied, before its answer goes on its way."""
        self.watches: dict[Watch, None] = {}
        """In the order in which they were opened."""
        self._dice = dice
        self._world = world
        self._loop = asyncio.get_running_loop()

    def after(self, seconds: float, what: Any, *arguments: Any) -> asyncio.TimerHandle:
        """Calls it in the world."""
        return self._loop.call_later(seconds, what, *arguments, context=self._world)

    def way(self) -> float:
        """Seconds that a message takes."""
        return self._dice.expovariate(1 / self.trouble.slow)

    async def exchange(self, asked: Asked) -> tuple[Reply, Mapping[str, str]]:
        """A request and its answer. Raises what aiohttp raises."""
        trouble, dice = self.trouble, self._dice
        if not self.open or trouble.cut:
            raise aiohttp.ClientConnectionError("no route")
        answer: asyncio.Future[Any] = self._loop.create_future()
        fate = dice.random()
        if trouble.late and fate < trouble.late:
            self.after(dice.uniform(15, 40), self._do, asked)
        elif fate >= trouble.late + trouble.lost_request:
            self.after(self.way(), self._arrive, asked, answer)
        return await answer

    def _do(self, asked: Asked) -> Reply:
        reply = self.server.answer(asked)
        if asked.writes and reply.status < 300:
            self.writes += 1
            self.on_write()
        return reply

    def _arrive(self, asked: Asked, answer: asyncio.Future[Any]) -> None:
        trouble, dice = self.trouble, self._dice
        if trouble.busy and dice.random() < trouble.busy:
            self._return(answer, refusal(429, "too many requests"), {"Retry-After": "1"})
        elif trouble.broken and dice.random() < trouble.broken:
            if dice.random() < 0.5:
                self._do(asked)
            code = dice.choice((500, 503, 504))
            self._return(answer, refusal(code, "it has failed"), {})
        elif self._forbids(asked):
            self._return(answer, refusal(403, "forbidden"), {})
        else:
            reply = self._do(asked)
            fate = dice.random()
            if fate < trouble.reset:
                self.after(self.way(), _fail, answer, aiohttp.ClientOSError("reset by peer"))
            elif fate >= trouble.reset + trouble.lost_answer and not trouble.deaf:
                self._return(answer, reply, {})

    def _forbids(self, asked: Asked) -> bool:
        kind, trouble = asked.place.kind, self.trouble
        listing = asked.method == "GET" and not asked.place.name
        return kind in (trouble.forbidden if listing else trouble.unwritable) and (
            listing or asked.method != "GET"
        )

    def _return(
        self, answer: asyncio.Future[Any], reply: Reply, headers: Mapping[str, str]
    ) -> None:
        self.after(self.way(), _resolve, answer, (reply, headers))

    def cut_watches(self) -> None:
        """All open watches end with an error."""
        for watch in list(self.watches):
            watch.end(aiohttp.ClientPayloadError("cut"))

    def close(self) -> None:
        """Nobody listens any more."""
        self.open = False
        self.cut_watches()


class Session:
    """As much of aiohttp's session as the client uses."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None,
        data: bytes | None,
        headers: Mapping[str, str],
    ) -> "_Exchange":
        """A single request."""
        body = None if data is None else msgspec.json.decode(data)
        link = self._link
        asked = Asked(method, place(path), params or {}, body, link.process, link.heard)
        return _Exchange(link, asked)

    def get(
        self,
        path: str,
        *,
        params: Mapping[str, str],
        headers: Mapping[str, str],
        timeout: aiohttp.ClientTimeout,
    ) -> "Watch":
        """A watch."""
        return Watch(self._link, place(path).kind, params, timeout.sock_read or HANGS)


class _Exchange:
    def __init__(self, link: Link, asked: Asked) -> None:
        self._link = link
        self._asked = asked
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.content = self

    async def __aenter__(self) -> Self:
        reply, self.headers = await self._link.exchange(self._asked)
        self.status, self._body = reply.status, reply.body
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def iter_any(self) -> AsyncIterator[bytes]:
        yield self._body


class Watch:
    """A watch, as a response that is still coming."""

    def __init__(self, link: Link, kind: str, params: Mapping[str, str], patience: float) -> None:
        self.status = 200
        self.headers: Mapping[str, str] = {}
        self.content = self
        self.kind = kind
        self._link = link
        self._version = int(params["resourceVersion"])
        self._selector = params.get("labelSelector", "")
        self._seconds = int(params["timeoutSeconds"])
        self._patience = patience
        self._lines: list[bytes] = []
        self._sent = self._mute = False
        self._end: Exception | None | bool = False
        self._waiter: asyncio.Future[None] | None = None
        self._timers: list[asyncio.TimerHandle] = []

    async def __aenter__(self) -> Self:
        link = self._link
        if not link.open or link.trouble.cut:
            raise aiohttp.ClientConnectionError("no route")
        link.watches[self] = None
        if self.kind in link.trouble.closing:
            self._end = None
        elif self._version < link.server.store.compacted:
            self._lines = [_line("ERROR", refusal(410, "too old resource version").body)]
            self._end = None
        else:
            self._begin()
        return self

    def _begin(self) -> None:
        link, store = self._link, self._link.server.store
        changes = store.since(self.kind, self._version)
        known = len(store.by_kind.get(self.kind, ())) - len(changes)
        again = min(link.trouble.replays, known)
        for change in store.by_kind.get(self.kind, [])[known - again :]:
            self.hear(change)
        self._timers.append(link.after(self._seconds, self.end, None))
        self._timers.append(link.after(60, self._bookmark))

    async def __aexit__(self, *_: object) -> None:
        self._link.watches.pop(self, None)
        for timer in self._timers:
            timer.cancel()

    def hear(self, change: Change) -> None:
        """A change was stored; it is told after a while, in order."""
        was = change.before is not None and selected(change.before.body, self._selector)
        is_ = change.after is not None and selected(change.after.body, self._selector)
        if not (was or is_) or self._muted():
            return
        if is_ and change.after is not None:
            line = _line("MODIFIED" if was else "ADDED", change.after.json())
        else:
            assert change.before is not None
            gone = change.before.json()
            line = _line("DELETED", gone)
        self._tell(line)

    def _tell(self, line: bytes) -> None:
        self._lines.append(line)
        if not self._sent:
            self._sent = True
            self._link.after(self._link.way() + self._link.trouble.lag, self._flush)

    def _flush(self) -> None:
        self._sent = False
        self._wake()

    def _bookmark(self) -> None:
        if not self._muted():
            body = f'{{"metadata":{{"resourceVersion":"{self._link.server.store.version}"}}}}'
            self._tell(_line("BOOKMARK", body.encode()))
        self._timers[1] = self._link.after(60, self._bookmark)

    def end(self, error: Exception | None) -> None:
        """The stream ends, by an error or as it should; one that is silent does neither."""
        if error is None and self._muted():
            return
        self._end = error
        self._wake()

    def _muted(self) -> bool:
        """A stream that has left something out says nothing more: half-open, for ever."""
        trouble = self._link.trouble
        self._mute = self._mute or trouble.deaf or self.kind in trouble.silent
        return self._mute

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def iter_any(self) -> AsyncIterator[bytes]:
        """The lines as they come. Raises what aiohttp raises."""
        loop = asyncio.get_running_loop()
        while True:
            if self._lines and not self._sent:
                lines, self._lines = self._lines, []
                yield b"".join(lines)
                continue
            if self._end is not False:
                if isinstance(self._end, Exception):
                    raise self._end
                return
            self._waiter = loop.create_future()
            silence = loop.call_later(
                self._patience, _fail, self._waiter, aiohttp.SocketTimeoutError("silent")
            )
            try:
                await self._waiter
            finally:
                silence.cancel()


def _line(kind: str, body: bytes) -> bytes:
    return b'{"type":"' + kind.encode() + b'","object":' + body + b"}\n"


def _resolve(answer: asyncio.Future[Any], value: Any) -> None:
    if not answer.done():
        answer.set_result(value)


def _fail(answer: asyncio.Future[Any], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)
