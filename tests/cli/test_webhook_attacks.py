"""What is posted to a real `kwicket webhook` over bare TLS: answered, alive, and others unharmed.

Row 20 of the fault matrix, and of row 19 the certificate that is exchanged.
"""

import asyncio
import contextlib
import json
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from queue import Queue
from threading import Event, Thread

import pytest

from support.api_server import NAMESPACES, POOLS, ApiServer
from support.reviews import encoded, job, put, response, review, trust

MIB = 1024 * 1024
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: c, cluster: {server: "SERVER"}}]
users: [{name: u, user: {token: secret}}]
contexts: [{name: here, context: {cluster: c, user: u}}]
"""
PATHS = ["/mutate-jobs", "/validate-jobs"]
EVERY = [*PATHS, "/validate-objects"]
NOWHERE = "there is no Lane nowhere"
RELOADED = 60.0
"""Seconds within which a certificate is taken whose files have changed."""


class Connection:
    """One TLS connection, on which bytes are written as they are."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Writes a request; its status and what is said. It may be answered before it is read."""
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        self._writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(answer.partition("content-length: ")[2].partition("\r")[0])
        return int(answer.split()[1]), await self._reader.readexactly(length)


@asynccontextmanager
async def connected(port: int, *trusted: str) -> AsyncIterator[Connection]:
    """A connection of who trusts only these certificates."""
    reader, writer = await asyncio.open_connection(
        "localhost", port, ssl=trust(*trusted or ("old",))
    )
    yield Connection(reader, writer)
    writer.transport.abort()


async def honest(connection: Connection) -> None:
    """One review as any other, which is answered."""
    status, body = await connection.post("/mutate-jobs", encoded(review(job())))
    assert status == 200
    said = response(body)
    assert said["allowed"] is True
    assert {"op": "add", "path": "/spec/suspend", "value": True} in said["patch"]


@asynccontextmanager
async def others(port: int) -> AsyncIterator[None]:
    """Within it somebody else's reviews are answered, one after the other, without a fault."""
    over = asyncio.Event()

    async def keep_asking(connection: Connection) -> None:
        while not over.is_set():
            await honest(connection)

    async with connected(port) as connection:
        await honest(connection)
        asking = asyncio.create_task(keep_asking(connection))
        try:
            yield
        finally:
            over.set()
            await asking
        await honest(connection)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where its certificate is."""
    folder = tmp_path_factory.mktemp("webhook")
    put(folder, "old")
    return folder


async def _serve(url: Queue[str], over: Event) -> None:
    async with ApiServer() as api:
        api.put(NAMESPACES, {"metadata": {"name": "team"}})
        api.put(POOLS, {"metadata": {"name": "main"}, "spec": {"default": True}})
        url.put(api.url)
        await asyncio.to_thread(over.wait)


@pytest.fixture(scope="module")
def api_url() -> Iterator[str]:
    """An API server that has a default Pool, on a loop that outlives the tests' own."""
    url, over = Queue[str](), Event()
    thread = Thread(target=lambda: asyncio.run(_serve(url, over)))
    thread.start()
    yield url.get(timeout=30)
    over.set()
    thread.join()


@pytest.fixture(scope="module")
def process(folder: Path, api_url: str) -> Iterator[subprocess.Popen[bytes]]:
    """One for all these tests; what it logs is in the folder."""
    config = folder / "kubeconfig"
    config.write_text(KUBECONFIG.replace("SERVER", api_url))
    files = "--certificate", folder / "tls.crt", "--key", folder / "tls.key"
    words = "webhook", "--listen", "127.0.0.1:0", "--kubeconfig", config, *files
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - our own command
            [sys.executable, "-m", "kwicket", *words], stdout=log
        )
        yield process
        process.kill()
        process.wait()


@pytest.fixture
async def port(process: subprocess.Popen[bytes], folder: Path) -> AsyncIterator[int]:
    """Where it listens, and judges; after the test it is still the process that it was."""
    while not (said := _listening(folder / "log")):
        assert process.poll() is None
        await asyncio.sleep(0.02)
    while not await _judges(said[0]):  # noqa: ASYNC110 - nothing tells when it has heard of all
        await asyncio.sleep(0.02)
    yield said[0]
    assert process.poll() is None


def _listening(log: Path) -> list[int]:
    lines = (line for line in log.read_text().splitlines() if '"answers reviews"' in line)
    return [json.loads(line)["port"] for line in lines]


async def _judges(port: int) -> bool:
    """Whether it knows which Lanes there are; until then it lets everything pass."""
    async with connected(port, "old") as connection:
        _, said = await connection.post("/validate-jobs", sized(0, "nowhere"))
        return NOWHERE in said.decode()


def sized(mebibytes: float, lane: str | None = None) -> bytes:
    """A review of a new Job with such an argument."""
    new = job()
    new["metadata"]["labels"] |= {} if lane is None else {"kwicket.dev/lane": lane}
    new["spec"]["template"]["spec"]["containers"][0]["args"] = ["HERE"]
    return encoded(review(new)).replace(b"HERE", b"<" * int(mebibytes * MIB))


@pytest.mark.parametrize("mebibytes", [0.1, 0.9, 1.1, 3, 6, 20])
async def test_a_review_of_any_size_is_answered_and_others_are_too(
    port: int, mebibytes: float
) -> None:
    body = sized(mebibytes)
    async with others(port):
        for path in PATHS:
            async with connected(port) as connection:
                status, said = await connection.post(path, body)
                assert (status, response(said)["allowed"]) == (200, True)
                await honest(connection)
        async with connected(port) as connection:
            status, said = await connection.post("/validate-jobs", sized(mebibytes, "nowhere"))
            assert (status, response(said)["allowed"]) == (200, False)
            assert NOWHERE in response(said)["status"]["message"]


@pytest.mark.parametrize("path", EVERY)
async def test_a_review_of_40_mib_is_refused_and_others_are_answered(port: int, path: str) -> None:
    async with others(port), connected(port) as connection:
        status, said = await connection.post(path, sized(40))
        assert (status, said) == (413, b"a review has at most 33554432 bytes")
    async with connected(port) as connection:
        await honest(connection)


def within(part: bytes) -> bytes:
    """A review in which this stands for a field of the Job."""
    new = job()
    new["metadata"]["annotations"] = {"note": "HERE"}
    return encoded(review(new)).replace(b'"HERE"', part)


DEEP = b"[" * 100_000 + b"]" * 100_000
BROKEN = {
    "deep": DEEP,
    "deep-objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "deep-and-never-closed": b"[" * 100_000,
    "deep-within": within(DEEP),
    "nan": b"NaN",
    "nan-within": within(b"NaN"),
    "infinity-within": within(b"-Infinity"),
    "not-utf-8": b'{"a":"\xff\xfe"}',
    "not-utf-8-within": within(b'"\xff\xfe"'),
    "half-a-surrogate": within(b'"\\ud800"'),
    "cut-off": encoded(review(job()))[:-1],
    "zeros": b"\x00" * MIB,
}


@pytest.mark.parametrize("what", BROKEN)
async def test_what_is_broken_is_refused_and_others_are_answered(port: int, what: str) -> None:
    """By 4xx, or by a review that denies; nothing of it is ever allowed."""
    async with others(port):
        for path in EVERY:
            async with connected(port) as connection:
                status, said = await connection.post(path, BROKEN[what])
                denied = status == 200 and response(said)["allowed"] is False
                assert 400 <= status < 500 or denied, (status, said[:200])
                await honest(connection)


async def test_a_certificate_that_is_exchanged_is_taken_without_a_restart(
    port: int, folder: Path
) -> None:
    """Who is connected goes on; who connects anew is shown the new one, within a minute."""
    async with connected(port, "old") as kept:
        await honest(kept)
        put(folder, "new")
        async with asyncio.timeout(RELOADED):
            while not await _serves(port, "new"):
                await honest(kept)
        assert not await _serves(port, "old")
        await honest(kept)


async def _serves(port: int, name: str) -> bool:
    """Whether who trusts this certificate alone is answered."""
    with contextlib.suppress(ssl.SSLCertVerificationError):
        async with connected(port, name) as connection:
            await honest(connection)
            return True
    return False
