"""kopf in its thread: its news come in our loop, it starts again when it ends, and it stops."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import kopf
import pytest
from kubernetes_asyncio.client import Configuration

from kwicket.kube import watching as module
from kwicket.kube.access import Access
from kwicket.kube.watching import Watching
from support.api_server import LANES, LIMITS, POOLS, ApiServer
from support.hints import Hints
from support.news import News


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """kopf's own loggers are left as they were."""
    logger = logging.getLogger("kopf")
    level = logger.level
    yield
    logger.setLevel(level)


@pytest.fixture
def hints() -> Hints:
    return Hints()


@asynccontextmanager
async def watching(configuration: Configuration, hints: Hints) -> AsyncIterator[Watching]:
    """Watches; afterwards the thread must end soon."""
    made = Watching(Access(configuration), hints.seen, hints.gone, hints.served)
    async with hints.following(made):
        yield made


async def test_what_exists_changes_and_goes_is_told_in_our_loop(
    api: ApiServer, configuration: Configuration, hints: Hints
) -> None:
    api.put(POOLS, {"metadata": {"name": "gpu"}, "spec": {}})
    api.put(LANES, {"metadata": {"name": "train"}, "spec": {"pool": "gpu"}})
    async with watching(configuration, hints):
        await hints.until(lambda: len(hints.told) == 2)
        await api.until(lambda: api.watches == 3)
        api.put(LIMITS, {"metadata": {"name": "eight"}, "spec": {}})
        await hints.until(lambda: hints.told[-1] == ("seen", "Limit", "eight"))
        api.delete(POOLS, "gpu")
        await hints.until(lambda: hints.told[-1] == ("gone", "Pool", "gpu"))
    assert hints.threads == {threading.main_thread()}
    written = {request.method for request in api.requests} - {"GET"}
    assert written == set()


async def test_a_user_without_a_name_is_told_too(
    api: ApiServer, configuration: Configuration, hints: Hints, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container's user need not be in /etc/passwd."""

    def unknown() -> str:
        raise OSError("No username set in the environment")

    monkeypatch.setattr("getpass.getuser", unknown)
    api.put(POOLS, {"metadata": {"name": "gpu"}, "spec": {}})
    async with watching(configuration, hints):
        await hints.until(lambda: hints.told == [("seen", "Pool", "gpu")])


async def test_a_hint_that_breaks_something_ends_no_other(
    api: ApiServer, configuration: Configuration, hints: Hints
) -> None:
    errors: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: errors.append(repr(context["exception"])))
    api.put(POOLS, {"metadata": {"name": "gpu"}, "spec": {}})
    hints.broken = True
    async with watching(configuration, hints):
        await hints.until(lambda: hints.told)
        await api.until(lambda: api.watches == 3)
        api.put(POOLS, {"metadata": {"name": "cpu"}, "spec": {}})
        await hints.until(lambda: ("seen", "Pool", "cpu") in hints.told)
    loop.set_exception_handler(None)
    assert errors == ["ValueError('a hint that breaks something')"] * 2


async def test_nobody_at_the_address_keeps_nobody_from_stopping(hints: Hints) -> None:
    async with watching(Configuration(host="http://127.0.0.1:1"), hints):
        pass
    assert hints.told == []


class Kopf(News):
    """Stands in for kopf.operator: it ends in the given ways, one after the other, then runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *ends: BaseException | None) -> None:
        super().__init__()
        self.lives: list[Mapping[str, Any]] = []
        self.loop = asyncio.get_running_loop()
        self._ends = iter(ends)
        monkeypatch.setattr(kopf, "operator", self._operator)

    async def _operator(self, **settings: Any) -> None:
        self.lives.append(settings)
        self.loop.call_soon_threadsafe(self.stir)
        for end in self._ends:
            if end is None:
                return
            raise end
        await settings["stop_flag"].wait()


async def test_kopf_starts_again_however_it_ended(
    configuration: Configuration, hints: Hints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "AGAIN", 0)
    fake = Kopf(monkeypatch, RuntimeError("watch"), None, asyncio.CancelledError(), OSError("x"))
    async with watching(configuration, hints):
        await fake.until(lambda: len(fake.lives) == 5)


async def test_kopf_begins_each_time_only_once_its_kinds_are_served(
    configuration: Configuration, hints: Hints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "AGAIN", 0)
    fake = Kopf(monkeypatch, RuntimeError("404"))
    hints.is_served.clear()
    async with watching(configuration, hints):
        await hints.until(lambda: hints.asked == 1)
        assert fake.lives == []
        hints.is_served.set()
        await fake.until(lambda: len(fake.lives) == 2)
    assert hints.asked == 2


async def test_kopf_begins_anew_when_it_is_told_to(
    configuration: Configuration, hints: Hints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "AGAIN", 0)
    fake = Kopf(monkeypatch)
    async with watching(configuration, hints) as made:
        await fake.until(lambda: len(fake.lives) == 1)
        made.renew()
        await fake.until(lambda: len(fake.lives) == 2)
    assert hints.asked == 2


async def test_it_may_be_stopped_while_its_kinds_are_not_served(
    configuration: Configuration, hints: Hints, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Kopf(monkeypatch)
    hints.is_served.clear()
    async with watching(configuration, hints):
        await hints.until(lambda: hints.asked == 1)
    assert fake.lives == []


async def test_kopf_waits_for_no_thread_and_touches_nothing_but_what_is_declared(
    configuration: Configuration, hints: Hints, monkeypatch: pytest.MonkeyPatch
) -> None:
    """asyncio would wait for such a thread for five minutes before kopf could start again."""
    fake = Kopf(monkeypatch)
    async with watching(configuration, hints):
        await fake.until(lambda: fake.lives)
    [life] = fake.lives
    settings = life["settings"]
    assert isinstance(life["stop_flag"], asyncio.Event)
    assert life["clusterwide"]
    assert life["standalone"]
    assert settings.peering.standalone
    assert not settings.posting.enabled
    assert settings.process.ultimate_exiting_timeout is None
    handlers = life["registry"]._watching.get_all_handlers()
    selectors = [(h.selector.group, h.selector.version, h.selector.any_name) for h in handlers]
    assert selectors == [
        ("kwicket.dev", "v1alpha1", plural) for plural in ("pools", "lanes", "limits")
    ]


async def test_stopping_does_not_wait_until_kopf_would_start_again(
    configuration: Configuration, hints: Hints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "AGAIN", 3600)
    fake = Kopf(monkeypatch, RuntimeError("watch"))
    async with watching(configuration, hints):
        await fake.until(lambda: fake.lives)


async def test_it_may_be_stopped_before_kopf_has_begun_and_twice(
    configuration: Configuration, hints: Hints, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Kopf(monkeypatch)
    async with watching(configuration, hints) as made:
        made.stop()
        made.stop()
    made.stop()
    assert len(fake.lives) <= 1


def test_news_after_the_end_of_our_loop_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    async def make() -> Watching:
        access = Access(Configuration(host="http://127.0.0.1:1"))
        seen, gone = (lambda kind, _: told.append(kind)), (lambda kind, _: None)
        return Watching(access, seen, gone, Hints().served)

    made = asyncio.run(make())
    made._call(made._seen, "Pool", {})
    made.stop()
    made._call(made._seen, "Pool", {})
    assert told == []


async def test_kopf_says_who_we_are_with_the_token_of_the_moment(
    api: ApiServer, hints: Hints
) -> None:
    configuration = Configuration(host=api.url, api_key={"BearerToken": "Bearer secret"})
    async with watching(configuration, hints):
        await api.until(lambda: api.watches == 3)
    assert {request.headers["Authorization"] for request in api.requests} == {"Bearer secret"}
