"""A loop that ends waits for its sockets, or gives up on them in time."""

import asyncio
import socket

import aiohttp
import pytest

from kwicket.kube import sockets
from kwicket.kube.sockets import Sockets
from support.api_server import POOLS, ApiServer

ADDRESS: aiohttp.AddrInfoType = (
    socket.AF_INET,
    socket.SOCK_STREAM,
    socket.IPPROTO_TCP,
    "",
    ("127.0.0.1", 0),
)


async def test_it_waits_until_the_last_one_is_closed() -> None:
    made = Sockets()
    first, last = made(ADDRESS), made(ADDRESS)
    first.close()
    waiting = asyncio.create_task(made.closed())
    await asyncio.sleep(0)
    assert made.open == 1
    assert not waiting.done()
    last.close()
    await waiting


async def test_one_that_is_never_closed_is_left_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sockets, "GOODBYE", 0.05)
    made = Sockets()
    with made(ADDRESS):
        await made.closed()
        assert made.open == 1


async def test_a_session_makes_its_sockets_here(api: ApiServer) -> None:
    made = Sockets()
    connector = aiohttp.TCPConnector(socket_factory=made)
    async with aiohttp.ClientSession(connector=connector) as session:
        async with session.get(api.url + POOLS) as answer:
            assert answer.status == 200
        assert made.open == 1
    await made.closed()
    assert made.open == 0
