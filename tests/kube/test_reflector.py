"""The reflector: whatever the server does, it goes on, and ends up believing what is true."""

import asyncio
import json
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from structlog.testing import capture_logs

from kwicket.engine.backoff import Backoff
from kwicket.kube import client as client_module
from kwicket.kube import reflector as module
from kwicket.kube.client import Client
from support.api_parts import DROPS, HANGS, bookmark
from support.api_server import JOBS, ApiServer
from support.reflection import job, reflecting


class QuickBackoff(Backoff):
    """Waits a thousandth of the time, but as long as the server has asked for."""

    def __init__(self, first: float) -> None:
        super().__init__(first / 1000, 0.015)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failures are soon behind us, and every watch counts as one that worked."""
    monkeypatch.setattr(module, "Backoff", QuickBackoff)
    monkeypatch.setattr(module, "STEADY", 0)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the reflector was asked to wait before each list, but for the first."""
    waited: list[float] = []

    class Counting(QuickBackoff):
        async def sleep(self, at_least: float = 0) -> None:
            waited.append(at_least)
            await super().sleep()

    monkeypatch.setattr(module, "Backoff", Counting)
    return waited


def lists(api: ApiServer) -> int:
    return len([r for r in api.asked("GET", JOBS) if "continue" not in r.query])


def has_listed(api: ApiServer, times: int) -> bool:
    return lists(api) == times


async def test_what_exists_is_listed_and_what_changes_is_watched(
    api: ApiServer, client: Client
) -> None:
    api.put(JOBS, job("x-1"))
    async with reflecting(client) as heard:
        await heard.until_names("x-1")
        assert heard.reflector.synced.is_set()
        api.put(JOBS, job("x-2"))
        await heard.until_names("x-1", "x-2")
        api.put(JOBS, job("x-1") | {"spec": {"suspend": False}})
        await heard.until(lambda: any(not job.suspended for job in heard.jobs.values()))
        api.delete(JOBS, "x-2", "team")
        await heard.until_names("x-1")
    assert heard.told == ["+x-1", "+x-2", "+x-1", "-x-2"]
    assert lists(api) == 1


async def test_lists_are_asked_in_pages_by_tenant_and_watches_with_bookmarks(
    api: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAGE", 2)
    for number in range(5):
        api.put(JOBS, job(f"x-{number}"))
    api.put(JOBS, job("not-ours", tenant=None))
    async with reflecting(client) as heard:
        await heard.until_names(*(f"x-{number}" for number in range(5)))
        await api.until(lambda: api.watches)
    pages = api.asked("GET", JOBS)
    [watch] = api.asked("GET", JOBS, watch=True)
    assert [("continue" in page.query, page.query["limit"]) for page in pages] == [
        (False, "2"),
        (True, "2"),
        (True, "2"),
    ]
    assert {page.query["labelSelector"] for page in [*pages, watch]} == {"kwicket.dev/tenant"}
    assert "resourceVersion" not in pages[0].query
    assert watch.query["resourceVersion"] == "106"
    assert watch.query["allowWatchBookmarks"] == "true"
    assert 240 <= int(watch.query["timeoutSeconds"]) <= 360


async def test_it_is_synced_only_after_the_last_page(
    api: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAGE", 1)
    api.put(JOBS, job("x-1"))
    api.put(JOBS, job("x-2"))
    api.fail(JOBS, HANGS, page=True)
    async with reflecting(client) as heard:
        await heard.until_names("x-1")
        await api.until(lambda: api.faults[0].times == 0)
        assert not heard.reflector.synced.is_set()


async def test_a_watch_that_has_ended_in_time_is_followed_by_a_list_at_once(
    api: ApiServer, client: Client, pauses: list[float]
) -> None:
    async with reflecting(client) as heard:
        for wanted in range(2, 5):
            await api.until(lambda: api.watches)
            api.end_watches()
            await api.until(partial(has_listed, api, wanted))
        await heard.until_names()
    assert pauses == []


async def test_a_watch_that_ends_at_once_again_and_again_is_no_hot_loop(
    api: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    """Row 11 of the fault matrix."""
    monkeypatch.setattr(module, "STEADY", 60)
    api.fail(JOBS, 200, watch=True, times=5, body=b"")
    async with reflecting(client):
        await api.until(lambda: api.watches)
    assert len(pauses) == 5
    assert lists(api) == 6


async def test_waits_grow_while_lists_work_and_watches_fail(
    api: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a watch that is forbidden would cost a full list five times a second."""
    monkeypatch.setattr(module, "STEADY", 60)
    resets: list[None] = []
    monkeypatch.setattr(QuickBackoff, "reset", lambda _: resets.append(None))
    api.fail(JOBS, 403, watch=True, times=4)
    async with reflecting(client):
        await api.until(lambda: api.watches)
    assert resets == []


async def test_a_watch_that_has_worked_for_a_while_makes_the_next_wait_short(
    api: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    resets: list[None] = []
    monkeypatch.setattr(QuickBackoff, "reset", lambda _: resets.append(None))
    async with reflecting(client):
        await api.until(lambda: api.watches)
        api.cut_watches()
        await api.until(partial(has_listed, api, 2))
    assert resets


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 429, 500, 503, 504, DROPS])
async def test_a_list_that_fails_is_tried_again(
    api: ApiServer, client: Client, status: int
) -> None:
    """Rows 8, 15, 16 and 18."""
    api.put(JOBS, job("x-1"))
    api.fail(JOBS, status, times=3)
    async with reflecting(client) as heard:
        await heard.until_names("x-1")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 429, 500, 503, 504, DROPS])
async def test_a_watch_that_fails_is_followed_by_a_list(
    api: ApiServer, client: Client, status: int
) -> None:
    """Rows 8, 9 (410 as a status), 15, 16 and 18."""
    api.fail(JOBS, status, watch=True, times=3)
    async with reflecting(client) as heard:
        await api.until(lambda: api.watches)
        api.put(JOBS, job("x-1"))
        await heard.until_names("x-1")
    assert lists(api) >= 2


@pytest.mark.parametrize("watch", [False, True])
async def test_a_busy_server_is_left_alone_as_long_as_it_asks(
    api: ApiServer, client: Client, pauses: list[float], watch: bool
) -> None:
    """Row 15."""
    api.fail(JOBS, 429, headers={"Retry-After": "5"}, watch=watch)
    async with reflecting(client):
        await api.until(lambda: api.watches)
    assert pauses == [5]


async def test_a_list_without_an_answer_is_tried_again(
    api: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "DEADLINE", 0.1)
    api.put(JOBS, job("x-1"))
    api.fail(JOBS, HANGS, times=2)
    async with reflecting(client) as heard:
        await heard.until_names("x-1")


GARBAGE = [
    b"",
    b"<html>",
    b"null",
    b"[]",
    b"{}",
    b'{"metadata":{}}',
    b'{"metadata":{"resourceVersion":"1"}}',
    b'{"metadata":{},"items":[]}',
    b'{"metadata":{"resourceVersion":"1"},"items":{}}',
    b'{"metadata":{"resourceVersion":"1"},"items":[{]}',
    b'{"kind":"Status","metadata":{},"status":"Failure","code":500}',
    b"\xff",
    b"[" * 100_000,
]


@pytest.mark.parametrize("body", GARBAGE)
async def test_a_page_that_is_none_is_not_taken_for_an_empty_one(
    api: ApiServer, client: Client, body: bytes
) -> None:
    api.put(JOBS, job("x-1"))
    async with reflecting(client) as heard:
        await heard.until_names("x-1")
        api.fail(JOBS, 200, body=body, times=4)
        await api.until(lambda: api.watches)
        api.end_watches()
        await api.until(lambda: api.faults[0].times == 0 and api.watches)
        await heard.until_names("x-1")
    assert "-x-1" not in heard.told


async def test_an_empty_list_may_be_written_as_null(api: ApiServer, client: Client) -> None:
    api.fail(JOBS, 200, body=b'{"metadata":{"resourceVersion":"100"},"items":null}')
    async with reflecting(client) as heard:
        await api.until(lambda: api.watches)
        assert heard.reflector.synced.is_set()
    assert lists(api) == 1


async def test_a_page_that_is_gone_makes_no_partial_list_a_full_one(
    api: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows 9 (an expired continue token) and 17."""
    monkeypatch.setattr(module, "PAGE", 1)
    for name in ("x-1", "x-2", "x-3"):
        api.put(JOBS, job(name))
    async with reflecting(client) as heard:
        await heard.until_names("x-1", "x-2", "x-3")
        await api.until(lambda: api.watches)
        api.fail(JOBS, 410, page=True, times=2)
        api.end_watches()
        await api.until(lambda: api.faults[0].times == 0 and api.watches)
    assert not [word for word in heard.told if word.startswith("-")]


async def test_what_has_vanished_unseen_is_gone_with_the_next_list(
    api: ApiServer, client: Client
) -> None:
    """Row 13."""
    api.put(JOBS, job("x-1"))
    api.put(JOBS, job("x-2"))
    async with reflecting(client) as heard:
        await heard.until_names("x-1", "x-2")
        await api.until(lambda: api.watches)
        api.fail(JOBS, 500, times=1)
        api.cut_watches()
        await api.until(lambda: not api.watches)
        api.delete(JOBS, "x-1", "team")
        api.compact()
        await heard.until_names("x-2")


async def test_a_job_made_again_under_its_name_is_another_one(
    api: ApiServer, client: Client
) -> None:
    """Row 13."""
    old = api.put(JOBS, job("x-1"))["metadata"]["uid"]
    async with reflecting(client) as heard:
        await heard.until_names("x-1")
        await api.until(lambda: api.watches)
        api.fail(JOBS, 503)
        api.cut_watches()
        await api.until(lambda: not api.watches)
        api.delete(JOBS, "x-1", "team")
        new = api.put(JOBS, job("x-1"))["metadata"]["uid"]
        await heard.until(lambda: set(heard.jobs) == {new})
    assert new != old
    assert heard.told[-1] == "-x-1"


async def test_a_version_that_is_forgotten_leads_to_a_list(
    api: ApiServer, client: Client, pauses: list[float]
) -> None:
    """Row 9: 410 as an ERROR event, HTTP 200 before it, as API servers do."""
    api.fail(JOBS, 200, body=b'{"metadata":{"resourceVersion":"50"},"items":[]}')
    api.put(JOBS, job("x-1"))
    api.compact()
    async with reflecting(client) as heard:
        await heard.until_names("x-1")
    assert len(pauses) == 1


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"ERROR","object":{"code":410,"message":"too old"}}',
        b'{"type":"ERROR","object":{"code":500,"message":"etcdserver: leader changed"}}',
        b'{"type":"ERROR","object":null}',
        b'{"type":"ERROR"}',
        b'{"type":"ADDED"}',
        b'{"type":null,"object":{}}',
        b'{"type":"ADDED","object":{"meta',
        b"garbage",
        b"\xff\x00",
        b"[]",
        b"null",
    ],
)
async def test_a_line_that_is_no_event_leads_to_a_list(
    api: ApiServer, client: Client, pauses: list[float], line: bytes
) -> None:
    async with reflecting(client) as heard:
        await api.until(lambda: api.watches)
        api.say(line + b"\n")
        await api.until(lambda: lists(api) == 2)
        api.put(JOBS, job("x-1"))
        await heard.until_names("x-1")
    assert len(pauses) == 1


async def test_a_connection_cut_in_a_line_leads_to_a_list(api: ApiServer, client: Client) -> None:
    async with reflecting(client) as heard:
        await api.until(lambda: api.watches)
        api.cut_watches(b'{"type":"ADDED","object":{"metadata":{"name":"half')
        await api.until(lambda: lists(api) == 2)
        api.put(JOBS, job("x-1"))
        await heard.until_names("x-1")


async def test_a_silent_watch_is_opened_again(
    api: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 10."""
    monkeypatch.setattr(client_module, "SILENCE", 0.1)
    async with reflecting(client) as heard:
        await api.until(lambda: len(api.asked("GET", JOBS, watch=True)) == 3)
        api.put(JOBS, job("x-1"))
        await heard.until_names("x-1")


@pytest.mark.parametrize(
    "broken",
    [
        job("broken", creationTimestamp="yesterday"),
        job("broken", labels={"kwicket.dev/tenant": "a", "odd": 5}),
        job("broken") | {"spec": {"parallelism": "many"}},
        job("broken", uid=None),
    ],
    ids=["stamp", "label", "type", "uid"],
)
async def test_what_is_not_understood_is_left_out_and_the_others_go_on(
    api: ApiServer, client: Client, broken: dict[str, Any]
) -> None:
    api.put(JOBS, broken)
    api.put(JOBS, job("x-1"))
    async with reflecting(client) as heard:
        await heard.until_names("x-1")
        await api.until(lambda: api.watches)
        api.put(JOBS, broken)
        api.delete(JOBS, "broken", "team")
        api.put(JOBS, job("x-2"))
        await heard.until_names("x-1", "x-2")
    assert lists(api) == 1


def deep(name: str) -> bytes:
    """A Job with managedFields nested more deeply than can be read."""
    nested = b'{"f:a":' * 100_000 + b"{}" + b"}" * 100_000
    body = json.dumps(job(name, managedFields=[{"fieldsV1": "HERE"}])).encode()
    return body.replace(b'"HERE"', nested)


async def test_an_event_nested_too_deeply_is_left_out(api: ApiServer, client: Client) -> None:
    async with reflecting(client) as heard:
        await api.until(lambda: api.watches)
        api.say(b'{"type":"ADDED","object":' + deep("broken") + b"}\n")
        api.put(JOBS, job("x-1"))
        await heard.until_names("x-1")
    assert lists(api) == 1


async def test_an_object_nested_too_deeply_is_left_out_of_its_page(
    api: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the managedFields of one tenant's Job would stop everybody's."""
    monkeypatch.setattr(module, "PAGE", 2)
    api.put(JOBS, job("a"))
    api.put(JOBS, job("c"))
    one = json.dumps(api.objects[JOBS]["team", "a"]).encode()
    two = b'{"metadata":{"resourceVersion":"102","continue":"102:1"},"items":['
    api.fail(JOBS, 200, body=two + one + b"," + deep("b") + b"]}")
    api.fail(JOBS, 200, body=two + one + b"]}")
    api.fail(JOBS, 200, body=two + deep("b") + b"]}", page=True)
    async with reflecting(client) as heard:
        await heard.until_names("a", "c")
        await api.until(lambda: api.watches)
    limits = [request.query["limit"] for request in api.asked("GET", JOBS)]
    assert limits[:2] == ["2", "1"]


async def test_a_page_too_large_to_take_is_asked_for_in_smaller_ones(
    api: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "LONGEST", 4000)
    for number in range(6):
        api.put(JOBS, job(f"x-{number}", annotations={"pad": "<" * 1000}))
    async with reflecting(client) as heard:
        await heard.until_names(*(f"x-{number}" for number in range(6)))
        await api.until(lambda: heard.reflector.synced.is_set())


async def test_a_legal_object_may_be_a_line_of_eight_megabytes(
    api: ApiServer, client: Client
) -> None:
    async with reflecting(client) as heard:
        await api.until(lambda: api.watches)
        body = api.put(JOBS, job("quiet", tenant=None))
        body = body | {"metadata": body["metadata"] | job("x-1")["metadata"]}
        event = json.dumps({"type": "ADDED", "object": body | {"pad": "PAD"}}).encode()
        api.say(event.replace(b"PAD", rb"\u003c" * 1_400_000) + b"\n")
        await heard.until_names("x-1")


async def test_a_deleted_job_is_told_with_its_last_state(api: ApiServer, client: Client) -> None:
    api.put(JOBS, job("x-1"))
    async with reflecting(client) as heard:
        await heard.until_names("x-1")
        await api.until(lambda: api.watches)
        stored = api.objects[JOBS]["team", "x-1"]
        stored["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
        api.delete(JOBS, "x-1", "team")
        await heard.until_names()
    assert [job.ended for job in heard.lost] == [True]


async def test_bookmarks_tell_nothing(api: ApiServer, client: Client) -> None:
    with capture_logs() as logs:
        async with reflecting(client) as heard:
            await api.until(lambda: api.watches)
            api.say(bookmark("100"))
            api.put(JOBS, job("x-1"))
            await heard.until_names("x-1")
    assert heard.told == ["+x-1"]
    assert logs == []


async def test_a_job_that_loses_its_tenant_label_is_gone(api: ApiServer, client: Client) -> None:
    api.put(JOBS, job("x-1"))
    async with reflecting(client) as heard:
        await heard.until_names("x-1")
        await api.until(lambda: api.watches)
        api.put(JOBS, job("x-1", tenant=None))
        await heard.until_names()


async def test_others_may_run_between_a_hundred_objects(api: ApiServer, client: Client) -> None:
    for number in range(450):
        api.put(JOBS, job(f"x-{number}"))
    turns: list[int] = []

    async def other() -> None:
        while True:
            turns.append(len(heard.told))
            await asyncio.sleep(0)

    async with reflecting(client) as heard:
        running = asyncio.create_task(other())
        await heard.until(lambda: len(heard.told) == 450)
        await api.until(lambda: api.watches)
        for line in range(450):
            api.put(JOBS, job(f"x-{line}"))
        await heard.until(lambda: len(heard.told) == 900)
        for line in range(450):
            api.objects[JOBS].pop(("team", f"x-{line}"))
        api.end_watches()
        await heard.until_names()
        running.cancel()
    steps = [after - before for before, after in pairwise(turns)]
    assert max(steps) <= 100
    assert len(heard.told) == 1350
