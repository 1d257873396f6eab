"""A TCP proxy before an API server, for what befalls a network: delays, losses, cuts, silence.

TLS passes through it untouched. What it swallows is gone for its connection, as on a line that is
dead and says so to nobody; what is new, or was not harmed, passes.
"""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import Enum
from pathlib import Path
from urllib.parse import urlsplit

import yaml

CHUNK = 64 * 1024
RST = struct.pack("ii", 1, 0)
"""SO_LINGER: a close that sends no FIN, and drops what was not sent."""


class Way(Enum):
    """A direction of a connection."""

    UP = "requests"
    DOWN = "answers"


class Proxy:
    """Between clients and one server; all faults are methods, and none is on at first."""

    def __init__(self, server: tuple[str, int]) -> None:
        self._server = server
        self._connections: set[_Connection] = set()
        self._listener: asyncio.Server | None = None
        self.delay = 0.0
        """Seconds by which each piece is late, in both directions."""
        self.rate: float | None = None
        """Bytes a second of the answers of each connection; None: as many as there are."""
        self.dead: set[Way] = set()
        """Directions in which all is swallowed, on every connection that there is or comes."""
        self.to_lose = 0
        """How many of the next answers are lost: a request passes, its answer cuts the connection.

        Told from the events of a watch, and from TLS' own, by who spoke last on a connection.
        """
        self.passed = 0
        """Bytes of answers that have passed."""

    @property
    def port(self) -> int:
        """Where it listens, on 127.0.0.1."""
        assert self._listener is not None
        return int(self._listener.sockets[0].getsockname()[1])

    @classmethod
    @asynccontextmanager
    async def before(cls, kubeconfig: Path) -> AsyncIterator["Proxy"]:
        """Before the server of this kubeconfig, for the length of the context."""
        proxy = cls(_server(kubeconfig))
        proxy._listener = await asyncio.start_server(proxy._take, "127.0.0.1", 0)
        try:
            yield proxy
        finally:
            proxy._listener.close()
            proxy.cut()
            await proxy._listener.wait_closed()

    def kubeconfig(self, kubeconfig: Path, target: Path) -> Path:
        """The same by way of this proxy; the server's certificate must name 127.0.0.1."""
        document = yaml.safe_load(kubeconfig.read_text())
        cluster = document["clusters"][0]["cluster"]
        cluster["server"] = f"https://127.0.0.1:{self.port}"
        target.write_text(yaml.safe_dump(document))
        return target

    def cut(self) -> None:
        """Resets all connections; new ones are taken."""
        for connection in list(self._connections):
            connection.cut()

    def half_open(self) -> None:
        """Nothing passes any more on any connection that there is, and no end of it is told."""
        for connection in self._connections:
            connection.silent = True

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            up_reader, up_writer = await asyncio.open_connection(*self._server)
        except OSError:
            _reset(writer)
            return
        connection = _Connection(self, writer, up_writer)
        self._connections.add(connection)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(connection.pump(Way.UP, reader, up_writer))
                group.create_task(connection.pump(Way.DOWN, up_reader, writer))
        finally:
            self._connections.discard(connection)
            for end in (writer, up_writer):
                end.close()


class _Connection:
    """One client's, with the one to the server that belongs to it."""

    def __init__(
        self, proxy: Proxy, client: asyncio.StreamWriter, server: asyncio.StreamWriter
    ) -> None:
        self.silent = False
        self._awaited = False
        self._answers = 0
        self._proxy = proxy
        self._client = client
        self._server = server

    async def pump(
        self, way: Way, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Carries one direction to its end, and passes the end on unless the line is silent."""
        try:
            while piece := await reader.read(CHUNK):
                await self._carry(way, piece, writer)
            if not (self.silent or way in self._proxy.dead):
                writer.write_eof()
        except OSError:
            self.cut()

    async def _carry(self, way: Way, piece: bytes, writer: asyncio.StreamWriter) -> None:
        proxy = self._proxy
        await asyncio.sleep(proxy.delay)
        if way is Way.DOWN and proxy.rate is not None:
            await asyncio.sleep(len(piece) / proxy.rate)
        if self.silent or way in proxy.dead:
            return
        if way is Way.UP:
            self._awaited = True
        elif self._is_lost():
            self.cut()
            return
        else:
            proxy.passed += len(piece)
        writer.write(piece)
        await writer.drain()

    def _is_lost(self) -> bool:
        """Whether this piece begins an answer that is to be lost; the first is TLS' own."""
        begins, self._awaited = self._awaited, False
        self._answers += begins
        if not begins or self._answers == 1 or not self._proxy.to_lose:
            return False
        self._proxy.to_lose -= 1
        return True

    def cut(self) -> None:
        """Resets both ends."""
        _reset(self._client)
        _reset(self._server)


def _server(kubeconfig: Path) -> tuple[str, int]:
    cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
    address = urlsplit(cluster["server"])
    return address.hostname or "", address.port or 443


def _reset(writer: asyncio.StreamWriter) -> None:
    known = writer.get_extra_info("socket")
    if known is not None and known.fileno() >= 0:
        known.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RST)
    writer.transport.abort()
