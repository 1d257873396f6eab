"""Gauges: metrics that are read when somebody asks, so that none of them outlives its object."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from kwicket.engine.readings import LimitReading, PoolReading, Reading
from kwicket.kube.metrics.catalogue import (
    ASIDE,
    DIFFERING,
    EXPIRY,
    IN_FORCE,
    LEADER,
    LEDGER_UP,
    LIMIT_MAX,
    LIMIT_USED,
    OLDEST,
    REFLECTOR_FAILURES,
    REFLECTOR_SILENCE,
    RUNNING,
    TENANTS,
    WAITING,
    Metric,
)
from kwicket.kube.reflector import Reflector
from kwicket.kube.webhook.certificates import Certificates


class Sample(Struct, frozen=True):
    """A number of a metric, with its labels' values in the metric's order."""

    metric: Metric
    value: float
    labels: Sequence[str] = ()


class Gauges(Collector):
    """Shows these metrics by the samples of one reading."""

    def __init__(self, metrics: Iterable[Metric], read: Callable[[], Iterable[Sample]]) -> None:
        self._metrics = tuple(metrics)
        self._read = read

    def collect(self) -> Iterator[Family]:
        """Called for each scrape."""
        families = {metric.name: metric.family() for metric in self._metrics}
        for sample in self._read():
            families[sample.metric.name].add_metric(sample.labels, sample.value)
        yield from families.values()


def of_engine(read: Callable[[], Reading]) -> Gauges:
    """How the pools stand."""
    shown = (LEADER, IN_FORCE, LEDGER_UP, WAITING, RUNNING, TENANTS, OLDEST, DIFFERING)
    return Gauges((*shown, LIMIT_MAX, LIMIT_USED, ASIDE), lambda: _of_reading(read()))


def of_reflectors(reflectors: Sequence[Reflector[Any, Any]]) -> Gauges:
    """How well the caches are fed."""

    def read() -> Iterator[Sample]:
        now = time.monotonic()
        for one in reflectors:
            yield Sample(REFLECTOR_FAILURES, one.failures, (one.kind,))
            yield Sample(REFLECTOR_SILENCE, now - one.heard_at, (one.kind,))

    return Gauges((REFLECTOR_FAILURES, REFLECTOR_SILENCE), read)


def of_certificates(certificates: Certificates) -> Gauges:
    """Until when the webhook can serve."""

    def read() -> Iterator[Sample]:
        expires = certificates.expires
        if expires is not None:
            yield Sample(EXPIRY, expires.timestamp())

    return Gauges((EXPIRY,), read)


def _of_reading(reading: Reading) -> Iterator[Sample]:
    yield Sample(LEADER, reading.leads)
    yield Sample(IN_FORCE, reading.in_force)
    for reason, number in reading.asides.items():
        yield Sample(ASIDE, number, (reason,))
    for pool in reading.pools:
        yield from _of_pool(pool)
        for limit in pool.limits:
            yield from _of_limit(pool.name, limit)


def _of_pool(pool: PoolReading) -> Iterator[Sample]:
    for metric, by_lane in ((WAITING, pool.waiting), (RUNNING, pool.running)):
        for lane, number in by_lane.items():
            yield Sample(metric, number, (pool.name, lane))
    yield Sample(LEDGER_UP, pool.ledger, (pool.name,))
    yield Sample(TENANTS, pool.tenants, (pool.name,))
    yield Sample(OLDEST, pool.oldest, (pool.name,))
    yield Sample(DIFFERING, pool.differing, (pool.name,))


def _of_limit(pool: str, limit: LimitReading) -> Iterator[Sample]:
    labels = (pool, limit.lane, limit.name, limit.unit)
    yield Sample(LIMIT_MAX, limit.most, labels)
    if limit.used is not None:
        yield Sample(LIMIT_USED, limit.used, labels)
