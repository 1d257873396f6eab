"""Hands connections over, from one network to another."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

type Reach = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
"""Opens a connection to the server; an OSError ends the one that asked for it."""


@asynccontextmanager
async def relaying(outside: socket.socket, reach: Reach) -> AsyncIterator[None]:
    """Every connection to a bound socket gets one to the server, for the length of the context."""

    async def hand_over(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            inner_reader, inner_writer = await reach()
        except OSError:
            writer.transport.abort()
            return
        async with asyncio.TaskGroup() as group:
            group.create_task(_copy(reader, inner_writer))
            group.create_task(_copy(inner_reader, writer))

    server = await asyncio.start_server(hand_over, sock=outside)
    try:
        yield
    finally:
        server.close()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Until either side has ended, whereupon both have."""
    try:
        while chunk := await source.read(1 << 16):
            sink.write(chunk)
            await sink.drain()
    except OSError:
        pass
    finally:
        sink.close()
