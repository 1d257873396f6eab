"""The network of a real node: `python -m e2e.plane.node.gate`, started by the plane.

A process that lives in a network namespace of its own, which the other components join, and hands
every connection to the API server's port on this machine's loopback to the same port inside.
With the last process in it the namespace is gone, and with it bridges, addresses and rules.
"""

import asyncio
import os
import signal
import socket

import click

from e2e.plane.node import network
from e2e.plane.node.network import LOOPBACK
from e2e.plane.node.relay import relaying


@click.command()
@click.option("--port", type=int, required=True, help="The API server's, outside and inside.")
def main(port: int) -> None:
    """Hold the network namespace, until SIGTERM."""
    outside = socket.socket()
    outside.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    outside.bind((LOOPBACK, port))
    os.unshare(os.CLONE_NEWNET)
    network.make()
    asyncio.run(_relay(outside, port))


async def _relay(outside: socket.socket, port: int) -> None:
    """Listening tells the plane that the namespace is there."""
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    async with relaying(outside, lambda: asyncio.open_connection(LOOPBACK, port)):
        await ended.wait()


if __name__ == "__main__":
    main()
