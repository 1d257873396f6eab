"""The way in: TLS, then HTTP, and never more connections than there is memory for.

asyncio keeps a quarter of a MiB for each TLS connection from the first byte of its handshake on, so
those that have not come to its end are bounded as well.
"""

import asyncio
import contextlib
import ssl
from typing import Any, cast

from aiohttp import web

CONNECTIONS = 300
"""How many connections are kept; for one more the oldest goes at once."""
HANDSHAKES = 300
"""How many TLS handshakes are under way; for one more the oldest goes at once. They never take the
place of a connection that is kept."""
HANDSHAKE = 3.0
"""Seconds for a TLS handshake."""


class Door(web.Server):
    """The connections of an HTTP server, each by TLS."""

    def __init__(self, tls: ssl.SSLContext, *args: Any, **options: Any) -> None:
        """`args` and `options` are those of aiohttp's server."""
        super().__init__(*args, **options)
        self._tls = tls
        self._guests: dict[_Guest, asyncio.Task[None]] = {}

    def __call__(self) -> asyncio.Protocol:  # type: ignore[override]  # the handler comes after TLS
        """What a new connection is handed to."""
        return _Guest(self)

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Keeps it."""
        super().connection_made(handler, transport)
        for oldest in _beyond(CONNECTIONS, self.connections):
            if oldest.transport is not None:
                oldest.transport.abort()  # a goodbye by TLS would wait for an answer
            oldest.force_close()

    def knock(self, guest: "_Guest", transport: asyncio.Transport) -> None:
        """Begins the handshake; who does not come in by it is gone."""

        def over(_: object) -> None:
            del self._guests[guest]
            if guest.waits:
                transport.abort()

        task = asyncio.create_task(self._let_in(guest, transport), name="handshake")
        self._guests[guest] = task
        task.add_done_callback(over)
        for oldest in _beyond(HANDSHAKES, [*self._guests.values()]):
            oldest.cancel()

    async def shutdown(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - aiohttp's
        """Ends what is kept, as aiohttp does it, and whoever is on the way in."""
        for task in [*self._guests.values()]:
            task.cancel()
        await super().shutdown(timeout)

    async def _let_in(self, guest: "_Guest", transport: asyncio.Transport) -> None:
        loop = asyncio.get_running_loop()
        secured = None
        with contextlib.suppress(OSError):  # no TLS, not in time, or gone
            secured = await loop.start_tls(
                transport, guest, self._tls, server_side=True, ssl_handshake_timeout=HANDSHAKE
            )
        if secured is not None and not secured.is_closing():
            guest.hand_over(secured, super().__call__())


class _Guest(asyncio.Protocol):
    """A connection until its handshake is over, and what comes together with the end of that."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._early = bytearray()
        self._ended = False
        self.waits = True
        """Whether it was not handed over yet."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        raw = cast("asyncio.Transport", transport)
        raw.pause_reading()  # until the handshake reads
        self._door.knock(self, raw)

    def data_received(self, data: bytes) -> None:
        self._early += data

    def eof_received(self) -> None:
        self._ended = True

    def hand_over(self, secured: asyncio.Transport, handler: web.RequestHandler) -> None:
        """From now on the handler has it, with what has come before."""
        self.waits = False
        secured.set_protocol(handler)
        handler.connection_made(secured)
        if self._early:
            handler.data_received(bytes(self._early))
        if self._ended:
            secured.close()


def _beyond[T](most: int, all_: list[T]) -> list[T]:
    """Those at the front that are too many."""
    return all_[: max(0, len(all_) - most)]
