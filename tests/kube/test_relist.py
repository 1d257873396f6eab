"""Lists on demand: who asks gets a list that began after the question."""

import asyncio

import pytest

from kwicket.kube.client import Client
from kwicket.ports.errors import UnavailableError
from support.api_parts import HANGS, bookmark
from support.api_server import JOBS, ApiServer
from support.reflection import job, reflecting


async def test_a_list_that_was_asked_for_has_begun_after_the_question(
    api: ApiServer, client: Client
) -> None:
    async with reflecting(client) as heard:
        await api.until(lambda: api.watches)
        lists = len(api.asked("GET", JOBS))
        await heard.reflector.relist()
        assert len(api.asked("GET", JOBS)) == lists + 1
        await api.until(lambda: len(api.asked("GET", JOBS, watch=True)) == 2)
        api.put(JOBS, job("x-1"))
        await heard.until_names("x-1")
        assert len(api.asked("GET", JOBS)) == lists + 1


async def test_what_happened_unseen_before_the_question_is_known_after_it(
    api: ApiServer, client: Client
) -> None:
    api.put(JOBS, job("x-1"))
    async with reflecting(client) as heard:
        await heard.until_names("x-1")
        await api.until(lambda: api.watches)
        api.objects[JOBS].clear()
        await heard.reflector.relist()
        assert heard.names == []


async def test_who_ask_at_once_share_a_list(api: ApiServer, client: Client) -> None:
    async with reflecting(client) as heard:
        await api.until(lambda: api.watches)
        lists = len(api.asked("GET", JOBS))
        await asyncio.gather(*(heard.reflector.relist() for _ in range(9)))
        assert len(api.asked("GET", JOBS)) == lists + 1


async def test_a_list_under_way_does_not_answer_a_question_asked_meanwhile(
    api: ApiServer, client: Client
) -> None:
    answered = asyncio.Event()
    slow = api.fail(JOBS, until=answered)
    async with reflecting(client) as heard:
        await api.until(lambda: slow.times == 0)
        api.put(JOBS, job("x-1"))
        api.fail(JOBS, HANGS, watch=True)
        asking = asyncio.create_task(heard.reflector.relist())
        await asyncio.sleep(0)
        answered.set()
        await asking
        assert heard.names == ["x-1"]
    assert len(api.asked("GET", JOBS)) == 2


async def test_a_question_asked_before_the_start_is_answered_by_the_first_list(
    api: ApiServer, client: Client
) -> None:
    async with reflecting(client) as heard:
        await heard.reflector.relist()
        await api.until(lambda: api.watches)
    assert len(api.asked("GET", JOBS)) == 1


async def test_who_asks_is_told_that_the_list_has_failed_and_may_ask_again(
    api: ApiServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Row 18: else a pool that is taken over would wait for ever, and say nothing."""
    monkeypatch.setattr("kwicket.engine.backoff.random.random", lambda: -1.45)
    async with reflecting(client) as heard:
        await api.until(lambda: api.watches)
        api.fail(JOBS, 403)
        api.put(JOBS, job("x-1"))
        with pytest.raises(UnavailableError, match=f"list {JOBS}: as scripted"):
            await heard.reflector.relist()
        await heard.reflector.relist()
        assert heard.names == ["x-1"]


async def test_who_gives_up_waiting_spoils_it_for_nobody(api: ApiServer, client: Client) -> None:
    async with reflecting(client) as heard:
        await api.until(lambda: api.watches)
        one = asyncio.create_task(heard.reflector.relist())
        other = asyncio.create_task(heard.reflector.relist())
        await asyncio.sleep(0)
        one.cancel()
        await other
        await heard.reflector.relist()
    assert one.cancelled()


async def test_what_is_listed_again_as_it_was_is_not_read_again(
    api: ApiServer, client: Client
) -> None:
    api.put(JOBS, job("x-1"))
    api.put(JOBS, job("x-2"))
    async with reflecting(client) as heard:
        await heard.until_names("x-1", "x-2")
        before = dict(heard.jobs)
        changed = api.put(JOBS, job("x-2") | {"spec": {"suspend": False}})
        await heard.reflector.relist()
        same = {uid for uid, known in before.items() if heard.jobs[uid] is known}
        assert same == before.keys() - {changed["metadata"]["uid"]}
        assert not heard.jobs[changed["metadata"]["uid"]].suspended


async def test_in_another_life_of_the_cluster_a_version_that_is_known_says_nothing(
    api: ApiServer, client: Client
) -> None:
    """Row 21: after a restore, other objects may be at the versions that were shown before."""
    stored = api.put(JOBS, job("x-1"))
    async with reflecting(client) as heard:
        await heard.until_names("x-1")
        await api.until(lambda: api.watches)
        api.say(bookmark("900"))
        stored["spec"]["suspend"] = False
        api.put(JOBS, job("x-2"))
        await heard.until_names("x-1", "x-2")
        assert not heard.jobs[stored["metadata"]["uid"]].suspended
