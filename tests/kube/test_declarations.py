"""Declarations: the list is the truth, a hint is quick, and one change is one catalog."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kwicket.core.catalog import Catalog
from kwicket.core.limits import Closed
from kwicket.engine.backoff import Backoff
from kwicket.kube import declarations as module
from kwicket.kube.client import Client
from kwicket.kube.clock import SystemClock
from kwicket.kube.declarations import Declarations
from kwicket.kube.statuses import Statuses
from kwicket.ports.errors import UnavailableError
from kwicket.ports.leadership import Leadership
from support.api_parts import DROPS
from support.api_server import LANES, LIMITS, POOLS, ApiServer
from support.fakes import FakeLeadership
from support.news import News


class Desk(News):
    """Declarations, and what they have declared so far."""

    def __init__(self, client: Client, leadership: Leadership | None = None) -> None:
        super().__init__()
        self.catalogs: list[Catalog] = []
        self.tokens: list[tuple[str, int]] = []
        saw = lambda pool, shown: self.tokens.append((pool, shown.token))  # noqa: E731
        self.declarations = Declarations(
            client,
            Statuses(client, SystemClock()),
            self._declare,
            saw,
            leadership or FakeLeadership(),
        )

    def _declare(self, catalog: Catalog) -> None:
        self.catalogs.append(catalog)
        self.stir()

    @property
    def last(self) -> dict[str, list[str]]:
        """The names in the last catalog."""
        catalog = self.catalogs[-1]
        kinds: dict[str, Mapping[str, object]] = {
            "pools": catalog.pools,
            "lanes": catalog.lanes,
            "limits": catalog.limits,
        }
        return {kind: sorted(names) for kind, names in kinds.items()}


@pytest.fixture
def desk(client: Client) -> Desk:
    return Desk(client)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Backoff", lambda first: Backoff(first / 1000, 0.01))


def declared(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": spec}


def fill(api: ApiServer) -> None:
    api.put(POOLS, declared("gpu"))
    api.put(LANES, declared("train", pool="gpu"))
    api.put(LIMITS, declared("eight", pool="gpu", concurrency={"jobs": 8}))


@asynccontextmanager
async def running(desk: Desk) -> AsyncIterator[None]:
    """Runs the declarations; they must not end by themselves."""
    task = asyncio.create_task(desk.declarations.run())
    try:
        yield
    finally:
        assert not task.done()
        task.cancel()
        await asyncio.wait([task])


async def test_what_is_listed_is_declared_once(api: ApiServer, desk: Desk) -> None:
    fill(api)
    await desk.declarations.load()
    assert len(desk.catalogs) == 1
    assert desk.last == {"pools": ["gpu"], "lanes": ["train"], "limits": ["eight"]}


async def test_a_list_that_changes_nothing_declares_nothing(api: ApiServer, desk: Desk) -> None:
    """Each declaration costs a look at every Job, and a Pool's status changes every second."""
    fill(api)
    await desk.declarations.load()
    await desk.declarations.load()
    stored = api.put(POOLS, api.objects[POOLS]["", "gpu"] | {"status": {"waiting": 5}})
    desk.declarations.seen("Pool", stored)
    assert len(desk.catalogs) == 1


async def test_nothing_at_all_is_declared_too(desk: Desk) -> None:
    await desk.declarations.load()
    assert desk.catalogs == [Catalog()]


async def test_what_has_vanished_from_a_list_is_dropped(api: ApiServer, desk: Desk) -> None:
    fill(api)
    await desk.declarations.load()
    api.delete(LIMITS, "eight")
    api.delete(LANES, "train")
    api.put(POOLS, declared("cpu"))
    await desk.declarations.load()
    assert desk.last == {"pools": ["cpu", "gpu"], "lanes": [], "limits": []}
    assert len(desk.catalogs) == 2


async def test_hints_are_declared_one_by_one(api: ApiServer, desk: Desk) -> None:
    await desk.declarations.load()
    desk.declarations.seen("Pool", api.put(POOLS, declared("gpu")))
    desk.declarations.seen("Lane", api.put(LANES, declared("train", pool="gpu")))
    assert desk.last == {"pools": ["gpu"], "lanes": ["train"], "limits": []}
    desk.declarations.gone("Lane", "train")
    desk.declarations.gone("Lane", "never-seen")
    assert desk.last == {"pools": ["gpu"], "lanes": [], "limits": []}
    assert len(desk.catalogs) == 4


async def test_a_hint_during_a_list_is_newer_than_the_list(api: ApiServer, desk: Desk) -> None:
    """Else a Limit made in this moment would not count until the next list."""
    fill(api)
    answered = asyncio.Event()
    slow = api.fail(LIMITS, until=answered)
    loading = asyncio.create_task(desk.declarations.load())
    await api.until(lambda: slow.times == 0)
    desk.declarations.seen("Limit", api.put(LIMITS, declared("two", pool="gpu")))
    desk.declarations.gone("Lane", "train")
    answered.set()
    await loading
    assert desk.last == {"pools": ["gpu"], "lanes": [], "limits": ["eight", "two"]}


@pytest.mark.parametrize("path", [POOLS, LANES, LIMITS])
async def test_without_the_crds_it_says_which_to_install(
    api: ApiServer, desk: Desk, path: str
) -> None:
    del api.objects[path]
    plural = path.rpartition("/")[2]
    sentence = f"the API server does not know {plural}.kwicket.dev: install the CRDs"
    with pytest.raises(UnavailableError, match=sentence):
        await desk.declarations.load()
    assert desk.catalogs == []


@pytest.mark.parametrize("status", [403, 429, 500, 503, DROPS])
async def test_a_list_that_is_not_complete_changes_nothing(
    api: ApiServer, desk: Desk, status: int
) -> None:
    fill(api)
    await desk.declarations.load()
    api.delete(POOLS, "gpu")
    api.fail(LIMITS, status, times=2)
    with pytest.raises(UnavailableError):
        await desk.declarations.load()
    desk.declarations.seen("Lane", api.put(LANES, declared("other", pool="gpu")))
    assert desk.last == {"pools": ["gpu"], "lanes": ["other", "train"], "limits": ["eight"]}


@pytest.mark.parametrize("body", [b"{}", b"[]", b"<html>", b'{"kind":"Status"}'])
async def test_an_answer_that_is_no_list_changes_nothing(
    api: ApiServer, desk: Desk, body: bytes
) -> None:
    fill(api)
    await desk.declarations.load()
    api.fail(LIMITS, 200, body=body)
    with pytest.raises(UnavailableError):
        await desk.declarations.load()
    assert len(desk.catalogs) == 1


async def test_an_empty_list_may_be_written_as_null(api: ApiServer, desk: Desk) -> None:
    api.fail(LIMITS, 200, body=b'{"items":null}')
    await desk.declarations.load()
    assert desk.catalogs == [Catalog()]


@pytest.mark.parametrize(
    ("status", "token"),
    [
        ({"token": "1789459200042"}, 1789459200042),
        ({"token": "9" * 19}, 0),
        ({"token": "\u0663"}, 0),
        ({"token": 7}, 0),
        ({"token": None}, 0),
        ({}, 0),
        (None, 0),
    ],
)
async def test_the_token_is_read_from_the_status(
    api: ApiServer, desk: Desk, status: Any, token: int
) -> None:
    api.put(POOLS, declared("gpu") | {"status": status})
    await desk.declarations.load()
    assert desk.tokens == [("gpu", token)]


async def test_a_limit_that_is_not_understood_is_declared_closed(
    api: ApiServer, desk: Desk
) -> None:
    api.put(LIMITS, declared("odd", pool="gpu", concurrency={"memory": 5}))
    await desk.declarations.load()
    assert isinstance(desk.catalogs[-1].limits["odd"].limit.bound, Closed)


async def test_what_has_no_place_says_so_on_the_object(api: ApiServer, desk: Desk) -> None:
    api.put(LANES, declared("odd", pool=5))
    api.put(LIMITS, declared("odd", concurrency={"jobs": 1}))
    await desk.declarations.load()
    assert desk.last == {"pools": [], "lanes": [], "limits": []}
    async with running(desk):
        await api.until(
            lambda: all(api.objects[path]["", "odd"].get("status") for path in (LANES, LIMITS))
        )
    [lane] = api.objects[LANES]["", "odd"]["status"]["conditions"]
    [limit] = api.objects[LIMITS]["", "odd"]["status"]["conditions"]
    assert (lane["status"], lane["reason"]) == ("False", "NotUnderstood")
    assert "pool" in lane["message"]
    assert limit["message"] == "it names neither a pool nor a lane, or both"


async def test_a_follower_says_it_when_it_begins_to_lead(api: ApiServer, client: Client) -> None:
    leadership = FakeLeadership(leads=False)
    desk = Desk(client, leadership)
    desk.declarations.seen("Lane", api.put(LANES, declared("odd", pool=5)))
    async with running(desk):
        await asyncio.sleep(0.1)
        assert api.asked("PATCH", f"{LANES}/odd/status") == []
        leadership.lead()
        await api.until(lambda: api.objects[LANES]["", "odd"].get("status"))


async def test_what_is_understood_again_is_declared(api: ApiServer, desk: Desk) -> None:
    desk.declarations.seen("Lane", api.put(LANES, declared("odd", pool=5)))
    assert desk.last["lanes"] == []
    desk.declarations.seen("Lane", api.put(LANES, declared("odd", pool="gpu")))
    assert desk.last["lanes"] == ["odd"]
    desk.declarations.seen("Lane", api.put(LANES, declared("odd", pool=5)))
    assert desk.last["lanes"] == []


@pytest.mark.parametrize("status", [403, 404, 409, 500, DROPS])
async def test_a_status_that_cannot_be_written_ends_nothing(
    api: ApiServer, desk: Desk, status: int
) -> None:
    api.fail(f"{LANES}/a/status", status, method="PATCH", times=2)
    desk.declarations.seen("Lane", api.put(LANES, declared("a")))
    desk.declarations.seen("Lane", api.put(LANES, declared("b")))
    async with running(desk):
        await api.until(lambda: api.objects[LANES]["", "b"].get("status"))


async def test_lists_are_made_again_and_again(
    api: ApiServer, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "EVERY", 0.01)
    async with running(desk):
        await desk.until(lambda: desk.catalogs)
        fill(api)
        await desk.until(lambda: desk.last["limits"] == ["eight"])
        api.delete(LIMITS, "eight")
        await desk.until(lambda: desk.last["limits"] == [])


async def test_kinds_are_served_once_all_could_be_listed_and_are_listed_again_soon_after(
    api: ApiServer, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SOON", 0.01)
    fill(api)
    api.fail(LIMITS, 404)
    await desk.declarations.served()
    assert desk.last["limits"] == ["eight"]
    api.delete(LIMITS, "eight")
    async with running(desk):
        await desk.until(lambda: desk.last["limits"] == [])


async def test_a_list_that_failed_is_made_again_soon_not_minutes_later(
    api: ApiServer, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "EVERY", 0.01)
    fill(api)
    api.fail(POOLS, 503, times=3)
    async with running(desk):
        await api.until(lambda: len(api.asked("GET", POOLS)) >= 1)
        monkeypatch.setattr(module, "EVERY", 3600)
        await desk.until(lambda: desk.catalogs and desk.last["pools"] == ["gpu"])
