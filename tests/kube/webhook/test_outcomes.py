"""Every request to the webhook counts once, by its path and by what became of it."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from kwicket.kube.certificates import expiry, issue
from kwicket.kube.client import Client
from kwicket.kube.metrics import gauges
from kwicket.kube.metrics.counters import WebhookCounters
from kwicket.kube.webhook import server as module
from kwicket.kube.webhook.caches import Caches
from kwicket.kube.webhook.grantors import Grantors
from kwicket.kube.webhook.paths import Paths
from kwicket.kube.webhook.reviews import Answer
from kwicket.ports.errors import UnavailableError
from support.api_server import NAMESPACES, ApiServer
from support.reviews import HEADERS, certificates, encoded, job, pair, review, serving

Outcomes = dict[tuple[str, str], float]


@pytest.fixture
def tls(tmp_path: Path) -> ssl.SSLContext:
    return certificates(tmp_path).context


@pytest.fixture
async def paths(api: ApiServer, client: Client) -> AsyncIterator[Paths]:
    """The real paths, with caches that know namespace `team` and no Pool."""
    api.put(NAMESPACES, {"metadata": {"name": "team"}})
    caches = Caches(client)
    running = asyncio.create_task(caches.run())
    await asyncio.gather(*(one.synced.wait() for one in caches.reflectors))
    yield Paths(caches, Grantors(client))
    running.cancel()
    await asyncio.wait([running])


def counted(registry: CollectorRegistry) -> Outcomes:
    found: Outcomes = {}
    for family in registry.collect():
        for sample in family.samples:
            if sample.name == "kwicket_webhook_reviews_total":
                found[sample.labels["path"], sample.labels["outcome"]] = sample.value
    return found


async def outcomes(paths: Any, tls: ssl.SSLContext, *requests: tuple[str, bytes]) -> Outcomes:
    """What is counted after these requests, each sent when the one before has its answer."""
    registry = CollectorRegistry()
    counters = WebhookCounters(registry)
    async with serving(paths, tls, counters.reviewed) as client:
        for path, body in requests:
            async with client.post(path, data=body, headers=HEADERS) as answer:
                await answer.read()
    total = sum(
        sample.value
        for family in registry.collect()
        for sample in family.samples
        if sample.name == "kwicket_webhook_review_seconds_count"
    )
    assert total == len(requests)
    return counted(registry)


async def test_each_answer_counts_by_what_it_says(paths: Paths, tls: ssl.SSLContext) -> None:
    nowhere = job()
    nowhere["metadata"]["labels"]["kwicket.dev/pool"] = "nowhere"
    lost = encoded(review(nowhere))
    pool = {"metadata": {"name": "main"}, "spec": {"default": True}}
    assert await outcomes(
        paths.by_path,
        tls,
        ("/mutate-jobs", lost),
        ("/mutate-jobs", lost),
        ("/validate-jobs", lost),
        ("/validate-objects", encoded(review(pool, kind="Pool"))),
        ("/validate-jobs", b"{}"),
    ) == {
        ("/mutate-jobs", "changed"): 2,
        ("/validate-jobs", "refused"): 1,
        ("/validate-objects", "allowed"): 1,
        ("/validate-jobs", "invalid"): 1,
    }


async def test_paths_that_are_not_ours_are_one_and_the_same(
    paths: Paths, tls: ssl.SSLContext
) -> None:
    """However many are tried: a path is the caller's word."""
    tried = [(f"/{number}", b"{}") for number in range(20)]
    assert await outcomes(paths.by_path, tls, *tried) == {("other", "invalid"): 20}


@pytest.mark.parametrize("error", [UnavailableError("no answer"), RuntimeError("a fault")])
async def test_what_fails_inside_counts_as_unanswered(
    tls: ssl.SSLContext, error: Exception
) -> None:
    async def fails(_: bytes) -> Answer:
        raise error

    assert await outcomes({"/": fails}, tls, ("/", b"{}")) == {("/", "unanswered"): 1}


async def test_what_takes_too_long_counts_as_unanswered(
    tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "DEADLINE", 0.02)

    async def never(_: bytes) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError

    assert await outcomes({"/": never}, tls, ("/", b"{}")) == {("/", "unanswered"): 1}


def test_the_end_of_the_certificate_that_is_served_is_shown(tmp_path: Path) -> None:
    served = certificates(tmp_path)
    registry = CollectorRegistry()
    registry.register(gauges.of_certificates(served))
    name = "kwicket_webhook_certificate_expiry_timestamp_seconds"

    def shown() -> datetime:
        value = registry.get_sample_value(name)
        assert value is not None
        return datetime.fromtimestamp(value, UTC)

    before = expiry(pair("old").chain)
    assert shown() == before
    later = issue(("localhost",), datetime.now(UTC) + timedelta(days=7))
    (tmp_path / "tls.crt").write_bytes(later.chain)
    served.reload()
    assert shown() == before
    (tmp_path / "tls.key").write_bytes(later.key)
    served.reload()
    assert shown() == expiry(later.chain) != before


def test_what_is_no_certificate_has_no_end() -> None:
    assert expiry(b"rubbish") is None
