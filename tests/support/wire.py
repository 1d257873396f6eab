"""A wire between a client and a PostgreSQL server that can be cut at a chosen moment."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from support.addresses import SOCKET, Address, by_socket

type Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

COMMIT = b"COMMIT\0"
"""The last of a script that a client sends."""


class Wire:
    """Hands on what comes, until it is told otherwise."""

    def __init__(self) -> None:
        self.before_commit = False
        """Cuts when the client commits, before the server hears of it."""
        self.after_commit = False
        """Cuts when the server has committed, before the client hears of it."""
        self.silent = False
        """Hands on nothing more, and closes nothing."""
        self.hold = False
        """Keeps back the next statement of a client, until it is released."""
        self.cuts = 0
        self.sent = 0
        """How often a client has sent something."""
        self._committing = False
        self._held: list[tuple[asyncio.StreamWriter, bytes]] = []
        self._writers: list[asyncio.StreamWriter] = []

    async def carry(self, server: Address, near: Streams) -> None:
        """Carries one connection to a server, to its end."""
        far = await server.opened()
        self._writers += [near[1], far[1]]
        await asyncio.gather(
            self._hand_on(near[0], far[1], client=True), self._hand_on(far[0], near[1])
        )

    async def _hand_on(
        self, source: asyncio.StreamReader, to: asyncio.StreamWriter, *, client: bool = False
    ) -> None:
        cut = False
        try:
            while (data := await source.read(65536)) and not cut:
                if client:
                    self.sent += 1
                    if self.hold and data[:1] in {b"P", b"B"}:
                        self._held.append((to, data))
                        return
                    self._committing = _commits(data)
                    cut = self._committing and self.before_commit
                else:
                    cut = self._committing and self.after_commit
                if not cut and not self.silent:
                    to.write(data)
                    await to.drain()
        except ConnectionError:
            pass
        self.cuts += cut
        if cut:
            self.cut()
        elif not self.silent:
            to.close()

    def release(self) -> None:
        """Hands on what was kept back, and then that the client is gone."""
        for to, data in self._held:
            to.write(data)
            to.close()
        self._held.clear()

    def cut(self) -> None:
        """Cuts all connections."""
        for writer in self._writers:
            writer.transport.abort()


def _commits(data: bytes) -> bool:
    """Whether what a client sends is a script that commits, or a statement that does so itself."""
    return COMMIT in data or (data.startswith(b"B") and b"\0kwicket_" in data)


@asynccontextmanager
async def wired(url: str, folder: Path) -> AsyncIterator[tuple[str, Wire]]:
    """A wire to the server of a URL, and the URL by which clients come that way."""
    wire, target = Wire(), Address.of(url)

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await wire.carry(target, (reader, writer))

    server = await asyncio.start_unix_server(carry, folder / SOCKET)
    try:
        yield by_socket(url, folder), wire
    finally:
        server.close()
        wire.cut()
