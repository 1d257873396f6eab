"""A watch: the changes of one kind from a version on, as a response that is still coming."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Self

import aiohttp

from faults.network import Link, fail
from faults.server import refusal
from faults.store import Change
from support.api_parts import selected


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
        self._end: Exception | bool | None = False
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
        again = min(link.trouble.replays, known) if link.chance(0.5) else 0
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
                self._patience, fail, self._waiter, aiohttp.SocketTimeoutError("silent")
            )
            try:
                await self._waiter
            finally:
                silence.cancel()


def _line(kind: str, body: bytes) -> bytes:
    return b'{"type":"' + kind.encode() + b'","object":' + body + b"}\n"
