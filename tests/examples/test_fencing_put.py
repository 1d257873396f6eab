"""docs/examples/fencing/put.py: no older token over a newer one, whatever the order."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from itertools import pairwise
from urllib.error import HTTPError

import pytest
from aiohttp import web

from docs.examples.fencing.put import ATTEMPTS, StaleTokenError, put
from support.object_store import ObjectStore, Turns

OLD, NEW = 7, 9

type Outcomes = dict[str, BaseException | None]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
async def store() -> AsyncIterator[ObjectStore]:
    async with ObjectStore() as made:
        yield made


def made(token: int, content: str) -> bytes:
    return json.dumps({"token": token, "content": content}).encode()


def tokens(store: ObjectStore) -> list[int]:
    return [json.loads(content)["token"] for content in store.writes]


async def play(
    store: ObjectStore, turns: Turns, writers: dict[str, tuple[int, str]], first: bytes | None
) -> Outcomes:
    """All writers put at once, and the requests are served as `turns` has it."""

    async def wait(request: web.Request) -> None:
        await turns.come(request.query["writer"])

    store.writes.clear()
    store.objects.clear()
    if first is not None:
        store.objects["object"] = first
    store.before = wait
    url = f"{store.url}/object?writer="
    puts: dict[str, Awaitable[None]] = {
        name: asyncio.to_thread(put, url + name, content, token)
        for name, (token, content) in writers.items()
    }
    return await turns.play(puts)


@pytest.mark.parametrize("first", [None, made(5, "same"), made(NEW, "same")], ids=str)
@pytest.mark.parametrize("content", ["same", "new"])
async def test_two_writers_in_every_order(
    store: ObjectStore, first: bytes | None, content: str
) -> None:
    """Also where the newer one writes again what was there already."""
    writers = {"old": (OLD, "old"), "new": (NEW, content)}
    plan: list[int] | None = []
    orders = 0
    while plan is not None:
        turns = Turns(plan)
        outcomes = await play(store, turns, writers, first)
        seen = tokens(store)
        assert all(before <= after for before, after in pairwise(seen)), turns.choices
        assert store.objects["object"] == made(NEW, content)
        assert outcomes["new"] is None
        assert isinstance(outcomes["old"], StaleTokenError) != (OLD in seen)
        plan = turns.next_plan()
        orders += 1
    assert orders >= 3


async def test_two_pods_of_one_job_in_every_order(store: ObjectStore) -> None:
    writers = {"one": (NEW, "one"), "two": (NEW, "two")}
    plan: list[int] | None = []
    while plan is not None:
        turns = Turns(plan)
        outcomes = await play(store, turns, writers, made(5, "one"))
        assert tokens(store) == [NEW, NEW], turns.choices
        assert outcomes == {"one": None, "two": None}
        plan = turns.next_plan()


async def test_the_refusal_names_both_tokens(store: ObjectStore) -> None:
    store.objects["object"] = made(NEW, "new")
    with pytest.raises(StaleTokenError, match=r"token 7 is too old for .*/object: 9 was here"):
        await asyncio.to_thread(put, f"{store.url}/object", "old", OLD)
    assert store.writes == []


@pytest.mark.parametrize("status", [404, 409, 412])
async def test_somebody_was_faster_so_it_looks_again(store: ObjectStore, status: int) -> None:
    """409 and 404 are what S3 says while another write is on its way, and after a deletion."""
    answers = [status]

    async def busy(request: web.Request) -> web.Response | None:
        return web.Response(status=answers.pop()) if answers and request.method == "PUT" else None

    store.before = busy
    await asyncio.to_thread(put, f"{store.url}/object", "new", NEW)
    assert tokens(store) == [NEW]


async def test_a_store_that_always_says_no_is_left_in_the_end(store: ObjectStore) -> None:
    asked = []

    async def full(request: web.Request) -> web.Response | None:
        asked.append(request.method)
        return web.Response(status=412) if request.method == "PUT" else None

    store.before = full
    with pytest.raises(TimeoutError, match="fewer pods"):
        await asyncio.to_thread(put, f"{store.url}/object", "new", NEW)
    assert asked == ["GET", "PUT"] * ATTEMPTS


@pytest.mark.parametrize("method", ["GET", "PUT"])
async def test_another_error_is_the_callers(store: ObjectStore, method: str) -> None:
    async def denied(request: web.Request) -> web.Response | None:
        return web.Response(status=403) if request.method == method else None

    store.before = denied
    with pytest.raises(HTTPError, match="403"):
        await asyncio.to_thread(put, f"{store.url}/object", "new", NEW)


async def test_a_write_whose_answer_was_lost_can_be_repeated(store: ObjectStore) -> None:
    await asyncio.to_thread(put, f"{store.url}/object", "new", NEW)
    await asyncio.to_thread(put, f"{store.url}/object", "new", NEW)
    assert tokens(store) == [NEW, NEW]


async def test_an_object_without_a_token_is_not_replaced(store: ObjectStore) -> None:
    store.objects["object"] = b'{"content": "by hand"}'
    with pytest.raises(KeyError):
        await asyncio.to_thread(put, f"{store.url}/object", "new", NEW)
    assert store.writes == []
