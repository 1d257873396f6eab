"""What an operator needs of a database beside its schema: rights, and to hear what is written."""

import asyncio
import uuid

from kwicket_storage.connections import Connections, reached, servers
from kwicket_storage.listener import DEADLINE
from kwicket_storage.queries import query


async def lacking(url: str) -> tuple[str, ...]:
    """What an operator must do there and the user of the URL may not, such as `UPDATE ON …`.

    Raises UrlError, and UNREACHED.
    """
    connection = await reached(list(servers(url)))
    try:
        return tuple(row["missing"] for row in await connection.fetch(query("rights")))
    finally:
        await connection.close()


async def heard(url: str, listen: str) -> bool:
    """Whether who listens by the one URL is told at once what is written by the other.

    Raises UrlError, UnavailableError, and UNREACHED.
    """
    channel, rung = f"kwicket_{uuid.uuid4().hex}", asyncio.Event()
    connections, ears = Connections(url), await reached(list(servers(listen)))
    try:
        await ears.add_listener(channel, lambda *_: rung.set())
        await connections.rows("SELECT pg_notify($1, '')", channel)
        async with asyncio.timeout(DEADLINE):
            return await rung.wait()
    except TimeoutError:
        return False
    finally:
        ears.terminate()
        await connections.close()
