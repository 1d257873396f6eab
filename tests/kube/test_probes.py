"""Probes: alive while the loop turns, ready once the first lists are in."""

import socket

import aiohttp
import pytest

from kwicket.kube.probes import Probes


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


async def asked(port: int, path: str) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}{path}") as answer,
    ):
        return answer.status, await answer.text()


async def test_it_is_alive_before_it_is_ready() -> None:
    port, ready = free_port(), False
    async with Probes(f"127.0.0.1:{port}", lambda: ready):
        assert await asked(port, "/healthz") == (200, "ok")
        assert await asked(port, "/readyz") == (503, "the first lists are not complete")
        ready = True
        assert await asked(port, "/readyz") == (200, "ok")
        assert (await asked(port, "/"))[0] == 404


async def test_without_an_address_it_listens_nowhere() -> None:
    async with Probes(None, lambda: True) as probes:
        assert probes._runner.addresses == []


async def test_an_address_that_is_taken_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        probes = Probes(f"127.0.0.1:{server.getsockname()[1]}", lambda: True)
        with pytest.raises(OSError, match="address already in use"):
            await probes.__aenter__()


async def test_an_address_may_be_in_brackets() -> None:
    port = free_port()
    async with Probes(f"[127.0.0.1]:{port}", lambda: True):
        assert await asked(port, "/healthz") == (200, "ok")
