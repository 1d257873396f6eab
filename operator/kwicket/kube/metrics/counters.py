"""Counters and times of what happens in the operator and in the webhook."""

from prometheus_client import CollectorRegistry, Counter, Histogram

from kwicket.kube.metrics.catalogue import (
    CORRECTIONS,
    DECISION,
    GIVEN_BACK,
    GRANT_WAIT,
    GRANTS,
    LEDGER_TIME,
    LEDGER_WRITES,
    REVIEW_TIME,
    REVIEWS,
    STOPPED,
)
from kwicket.kube.webhook.reviews import Outcome
from kwicket.ports.metrics import Write


class OperatorCounters:
    """Implements ports/metrics.py."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._grants = GRANTS.counter(registry)
        self._given_back = GIVEN_BACK.counter(registry)
        self._waits = GRANT_WAIT.histogram(registry)
        self._decisions = DECISION.histogram(registry)
        self._writes = LEDGER_WRITES.counter(registry)
        self._write_times = LEDGER_TIME.histogram(registry)
        self._stopped = STOPPED.counter(registry)
        self._corrections = CORRECTIONS.counter(registry)

    def granted(self, pool: str, lane: str, waited: float | None) -> None:
        """Counts a grant, and its wait if it is the Job's first."""
        self._grants.labels(pool, lane).inc()
        if waited is not None:
            self._waits.labels(pool).observe(max(waited, 0))

    def given_back(self, pool: str) -> None:
        """Counts a grant that was undone."""
        self._given_back.labels(pool).inc()

    def decided(self, seconds: float) -> None:
        """Notes how long a decision took."""
        self._decisions.observe(seconds)

    def committed(self, pool: str, outcome: Write, seconds: float) -> None:
        """Counts a write of a ledger."""
        self._writes.labels(pool, outcome).inc()
        self._write_times.observe(seconds)

    def corrected(self, pool: str, number: int) -> None:
        """Counts what was wrong in a book."""
        self._corrections.labels(pool).inc(number)

    def stopped(self) -> None:
        """Counts a Job that was suspended."""
        self._stopped.inc()


class WebhookCounters:
    """Hears of every review."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._reviews = REVIEWS.counter(registry)
        self._times = REVIEW_TIME.histogram(registry)
        self._known: dict[tuple[str, Outcome], tuple[Counter, Histogram]] = {}
        """Looked up here, since thousands of reviews may come in a second."""

    def reviewed(self, path: str, outcome: Outcome, seconds: float) -> None:
        """Counts a review."""
        known = self._known.get((path, outcome))
        if known is None:
            known = self._reviews.labels(path, outcome), self._times.labels(path)
            self._known[path, outcome] = known
        known[0].inc()
        known[1].observe(seconds)
