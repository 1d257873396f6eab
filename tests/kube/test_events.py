"""Events on Jobs: few, in time, the same again is no second one, and nothing stops the writer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from kwicket.core.reasons import Reason
from kwicket.kube import client as client_module
from kwicket.kube import events as module
from kwicket.kube.client import Client
from kwicket.kube.events import Events
from kwicket.ports.notices import Notice
from support.api_parts import DROPS, HANGS
from support.api_server import EVENTS, ApiServer
from support.builders import job_seen

PATH = "/apis/events.k8s.io/v1/namespaces/team/events"


def notice(name: str = "x-1", reason: Reason = Reason.QUEUED, **fields: Any) -> Notice:
    defaults: dict[str, Any] = {"sentence": f"{name} is told of", "key": "1"}
    return Notice(job_seen(name), reason, **(defaults | fields))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0)


@asynccontextmanager
async def writing(client: Client) -> AsyncIterator[Events]:
    """Events with their writer, which must not end by itself."""
    events = Events(client, "kwicket-0")
    running = asyncio.create_task(events.run())
    try:
        yield events
    finally:
        assert not running.done()
        running.cancel()
        await asyncio.wait([running])


def notes(api: ApiServer) -> list[str]:
    return [event["note"] for event in api.objects[EVENTS].values()]


def has_been_asked(api: ApiServer, times: int) -> bool:
    return len(api.requests) == times


async def test_an_event_says_what_why_and_of_which_job(api: ApiServer, client: Client) -> None:
    async with writing(client) as events:
        events.tell(notice(reason=Reason.TOO_WIDE, warning=True))
        await api.until(lambda: notes(api))
    [event] = api.objects[EVENTS].values()
    assert event["metadata"]["namespace"] == "team"
    assert (event["type"], event["reason"], event["action"]) == ("Warning", "TooWide", "Admit")
    assert event["note"] == "x-1 is told of"
    assert event["reportingController"] == "kwicket.dev/operator"
    assert event["reportingInstance"] == "kwicket-0"
    assert event["regarding"] == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "namespace": "team",
        "name": "x-1",
        "uid": "x-1",
    }
    assert event["eventTime"].endswith("Z")
    assert datetime.fromisoformat(event["eventTime"]).microsecond >= 0
    [request] = api.requests
    assert request.path == PATH


async def test_the_same_notice_again_is_the_same_event(api: ApiServer, client: Client) -> None:
    for written in (2, 4):  # as before and after a restart
        async with writing(client) as events:
            events.tell(notice())
            events.tell(notice("x-2"))
            await api.until(partial(has_been_asked, api, written))
    assert notes(api) == ["x-1 is told of", "x-2 is told of"]


async def test_another_reason_key_or_submission_is_another_event(
    api: ApiServer, client: Client
) -> None:
    others = [
        notice(),
        notice(key="2"),
        notice(reason=Reason.TOO_WIDE),
        Notice(job_seen("x-1", uid="again"), Reason.QUEUED, "again", key="1"),
    ]
    async with writing(client) as events:
        for number, other in enumerate(others):
            events.tell(other)
            await api.until(partial(has_been_asked, api, number + 1))
    assert len(notes(api)) == len(others)


async def test_a_grant_replaces_the_notice_that_its_job_is_queued(
    api: ApiServer, client: Client
) -> None:
    events = Events(client, "kwicket-0")
    events.tell(notice("x-1"))
    events.tell(notice("x-2"))
    events.tell(notice("x-1", Reason.GRANTED, sentence="x-1 has started"))
    running = asyncio.create_task(events.run())
    await api.until(lambda: len(notes(api)) == 2)
    running.cancel()
    assert notes(api) == ["x-2 is told of", "x-1 has started"]


async def test_of_two_notices_with_one_reason_the_later_is_told(
    api: ApiServer, client: Client
) -> None:
    events = Events(client, "kwicket-0")
    events.tell(notice(sentence="position 9", key="9"))
    events.tell(notice(sentence="position 1", key="1"))
    running = asyncio.create_task(events.run())
    await api.until(lambda: notes(api))
    running.cancel()
    assert notes(api) == ["position 1"]


async def test_of_too_many_the_oldest_is_dropped_but_what_is_known_is_kept_current(
    api: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 2)
    events = Events(client, "kwicket-0")
    for name in ("x-1", "x-2", "x-3"):
        events.tell(notice(name))
    events.tell(notice("x-2", sentence="x-2 once more"))
    with capture_logs() as logs:
        running = asyncio.create_task(events.run())
        await api.until(lambda: len(notes(api)) == 2)
    events.tell(notice("x-4"))
    await api.until(lambda: len(notes(api)) == 3)
    running.cancel()
    assert notes(api) == ["x-2 once more", "x-3 is told of", "x-4 is told of"]
    assert [line["number"] for line in logs] == [1]


async def test_warnings_go_first_and_then_the_others_in_their_order(
    api: ApiServer, client: Client
) -> None:
    events = Events(client, "kwicket-0")
    events.tell(notice("x-1"))
    events.tell(notice("x-2", Reason.GRANTED))
    events.tell(notice("x-3", Reason.DENIED, warning=True))
    events.tell(notice("x-4", Reason.TOO_WIDE, warning=True))
    running = asyncio.create_task(events.run())
    await api.until(lambda: len(notes(api)) == 4)
    running.cancel()
    assert notes(api) == [f"x-{number} is told of" for number in (3, 4, 1, 2)]


@pytest.mark.parametrize(
    ("told", "written"),
    [
        ("n1 n2 w3", "w3 n2"),
        ("w1 n2 n3", "w1 n3"),
        ("w1 w2 n3", "w1 w2"),
        ("w1 w2 w3", "w2 w3"),
    ],
)
async def test_a_warning_is_dropped_only_if_all_are_warnings(
    api: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch, told: str, written: str
) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 2)
    events = Events(client, "kwicket-0")
    for name in told.split():
        events.tell(notice(name, sentence=name, warning=name.startswith("w")))
    running = asyncio.create_task(events.run())
    await api.until(lambda: len(notes(api)) == 2)
    running.cancel()
    assert notes(api) == written.split()


@pytest.mark.parametrize("status", [401, 403, 404, 409, 422, 429, 500, 503, HANGS, DROPS])
async def test_an_event_that_cannot_be_written_stops_no_other(
    api: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    if status == HANGS:
        monkeypatch.setattr(client_module, "DEADLINE", 0.05)
    api.fail(PATH, status, method="POST")
    async with writing(client) as events:
        events.tell(notice("x-1"))
        events.tell(notice("x-2"))
        await api.until(lambda: notes(api))
    assert notes(api) == ["x-2 is told of"]


async def test_an_answer_that_is_no_json_stops_nothing(api: ApiServer, client: Client) -> None:
    api.fail(PATH, 201, method="POST", body=b"<html>")
    async with writing(client) as events:
        events.tell(notice("x-1"))
        events.tell(notice("x-2"))
        await api.until(lambda: notes(api))


@pytest.mark.parametrize("letter", ["x", "\u2026", "\U0001f600"])
async def test_a_note_is_cut_to_what_the_api_server_takes(
    api: ApiServer, client: Client, letter: str
) -> None:
    async with writing(client) as events:
        events.tell(notice(sentence=letter * 5000))
        await api.until(lambda: notes(api))
    [note] = notes(api)
    assert 996 < len(note.encode()) <= 1000
    assert set(note) == {letter}


@pytest.mark.parametrize("name", ["x", "x" * 63, "x" * 253, "x" * 199 + "-" * 10 + "x", "a.b-c"])
async def test_the_name_of_an_event_is_valid_however_long_the_jobs_is(
    api: ApiServer, client: Client, name: str
) -> None:
    async with writing(client) as events:
        events.tell(notice(name))
        await api.until(lambda: notes(api))
    [(_, made)] = api.objects[EVENTS]
    assert len(made) <= 253
    for label in made.split("."):
        assert label.strip("-") == label
        assert label


async def test_a_busy_api_server_is_left_to_what_the_events_tell_of(
    api: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 9)
    ticks = iter(float(second) for second in range(100))
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    pauses: list[float] = []
    rest = asyncio.Event()

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        await rest.wait()

    monkeypatch.setattr(module, "asyncio", SimpleNamespace(Event=asyncio.Event, sleep=sleep))
    events = Events(client, "kwicket-0")
    events.tell(notice("x-1"))
    events.tell(notice("x-2"))
    running = asyncio.create_task(events.run())
    await api.until(lambda: notes(api))
    rest.set()
    await api.until(lambda: len(notes(api)) == 2)
    running.cancel()
    assert pauses[0] == 9
