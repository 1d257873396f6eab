"""Certificates are exchanged while the server serves, and no request notices."""

import asyncio
from pathlib import Path

import aiohttp
import pytest

from kwicket.kube.webhook.certificates import CertificateError, Certificates
from kwicket.kube.webhook.reviews import Answer, Outcome
from support.reviews import HEADERS, certificates, put, serving, session

ASKED = b"{}"


async def answered(body: bytes) -> Answer:
    return Answer(body, Outcome.ALLOWED)


PATHS = {"/echo": answered}


async def ask(client: aiohttp.ClientSession) -> bytes:
    async with client.post("/echo", data=ASKED, headers=HEADERS) as answer:
        assert answer.status == 200
        return await answer.read()


def port_of(client: aiohttp.ClientSession) -> int:
    assert client._base_url is not None
    port = client._base_url.port
    assert port is not None
    return port


async def serves(port: int, name: str) -> bool:
    """Whether a new connection is shown this certificate, by whoever trusts no other."""
    async with session(port, name) as client:
        try:
            return await ask(client) == ASKED
        except aiohttp.ClientConnectorCertificateError:
            return False


async def test_new_connections_see_the_new_certificate_and_open_ones_go_on(tmp_path: Path) -> None:
    pair = certificates(tmp_path)
    async with serving(PATHS, pair.context) as client:
        assert await ask(client) == ASKED
        assert await serves(port_of(client), "old")
        put(tmp_path, "new")
        pair.reload()
        assert await serves(port_of(client), "new")
        assert not await serves(port_of(client), "old")
        assert await ask(client) == ASKED


async def test_a_swap_under_load_fails_no_request(tmp_path: Path) -> None:
    """Connections that are kept and connections that are new, while the pair changes again and
    again, one file after the other.
    """
    pair = certificates(tmp_path)
    async with serving(PATHS, pair.context) as client:
        port, over = port_of(client), asyncio.Event()

        async def keep_asking() -> int:
            number = 0
            while not over.is_set():
                await ask(client)
                async with session(port) as fresh:
                    await ask(fresh)
                number += 2
            return number

        asking = [asyncio.create_task(keep_asking()) for _ in range(4)]
        for name in ("new", "old") * 5:
            for part in ("crt", "key"):
                put(tmp_path, name, (part,))
                pair.reload()
                assert await serves(port, name) is (part == "key")
        over.set()
        counts = await asyncio.gather(*asking)
    assert min(counts) > 0


@pytest.mark.parametrize("part", ["crt", "key"])
@pytest.mark.parametrize("content", [b"", b"rubbish", b"-----BEGIN CERTIFICATE-----\n", None])
async def test_a_broken_pair_is_not_taken(tmp_path: Path, part: str, content: bytes | None) -> None:
    pair = certificates(tmp_path)
    async with serving(PATHS, pair.context) as client:
        file = tmp_path / f"tls.{part}"
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content)
        pair.reload()
        assert await serves(port_of(client), "old")
        put(tmp_path, "new")
        pair.reload()
        assert await serves(port_of(client), "new")


async def test_without_a_pair_to_begin_with_there_is_an_error(tmp_path: Path) -> None:
    put(tmp_path, "old", ("crt",))
    put(tmp_path, "new", ("key",))
    with pytest.raises(CertificateError, match="MISMATCH"):
        Certificates(tmp_path / "tls.crt", tmp_path / "tls.key")
