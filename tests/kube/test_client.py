"""The client: outcomes as values where they are known, UnavailableError where they are not."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import aiohttp
import pytest
from kubernetes_asyncio.client import Configuration

from kwicket.kube import client as module
from kwicket.kube.access import Access
from kwicket.kube.client import Client, TooLargeError
from kwicket.ports.errors import UnavailableError
from kwicket.ports.objects import Changed, Found, Missing, Refused
from support.api_parts import DROPS, HANGS, status_of
from support.api_server import POOLS, ApiServer

POOL = f"{POOLS}/gpu"
BODY = {"metadata": {"name": "gpu"}, "spec": {"paused": True}}

type Write = Callable[[Client], Coroutine[Any, Any, object]]

WRITES: dict[str, Write] = {
    "POST": lambda client: client.create(POOLS, BODY),
    "PUT": lambda client: client.replace(POOL, BODY),
    "PATCH": lambda client: client.merge_patch(POOL, BODY),
}

ASKS: dict[str, Write] = {"GET": lambda client: client.get(POOL), **WRITES}


def path_of(method: str) -> str:
    return POOLS if method == "POST" else POOL


async def test_an_object_is_created_read_replaced_and_patched(
    api: ApiServer, client: Client
) -> None:
    created = await client.create(POOLS, BODY)
    assert isinstance(created, Found)
    version = created.body["metadata"]["resourceVersion"]
    metadata = {"name": "gpu", "resourceVersion": version}
    replaced = await client.replace(POOL, {"metadata": metadata, "spec": {}})
    assert isinstance(replaced, Found)
    patched = await client.merge_patch(POOL, {"spec": {"paused": False}})
    assert isinstance(patched, Found)
    assert await client.get(POOL) == Found(api.objects[POOLS]["", "gpu"])
    assert patched.body["spec"] == {"paused": False}


async def test_what_is_not_there_is_missing(client: Client) -> None:
    assert await client.get(POOL) == Missing()
    assert await client.replace(POOL, BODY) == Missing()
    assert await client.merge_patch(POOL, BODY) == Missing()


async def test_a_second_creation_and_an_old_version_are_said_to_be_changed(
    api: ApiServer, client: Client
) -> None:
    api.put(POOLS, BODY)
    old = {"metadata": {"resourceVersion": "1"}}
    assert await client.create(POOLS, BODY) == Changed()
    assert await client.replace(POOL, BODY | old) == Changed()
    assert await client.merge_patch(POOL, old) == Changed()


@pytest.mark.parametrize("status", [400, 403, 413, 422])
@pytest.mark.parametrize("method", WRITES)
async def test_a_refused_write_says_why(
    api: ApiServer, client: Client, method: str, status: int
) -> None:
    api.fail(path_of(method), status, method=method)
    assert await WRITES[method](client) == Refused("as scripted")


@pytest.mark.parametrize("status", [401, 429, 500, 503, 504, HANGS, DROPS])
@pytest.mark.parametrize("method", ASKS)
async def test_without_an_answer_that_says_so_the_outcome_is_unknown(
    api: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch, method: str, status: int
) -> None:
    if status == HANGS:
        monkeypatch.setattr(module, "DEADLINE", 0.05)
    api.fail(path_of(method), status, method=method, times=2)
    ask = ASKS[method]
    with pytest.raises(UnavailableError):
        await ask(client)


@pytest.mark.parametrize(
    ("status", "said", "failed"),
    [
        (500, "Internal error occurred: failed calling webhook x: no route", True),
        (500, "etcdserver: request timed out", False),
        (500, "etcdserver: leader changed", False),
        (503, "failed calling webhook x", False),
    ],
)
async def test_only_a_write_that_was_not_tried_has_failed_for_sure(
    api: ApiServer, client: Client, status: int, said: str, failed: bool
) -> None:
    """Any other failure leaves open whether it was applied: it is read back."""
    api.fail(path_of("PUT"), status, method="PUT", body=status_of(status, said))
    with pytest.raises(UnavailableError) as caught:
        await WRITES["PUT"](client)
    assert caught.value.failed is failed


async def test_nobody_at_the_address_is_unavailable(client: Client, api: ApiServer) -> None:
    await api.__aexit__()
    with pytest.raises(UnavailableError, match="GET /apis"):
        await client.get(POOL)


@pytest.mark.parametrize(
    ("said", "seconds"), [("7", 7), ("", 0), ("soon", 0), ("-3", 0), ("\u0663", 0), ("9" * 400, 60)]
)
async def test_how_long_to_wait_is_passed_on_but_not_for_ever(
    api: ApiServer, client: Client, said: str, seconds: float
) -> None:
    api.fail(POOL, 429, headers={"Retry-After": said})
    with pytest.raises(UnavailableError) as caught:
        await client.get(POOL)
    assert caught.value.retry_after == seconds


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b"null", b'{"a":', b"\xff\xfe", b"[" * 100_000]
)
@pytest.mark.parametrize("method", ASKS)
async def test_a_done_request_whose_answer_is_no_object_has_an_unknown_outcome(
    api: ApiServer, client: Client, method: str, body: bytes
) -> None:
    api.fail(path_of(method), 200, method=method, body=body)
    ask = ASKS[method]
    with pytest.raises(UnavailableError, match=r"no JSON|no object"):
        await ask(client)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"message":"' + b"x" * 3000 + b'"}', "x" * 500),
        (b"<html>gateway</html>", "HTTP 422"),
        (b'{"message":null}', "HTTP 422"),
        (b"{}", "HTTP 422"),
        (b"[" * 100_000, "HTTP 422"),
    ],
    ids=["long", "no JSON", "null", "none", "deep"],
)
async def test_the_message_of_a_refusal_is_short_whatever_was_sent(
    api: ApiServer, client: Client, body: bytes, message: str
) -> None:
    api.fail(POOL, 422, method="PATCH", body=body)
    assert await client.merge_patch(POOL, BODY) == Refused(message)


async def test_an_answer_without_end_is_too_large(
    api: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST", 1000)
    api.fail(POOL, 200, body=b"x" * 1001)
    with pytest.raises(TooLargeError, match="longer than 1000 bytes"):
        await client.get(POOL)


async def test_bodies_are_json_in_ascii_with_the_right_type(api: ApiServer, client: Client) -> None:
    await client.create(POOLS, BODY | {"note": "…\ud800"})
    await client.merge_patch(POOL, BODY)
    created, patched = api.requests
    assert created.headers["Content-Type"] == "application/json"
    assert created.body["note"] == "…\ud800"
    assert patched.headers["Content-Type"] == "application/merge-patch+json"


async def test_each_request_says_who_we_are_with_the_token_of_the_moment(
    api: ApiServer, client: Client, configuration: Configuration
) -> None:
    tokens = iter(("Bearer one", "Bearer two\n", "Bearer three"))

    def refresh(config: Configuration) -> None:
        config.api_key["BearerToken"] = next(tokens)

    configuration.refresh_api_key_hook = refresh
    await client.get(POOL)
    await client.get(POOL)
    api.fail(POOLS, 403, watch=True)
    with pytest.raises(UnavailableError):
        async with client.stream(POOLS, {"watch": "1"}):
            pass
    said = [request.headers["Authorization"] for request in api.requests]
    assert said == ["Bearer one", "Bearer two", "Bearer three"]


async def test_credentials_that_cannot_be_read_now_are_unavailable(
    client: Client, configuration: Configuration
) -> None:
    def refresh(_: Configuration) -> None:
        raise FileNotFoundError("token")

    configuration.refresh_api_key_hook = refresh
    with pytest.raises(UnavailableError, match="no credentials: token"):
        await client.get(POOL)
    with pytest.raises(UnavailableError, match="no credentials: token"):
        async with client.stream(POOLS, {}):
            pass


@pytest.mark.parametrize("token", ["two\nlines", "half\0", "n\u00f6"])
async def test_a_token_that_no_header_can_have_is_unavailable(
    client: Client, configuration: Configuration, token: str
) -> None:
    configuration.api_key["BearerToken"] = f"Bearer {token}"
    with pytest.raises(UnavailableError, match="no credentials: the token has characters"):
        await client.get(POOL)
    with pytest.raises(UnavailableError, match="no credentials: the token has characters"):
        async with client.stream(POOLS, {}):
            pass


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 410, 429, 500, 503])
async def test_a_watch_that_is_refused_is_unavailable_and_says_why(
    api: ApiServer, client: Client, status: int
) -> None:
    api.fail(POOLS, status, watch=True, headers={"Retry-After": "3"})
    with pytest.raises(UnavailableError, match=f"watch {POOLS}: HTTP {status} as scripted") as got:
        async with client.stream(POOLS, {"watch": "1"}):
            pass
    assert got.value.retry_after == 3


async def lines_of(client: Client) -> list[bytes]:
    async with client.stream(POOLS, {"watch": "1", "resourceVersion": "100"}) as lines:
        return [line async for line in lines]


async def test_lines_are_split_wherever_the_network_has_cut_them(
    api: ApiServer, client: Client
) -> None:
    reading = asyncio.create_task(lines_of(client))
    await api.until(lambda: api.watches)
    for part in (b"on", b"", b"e\ntwo\nthr", b"ee\n", b"\n\n", b"x" * 8_400_000, b"y\n"):
        api.say(part)
    api.end_watches()
    assert await reading == [b"one", b"two", b"three", b"x" * 8_400_000 + b"y"]


async def test_half_a_line_at_the_end_is_no_line(api: ApiServer, client: Client) -> None:
    reading = asyncio.create_task(lines_of(client))
    await api.until(lambda: api.watches)
    api.say(b'one\n{"type":')
    api.end_watches()
    assert await reading == [b"one"]


async def test_a_line_without_end_ends_the_watch(
    api: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST", 1000)
    reading = asyncio.create_task(lines_of(client))
    await api.until(lambda: api.watches)
    api.say(b"x" * 1001)
    with pytest.raises(UnavailableError, match="too long"):
        await reading


async def test_a_watch_that_is_silent_ends(
    api: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SILENCE", 0.05)
    with pytest.raises(UnavailableError, match=f"watch {POOLS}"):
        await lines_of(client)
    api.fail(POOLS, HANGS, watch=True)
    with pytest.raises(UnavailableError, match=f"watch {POOLS}"):
        await lines_of(client)


async def test_a_watch_that_is_cut_is_unavailable(api: ApiServer, client: Client) -> None:
    reading = asyncio.create_task(lines_of(client))
    await api.until(lambda: api.watches)
    api.cut_watches(b'{"type":"ADD')
    with pytest.raises(UnavailableError):
        await reading


async def test_without_leave_no_write_is_sent_and_everything_is_read(
    api: ApiServer, client: Client, configuration: Configuration
) -> None:
    leaves = iter([False, True, False])
    async with aiohttp.ClientSession() as session:
        bound = Client(Access(configuration), session, lambda: next(leaves))
        body = {"metadata": {"name": "gpu"}}
        with pytest.raises(UnavailableError, match=f"POST {POOLS}: this replica does not lead"):
            await bound.create(POOLS, body)
        assert isinstance(await bound.create(POOLS, body), Found)
        assert isinstance(await bound.get(f"{POOLS}/gpu"), Found)
        with pytest.raises(UnavailableError, match="does not lead"):
            await bound.merge_patch(f"{POOLS}/gpu", {"spec": {}})
    assert [request.method for request in api.requests] == ["POST", "GET"]
