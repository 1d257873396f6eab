"""Who comes in: TLS first, and never more at once than there is memory for."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kwicket.kube.webhook import door
from kwicket.kube.webhook.reviews import Answer, Outcome
from kwicket.kube.webhook.server import Server
from support.reviews import certificates, trust

HOST = "127.0.0.1"
HEAD = (
    b"POST / HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n"
)
ASKED = HEAD + b"{}"

type Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Visitors:
    """Who comes to a server; all of them leave in the end."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._came: list[asyncio.StreamWriter] = []

    async def secured(self) -> Streams:
        """One whose handshake is over."""
        return await self._comes("localhost", trust("old"))

    async def mute(self) -> Streams:
        """One who says nothing yet."""
        return await self._comes(HOST, None)

    async def _comes(self, host: str, tls: ssl.SSLContext | None) -> Streams:
        reader, writer = await asyncio.open_connection(host, self._port, ssl=tls)
        self._came.append(writer)
        return reader, writer

    def leave(self) -> None:
        """All at once."""
        for writer in self._came:
            writer.transport.abort()


async def echoes(body: bytes) -> Answer:
    return Answer(body, Outcome.ALLOWED)


@pytest.fixture
async def visitors(tmp_path: Path) -> AsyncIterator[Visitors]:
    async with Server(f"{HOST}:0", certificates(tmp_path).context, {"/": echoes}) as server:
        coming = Visitors(server.port)
        yield coming
        coming.leave()


async def is_answered(streams: Streams) -> None:
    reader, writer = streams
    writer.write(ASKED)
    assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")


async def is_closed(streams: Streams) -> None:
    async with asyncio.timeout(10):
        with contextlib.suppress(ConnectionResetError):
            assert await streams[0].read() == b""


async def test_of_too_many_connections_the_oldest_go_and_the_newest_are_answered(
    visitors: Visitors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes memory, also if nothing is ever sent on it."""
    monkeypatch.setattr(door, "CONNECTIONS", 5)
    made = [await visitors.secured() for _ in range(20)]
    for oldest in made[:15]:
        await is_closed(oldest)
    for newest in made[15:]:
        await is_answered(newest)


async def test_as_many_connections_as_there_is_room_for_are_kept(
    visitors: Visitors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "CONNECTIONS", 5)
    for one in [await visitors.secured() for _ in range(5)]:
        await is_answered(one)


async def test_handshakes_that_are_never_finished_go_before_any_connection_that_is_kept(
    visitors: Visitors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "HANDSHAKES", 5)
    kept = await visitors.secured()
    mute = await asyncio.gather(*(visitors.mute() for _ in range(20)))
    for oldest in mute[:15]:
        await is_closed(oldest)
    assert not any(newest[0].at_eof() for newest in mute[15:])
    await is_answered(await visitors.secured())
    await is_answered(kept)


async def test_a_handshake_has_its_time(
    visitors: Visitors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "HANDSHAKE", 0.05)
    await is_closed(await visitors.mute())


async def test_what_is_no_handshake_is_closed(visitors: Visitors) -> None:
    plain = await visitors.mute()
    plain[1].write(ASKED)
    async with asyncio.timeout(10):
        assert b"HTTP" not in await plain[0].read()
    await is_answered(await visitors.secured())


async def test_a_review_that_comes_with_the_end_of_the_handshake_is_answered(
    visitors: Visitors,
) -> None:
    """Who opens a connection for a review may send it in the same packet."""
    coming, going = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = trust("old").wrap_bio(coming, going, server_hostname="localhost")
    reader, writer = await visitors.mute()
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    writer.write(going.read())
    while True:
        coming.write(await reader.read(65536))
        try:
            tls.do_handshake()
            break
        except ssl.SSLWantReadError:
            continue
    tls.write(ASKED)
    writer.write(going.read())
    said = b""
    async with asyncio.timeout(10):
        while not said:
            coming.write(await reader.read(65536))
            try:
                said = tls.read()
            except ssl.SSLWantReadError:
                continue
    assert said.startswith(b"HTTP/1.1 200 ")


async def test_at_its_end_nobody_is_waited_for_who_is_still_on_the_way_in(tmp_path: Path) -> None:
    async with Server(f"{HOST}:0", certificates(tmp_path).context, {"/": echoes}) as server:
        visitors = Visitors(server.port)
        mute = await visitors.mute()
        kept = await visitors.secured()
        await is_answered(kept)
        kept[1].transport.abort()
    await is_closed(mute)
    visitors.leave()
