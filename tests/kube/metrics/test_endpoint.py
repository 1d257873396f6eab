"""The endpoint answers in Prometheus' format, and shows what feeds the caches."""

import asyncio
import socket
import time
from importlib.metadata import version

import aiohttp
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from kwicket.kube.client import Client
from kwicket.kube.metrics import gauges
from kwicket.kube.metrics.catalogue import LEADER
from kwicket.kube.metrics.counters import OperatorCounters, WebhookCounters
from kwicket.kube.metrics.endpoint import Endpoint, new_registry
from kwicket.kube.webhook.reviews import Outcome
from support.api_server import JOBS, ApiServer
from support.reflection import job, reflecting


async def scraped(registry: CollectorRegistry, path: str = "/metrics") -> tuple[int, str, str]:
    async with (
        Endpoint("127.0.0.1:0", registry) as endpoint,
        aiohttp.ClientSession(f"http://127.0.0.1:{endpoint.port}") as session,
        session.get(path) as answer,
    ):
        return answer.status, answer.headers["Content-Type"], await answer.text()


async def test_it_answers_in_the_text_format_and_nothing_else_is_there() -> None:
    status, kind, text = await scraped(new_registry())
    assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    families = {family.name: family for family in text_string_to_metric_families(text)}
    [build] = families["kwicket_build_info"].samples
    assert (build.labels, build.value) == ({"version": version("kwicket")}, 1)
    assert all(name.startswith(("kwicket_", "process_")) for name in families)
    assert "process_resident_memory_bytes" in families
    assert (await scraped(new_registry(), "/"))[0] == 404


async def test_the_books_are_read_once_a_second_however_many_ask() -> None:
    readings: list[int] = []

    def read() -> list[gauges.Sample]:
        readings.append(1)
        return []

    registry = CollectorRegistry()
    registry.register(gauges.Gauges((LEADER,), read))
    readings.clear()
    async with Endpoint("127.0.0.1:0", registry) as endpoint:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        answered = await pipelined(endpoint, 500)
        seconds = int(loop.time() - begun) + 1
        assert answered.count(b"HTTP/1.1 200 OK") == 500
        assert len(readings) <= seconds


async def test_others_run_between_two_requests_of_a_connection() -> None:
    ran = 0

    async def others() -> None:
        nonlocal ran
        while True:
            await asyncio.sleep(0)
            ran += 1

    async with Endpoint("127.0.0.1:0", CollectorRegistry()) as endpoint:
        running = asyncio.create_task(others())
        answered = await pipelined(endpoint, 500)
        running.cancel()
        assert answered.count(b"HTTP/1.1 200 OK") == 500
        assert ran >= 500


async def pipelined(endpoint: Endpoint, number: int) -> bytes:
    """All that is answered to so many requests that come at once; the last closes the line."""
    assert endpoint.port is not None
    reader, writer = await asyncio.open_connection("127.0.0.1", endpoint.port)
    request = b"GET /metrics HTTP/1.1\r\nHost: x\r\n"
    writer.write((request + b"\r\n") * (number - 1) + request + b"Connection: close\r\n\r\n")
    answered = await reader.read()
    writer.close()
    return answered


async def test_without_an_address_it_listens_nowhere() -> None:
    async with Endpoint(None, new_registry()) as endpoint:
        assert endpoint.port is None


async def test_an_address_that_is_taken_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        endpoint = Endpoint(f"127.0.0.1:{server.getsockname()[1]}", new_registry())
        with pytest.raises(OSError, match="address already in use"):
            await endpoint.__aenter__()


async def test_a_counter_has_no_second_series_that_says_when_it_began() -> None:
    registry = new_registry()
    OperatorCounters(registry).stopped()
    WebhookCounters(registry).reviewed("/mutate-jobs", Outcome.CHANGED, 0.002)
    _, _, text = await scraped(registry)
    assert "kwicket_strays_stopped_total 1.0" in text
    assert 'reviews_total{outcome="changed",path="/mutate-jobs"} 1.0' in text
    assert 'review_seconds_bucket{le="0.0025",path="/mutate-jobs"} 1.0' in text
    assert "_created" not in text


async def test_failed_lists_and_the_time_since_a_word_are_shown_by_kind(
    api: ApiServer, client: Client
) -> None:
    registry = CollectorRegistry()
    labels = {"resource": "jobs"}
    api.put(JOBS, job("x-1"))
    api.fail(JOBS, 503)
    async with reflecting(client) as heard:
        registry.register(gauges.of_reflectors([heard.reflector]))
        await heard.until_names("x-1")
        assert registry.get_sample_value("kwicket_reflector_failures_total", labels) == 1
        heard.reflector.heard_at = time.monotonic() - 90
        before = registry.get_sample_value("kwicket_reflector_silence_seconds", labels)
        api.put(JOBS, job("x-2"))
        await heard.until_names("x-1", "x-2")
        after = registry.get_sample_value("kwicket_reflector_silence_seconds", labels)
    assert before is not None
    assert after is not None
    assert before >= 90 > after
