"""Load on the webhook, as an API server makes it: TLS connections that are kept, one review each.

Hardly anything but sockets: what it takes of the machine is taken from the server.
"""

import asyncio
import ssl
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self


class Connection:
    """One connection that is kept; at most one review is under way on it."""

    def __init__(self, port: int, tls: ssl.SSLContext) -> None:
        self._port = port
        self._tls = tls
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter

    async def __aenter__(self) -> Self:
        self._reader, self._writer = await asyncio.open_connection(
            "localhost", self._port, ssl=self._tls
        )
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._writer.transport.abort()

    async def ask(self, request: bytes) -> None:
        """Sends a whole HTTP request and takes its answer. Raises ValueError unless it is 200."""
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 "):
            raise ValueError(head.decode())
        _, _, rest = head.lower().partition(b"content-length: ")
        await self._reader.readexactly(int(rest[: rest.index(b"\r")]))


async def opened(
    stack: AsyncExitStack, number: int, port: int, tls: ssl.SSLContext
) -> list[Connection]:
    """So many connections, until the stack is closed."""
    return [await stack.enter_async_context(Connection(port, tls)) for _ in range(number)]


async def flood(connections: Sequence[Connection], requests: Sequence[bytes], total: int) -> float:
    """Asks as fast as answers come, on all connections; the seconds that it took."""

    async def keep_asking(connection: Connection, first: int) -> None:
        for number in range(first, total, len(connections)):
            await connection.ask(requests[number % len(requests)])

    begun = time.perf_counter()
    await asyncio.gather(*(keep_asking(c, n) for n, c in enumerate(connections)))
    return time.perf_counter() - begun


async def pace(
    connections: Sequence[Connection], requests: Sequence[bytes], rate: float, seconds: float
) -> list[float]:
    """Asks at a steady rate, whether answers come or not; the seconds from each review's turn to
    its answer, so that a stall counts for all who waited in it.
    """
    free: asyncio.LifoQueue[Connection] = asyncio.LifoQueue()
    for connection in connections:
        free.put_nowait(connection)
    took: list[float] = []
    begun = time.perf_counter()

    async def ask(number: int) -> None:
        connection = await free.get()
        await connection.ask(requests[number % len(requests)])
        free.put_nowait(connection)
        took.append(time.perf_counter() - begun - number / rate)

    async with asyncio.TaskGroup() as group:
        for number in range(int(rate * seconds)):
            await asyncio.sleep(begun + number / rate - time.perf_counter())
            group.create_task(ask(number))
    return took
