"""What an operator needs of a database beside its schema: rights, and to hear what is written."""

import asyncio
import uuid

from kwicket_storage.connections import Connections
from kwicket_storage.listener import DEADLINE
from kwicket_storage.queries import query
from kwicket_storage.servers import Servers, Url


async def lacking(url: Url) -> tuple[str, ...]:
    """What an operator must do there and the user of the URL may not, such as `UPDATE ON …`.

    Raises UrlError, and UNREACHED.
    """
    connection = await Servers(url).reached()
    try:
        return tuple(row["missing"] for row in await connection.fetch(query("rights")))
    finally:
        await connection.close()


async def heard(url: Url, listen: Url) -> bool:
    """Whether who listens by the one URL is told at once what is written by the other.

    Raises UrlError, UnavailableError, and UNREACHED.
    """
    channel, rung = f"kwicket_{uuid.uuid4().hex}", asyncio.Event()
    connections, ears = Connections(url), await Servers(listen).reached()
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
