"""The server, as an API server and as an attacker meet it: answered, and alive."""

import asyncio
import contextlib
import io
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from kwicket.kube.client import Client
from kwicket.kube.webhook import server as module
from kwicket.kube.webhook.caches import Caches
from kwicket.kube.webhook.grantors import Grantors
from kwicket.kube.webhook.paths import Paths
from kwicket.kube.webhook.reviews import Answer, Outcome
from kwicket.kube.webhook.server import Server
from kwicket.ports.errors import UnavailableError
from support.reviews import (
    HEADERS,
    certificates,
    encoded,
    job,
    response,
    review,
    serving,
    session,
    trust,
)

MIB = 1024 * 1024


@pytest.fixture
def tls(tmp_path: Path) -> ssl.SSLContext:
    return certificates(tmp_path).context


@pytest.fixture
async def webhook(client: Client, tls: ssl.SSLContext) -> AsyncIterator[aiohttp.ClientSession]:
    """A session with the real paths, whose caches know nothing yet."""
    paths = Paths(Caches(client), Grantors(client))
    async with serving(paths.by_path, tls) as asking:
        yield asking


async def post(
    webhook: aiohttp.ClientSession, body: Any, path: str = "/mutate-jobs", **headers: str
) -> tuple[int, bytes]:
    data = io.BytesIO(body) if isinstance(body, bytes) else body
    async with webhook.post(path, data=data, headers=HEADERS | headers) as answer:
        return answer.status, await answer.read()


async def works(webhook: aiohttp.ClientSession) -> None:
    """It still answers an honest review."""
    status, body = await post(webhook, encoded(review(job())))
    assert status == 200
    assert response(body)["allowed"] is True


def sized(mebibytes: float) -> bytes:
    """A review of about that size."""
    body = review(job(), unheard="HERE")
    return encoded(body).replace(b"HERE", b"<" * int(mebibytes * MIB))


@pytest.mark.parametrize("mebibytes", [0.1, 0.9, 1.1, 3, 6, 20, 31.9])
@pytest.mark.parametrize("path", ["/mutate-jobs", "/validate-jobs"])
async def test_a_large_review_is_answered(
    webhook: aiohttp.ClientSession, mebibytes: float, path: str
) -> None:
    status, body = await post(webhook, sized(mebibytes), path)
    assert status == 200
    assert response(body)["allowed"] is True


async def test_a_review_that_is_too_large_is_refused_before_it_is_read(
    webhook: aiohttp.ClientSession,
) -> None:
    status, body = await post(webhook, sized(40))
    assert (status, body) == (413, b"a review has at most 33554432 bytes")
    await works(webhook)


async def test_nobody_waits_for_a_body_that_is_said_to_be_too_large(
    webhook: aiohttp.ClientSession,
) -> None:
    port = webhook._base_url.port if webhook._base_url else 0
    reader, writer = await asyncio.open_connection("localhost", port, ssl=trust("old"))
    head = "POST /mutate-jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {32 * MIB + 1}\r\n\r\n".encode())
    async with asyncio.timeout(5):
        assert b" 413 " in await reader.readline()
    writer.transport.abort()


async def test_a_body_of_unknown_length_has_the_same_limit(webhook: aiohttp.ClientSession) -> None:
    async def pieces(whole: bytes) -> AsyncIterator[bytes]:
        for begin in range(0, len(whole), MIB):
            yield whole[begin : begin + MIB]

    assert (await post(webhook, pieces(sized(3))))[0] == 200
    with contextlib.suppress(aiohttp.ClientConnectionError):  # refused while we still wrote
        assert (await post(webhook, pieces(sized(40))))[0] == 413
    await works(webhook)


async def test_large_reviews_do_not_pile_up_in_memory(
    tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGE", 10)
    inside, most, go = 0, 0, asyncio.Event()
    full = asyncio.Event()

    async def answering(_: bytes) -> Answer:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        if inside == module.AT_ONCE:
            full.set()
        await go.wait()
        inside -= 1
        return Answer(b"{}", Outcome.ALLOWED)

    async def quick(_: bytes) -> Answer:
        return Answer(b"{}", Outcome.ALLOWED)

    async with serving({"/large": answering, "/small": quick}, tls) as asking:
        large = [asyncio.create_task(post(asking, b"x" * 11, "/large")) for _ in range(10)]
        await full.wait()
        assert (await post(asking, b"x" * 10, "/small"))[0] == 200
        go.set()
        assert {status for status, _ in await asyncio.gather(*large)} == {200}
    assert most == module.AT_ONCE


@pytest.mark.parametrize("path", ["/", "", "/mutate-jobs/", "/mutate", "/healthz"])
async def test_an_unknown_path_is_not_found(webhook: aiohttp.ClientSession, path: str) -> None:
    assert await post(webhook, encoded(review(job())), path) == (404, b"there is no such path")


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
async def test_another_method_is_refused(webhook: aiohttp.ClientSession, method: str) -> None:
    async with webhook.request(method, "/mutate-jobs") as answer:
        assert answer.status == 405
        assert answer.headers["Allow"] == "POST"


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/yaml"},
        {"Content-Type": ""},
        {"Content-Encoding": "gzip"},
        {"Content-Encoding": "deflate"},
    ],
)
async def test_another_type_is_refused(
    webhook: aiohttp.ClientSession, headers: dict[str, str]
) -> None:
    body = encoded(review(job()))
    async with webhook.post("/mutate-jobs", data=body, headers=HEADERS | headers) as answer:
        assert answer.status == 415


async def test_a_type_may_have_a_parameter(webhook: aiohttp.ClientSession) -> None:
    body = encoded(review(job()))
    assert (await post(webhook, body, **{"Content-Type": "application/json; charset=utf-8"}))[
        0
    ] == 200


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"NaN", b"[" * 100_000 + b"]" * 100_000, b'{"a":"\xff"}', b"\x00", b"null"],
)
@pytest.mark.parametrize("path", ["/mutate-jobs", "/validate-jobs", "/validate-objects"])
async def test_what_is_no_review_is_a_bad_request(
    webhook: aiohttp.ClientSession, path: str, body: bytes
) -> None:
    status, said = await post(webhook, body, path)
    assert status == 400
    assert b"allowed" not in said
    await works(webhook)


@pytest.mark.parametrize(
    ("error", "status"),
    [(UnavailableError("no answer"), 503), (RuntimeError("a secret"), 500), (KeyError("x"), 500)],
)
async def test_what_fails_inside_is_no_answer(
    tls: ssl.SSLContext, error: Exception, status: int
) -> None:
    async def fails(_: bytes) -> Answer:
        raise error

    async with serving({"/": fails}, tls) as asking:
        got, said = await post(asking, b"{}", "/")
    assert got == status
    assert b"secret" not in said
    assert b"allowed" not in said


async def test_whoever_does_not_finish_is_not_waited_for(
    tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "DEADLINE", 0.05)

    async def stalls(body: bytes) -> Answer:
        await asyncio.sleep(30)
        return await echoes(body)

    async with serving({"/": stalls, "/quick": echoes}, tls) as asking:
        status, said = await post(asking, b"{}", "/")
        assert (status, said) == (408, b"no whole review within 0.05 s")
        assert (await post(asking, b"{}", "/quick"))[0] == 200


async def echoes(body: bytes) -> Answer:
    return Answer(body, Outcome.ALLOWED)


async def slowly() -> AsyncIterator[bytes]:
    """A body that comes for ever, and is large as nobody knows how long it will be."""
    while True:
        yield b"x"
        await asyncio.sleep(0.01)


async def test_bodies_that_come_slowly_keep_no_place_of_large_reviews(
    tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All places are taken by such; an honest review waits for one, and gets it."""
    monkeypatch.setattr(module, "READING", 0.2)
    server = Server("127.0.0.1:0", tls, {"/": echoes})
    async with server, session(server.port) as asking:
        slow = [asyncio.create_task(post(asking, slowly(), "/")) for _ in range(module.AT_ONCE)]
        while not server._large.locked():  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0)
        honest = b"x" * (module.LARGE + 1)
        assert (await post(asking, honest, "/"))[0] == 200
        refusals = await asyncio.gather(*slow, return_exceptions=True)
    for refusal in refusals:
        assert isinstance(refusal, aiohttp.ClientError) or refusal == (
            408,
            b"the review did not come within 0.2 s",
        )


async def test_of_too_many_reviews_at_once_the_last_are_turned_away_at_once(
    tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    begun, go = asyncio.Semaphore(0), asyncio.Event()

    async def answering(body: bytes) -> Answer:
        begun.release()
        await go.wait()
        return await echoes(body)

    async with serving({"/": answering}, tls) as asking:
        taken = [asyncio.create_task(post(asking, b"{}", "/")) for _ in range(3)]
        for _ in taken:
            await begun.acquire()
        assert await post(asking, b"{}", "/") == (429, b"3 reviews are under way")
        go.set()
        assert {status for status, _ in await asyncio.gather(*taken)} == {200}
        assert (await post(asking, b"{}", "/"))[0] == 200


async def test_a_client_that_goes_away_harms_nobody(webhook: aiohttp.ClientSession) -> None:
    port = webhook._base_url.port if webhook._base_url else 0
    assert port
    async with session(port) as other:

        async def breaks_off() -> AsyncIterator[bytes]:
            yield b"{"
            raise RuntimeError("gone")

        with pytest.raises((RuntimeError, aiohttp.ClientError)):
            await post(other, breaks_off())
    await works(webhook)


async def post_for_ever(asking: aiohttp.ClientSession) -> None:
    while True:
        await post(asking, b"{}", "/nowhere")


async def test_at_its_end_it_finishes_what_it_has_begun(tls: ssl.SSLContext) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def answering(_: bytes) -> Answer:
        begun.set()
        await go.wait()
        return Answer(json.dumps({"finished": True}).encode(), Outcome.ALLOWED)

    server = Server("127.0.0.1:0", tls, {"/": answering})
    await server.__aenter__()
    async with session(server.port) as asking:
        under_way = asyncio.create_task(post(asking, b"{}", "/"))
        await begun.wait()
        port = server.port
        ending = asyncio.create_task(server.__aexit__())
        async with session(port) as late:
            with pytest.raises(aiohttp.ClientConnectorError):
                await post_for_ever(late)
        assert not ending.done()
        go.set()
        assert await under_way == (200, b'{"finished": true}')
        await ending


async def test_at_its_end_an_open_connection_may_bring_one_more_review(
    tls: ssl.SSLContext,
) -> None:
    """It is told that it was the last, so nothing is sent on a connection that is being closed."""
    server = Server("127.0.0.1:0", tls, {"/": echoes})
    await server.__aenter__()
    async with session(server.port) as asking:
        assert (await post(asking, b"{}", "/"))[0] == 200
        ending = asyncio.create_task(server.__aexit__())
        while not server.ending:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0)
        async with asking.post("/", data=b"{}", headers=HEADERS) as answer:
            assert answer.status == 200
            assert answer.headers["Connection"] == "close"
        await ending


async def test_an_address_that_is_taken_is_an_error(tls: ssl.SSLContext) -> None:
    async with Server("127.0.0.1:0", tls, {}) as first:
        with pytest.raises(OSError, match="address already in use"):
            await Server(f"127.0.0.1:{first.port}", tls, {}).__aenter__()


async def test_plain_http_is_not_answered(webhook: aiohttp.ClientSession) -> None:
    port = webhook._base_url.port if webhook._base_url else 0
    async with aiohttp.ClientSession() as plain:
        with pytest.raises(aiohttp.ClientError):
            await plain.post(f"http://127.0.0.1:{port}/mutate-jobs", data=b"{}", headers=HEADERS)
    await works(webhook)
