"""A PostgreSQL that the pods of a real node reach, at the node's own address."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from e2e.plane import Plane, processes
from e2e.plane.layout import Layout
from e2e.plane.node.network import ADDRESS
from e2e.plane.node.relay import relaying
from support.servers import Server

PORT = 5432


@asynccontextmanager
async def reached(plane: Plane, server: Server) -> AsyncIterator[str]:
    """The host and port at which pods find a server, for the length of the context."""
    outside = await asyncio.to_thread(_bound_inside, plane)
    async with relaying(outside, lambda: asyncio.open_unix_connection(server.socket)):
        yield f"{ADDRESS}:{PORT}"


def _bound_inside(plane: Plane) -> socket.socket:
    """A socket of the plane's network; only a thread's own network can be another one."""
    holder = processes.pid_of(Layout(plane.folder).record("gate"))
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(f"/proc/{holder}/ns/net", os.O_RDONLY)
    try:
        os.setns(there, os.CLONE_NEWNET)
        try:
            made = socket.socket()
            made.bind((ADDRESS, PORT))
        finally:
            os.setns(home, os.CLONE_NEWNET)
    finally:
        os.close(home)
        os.close(there)
    return made
