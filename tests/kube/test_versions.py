"""Versions of one kind only rise: a watch that goes back ends, a list that goes back is believed.

Rows 12, 13 and 21 of the fault matrix, as a reflector meets them.
"""

import asyncio
import json
from typing import Any

import msgspec
import pytest

from kwicket.core.jobs import JobSeen
from kwicket.engine.backoff import Backoff
from kwicket.kube import reflector as module
from kwicket.kube import versions
from kwicket.kube.client import Client
from kwicket.kube.cluster import JOBS as KIND
from kwicket.kube.reflector import Reflector, Sink
from support.api_parts import bookmark
from support.api_server import JOBS, ApiServer
from support.reflection import Reflection, job, reflecting


class QuickBackoff(Backoff):
    """Waits a thousandth of the time."""

    def __init__(self, first: float) -> None:
        super().__init__(first / 1000, 0.015)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Backoff", QuickBackoff)


def line(kind: str, body: Any) -> bytes:
    return json.dumps({"type": kind, "object": body}).encode() + b"\n"


def lists(api: ApiServer) -> int:
    return len(api.asked("GET", JOBS))


async def until_listed(api: ApiServer, times: int) -> None:
    """And the next watch is open."""
    await api.until(lambda: lists(api) == len(api.asked("GET", JOBS, watch=True)) == times)


async def until_watched(api: ApiServer, heard: Reflection) -> None:
    await api.until(lambda: api.watches)


async def test_an_event_that_comes_again_ends_the_watch_and_is_not_believed(
    api: ApiServer, client: Client
) -> None:
    """Row 12: it is MODIFIED as it was, after it has changed again."""
    old = api.put(JOBS, job("x-1"))
    async with reflecting(client) as heard:
        await until_watched(api, heard)
        api.put(JOBS, job("x-1") | {"spec": {"suspend": False}})
        await heard.until(lambda: not any(job.suspended for job in heard.jobs.values()))
        told = len(heard.told)
        api.say(line("MODIFIED", old))
        await until_listed(api, 2)
    assert len(heard.told) == told + 1
    assert not any(job.suspended for job in heard.jobs.values())


async def test_a_deleted_job_is_not_made_again_by_an_event_from_before(
    api: ApiServer, client: Client
) -> None:
    """Row 12."""
    old = api.put(JOBS, job("x-1"))
    async with reflecting(client) as heard:
        await until_watched(api, heard)
        api.delete(JOBS, "x-1", "team")
        await heard.until_names()
        api.say(line("ADDED", old))
        await until_listed(api, 2)
    assert heard.told == ["+x-1", "-x-1"]


async def test_events_out_of_order_lose_nothing(api: ApiServer, client: Client) -> None:
    """Row 12: the later one comes first; the list shows both."""
    async with reflecting(client) as heard:
        await until_watched(api, heard)
        first, second = (api.put(JOBS, job(name, tenant=None)) for name in ("x-1", "x-2"))
        for body in (first, second):
            body["metadata"]["labels"] = {"kwicket.dev/tenant": "alice"}
        api.say(line("ADDED", second))
        await heard.until_names("x-2")
        api.say(line("ADDED", first))
        await heard.until_names("x-1", "x-2")
    assert lists(api) == 2


async def test_a_bookmark_counts_as_shown(api: ApiServer, client: Client) -> None:
    async with reflecting(client) as heard:
        await until_watched(api, heard)
        api.say(bookmark("103"))
        api.put(JOBS, job("x-1"))
        await heard.until_names("x-1")
    assert lists(api) == 2


async def test_a_name_used_again_while_nobody_looked_is_another_job(
    api: ApiServer, client: Client
) -> None:
    """Row 13: the watch shows a deletion and a creation as one change of the name."""
    known = api.put(JOBS, job("x-1", uid="one"))["metadata"]
    async with reflecting(client) as heard:
        await until_watched(api, heard)
        again = {"metadata": known | {"uid": "two", "resourceVersion": "150"}}
        changed = job("x-1") | again
        api.objects[JOBS]["team", "x-1"] = changed
        api.say(line("MODIFIED", changed))
        await heard.until(lambda: set(heard.jobs) == {"one", "two"})
        api.end_watches()
        await heard.until(lambda: set(heard.jobs) == {"two"})


async def test_a_list_older_than_what_was_shown_is_told_before_it_is_taken(
    api: ApiServer, client: Client
) -> None:
    """Row 21: etcd was restored from a backup of before the bookmark."""
    api.put(JOBS, job("x-1"))
    told: list[str] = []
    reflector = Reflector(client, KIND)
    sink = Sink[JobSeen](
        lambda job: told.append(f"~{job.name}"),
        lambda job: told.append(f"-{job.name}"),
        lambda job, version: told.append(f"+{job.name} at {version}"),
        lambda: told.append("went back"),
    )
    running = asyncio.create_task(reflector.run(sink))
    await api.until(lambda: api.watches)
    api.say(bookmark("900"))
    api.put(JOBS, job("x-2"))
    await until_listed(api, 2)
    await reflector.relist()
    running.cancel()
    await asyncio.wait([running])
    assert told == [
        "+x-1 at 101",
        "went back",
        "+x-1 at 102",
        "+x-2 at 102",
        "+x-1 at 102",
        "+x-2 at 102",
    ]


@pytest.mark.parametrize(
    ("body", "version"),
    [
        (b'{"metadata":{"resourceVersion":"17"}}', 17),
        (b'{"metadata":{}}', 0),
        (b'{"metadata":{"resourceVersion":"v2"}}', 0),
        (b'{"metadata":{"resourceVersion":7}}', 0),
        (b"null", 0),
        (b'{"a":' * 100_000, 0),
    ],
)
def test_what_says_no_version_that_can_be_compared_has_none(body: bytes, version: int) -> None:
    assert versions.of(msgspec.Raw(body)) == version
