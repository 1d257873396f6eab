"""Sockets of an HTTP session, so that a loop can wait until they are closed before it ends."""

import asyncio
import contextlib
import socket
import weakref

import aiohttp

GOODBYE = 2.0
"""Seconds for the other side's word that TLS ends; then the socket is left to its fate."""
LOOK = 0.01
"""Seconds between two looks: nobody tells when aiohttp or asyncio close a socket."""


class Sockets:
    """Given to a connector as its `socket_factory`.

    A closed session still waits for the other side's goodbye where a response was closed early; a
    loop that ends meanwhile leaves the socket open until the garbage collector finds it.
    """

    def __init__(self) -> None:
        self._made: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def __call__(self, address: aiohttp.AddrInfoType) -> socket.socket:
        """A new socket for this address."""
        family, kind, protocol, *_ = address
        made = socket.socket(family, kind, protocol)
        self._made.add(made)
        return made

    @property
    def open(self) -> int:
        """How many are not closed yet."""
        return sum(made.fileno() >= 0 for made in list(self._made))

    async def closed(self) -> None:
        """Returns once all are closed, or after GOODBYE."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GOODBYE):
                while self.open:  # noqa: ASYNC110 # no event says it
                    await asyncio.sleep(LOOK)
