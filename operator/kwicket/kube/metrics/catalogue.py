"""The catalogue: every metric by name, with its labels and what it says. docs/metrics.md equals it.

A label's values are an administrator's names or from a closed list, never a tenant's words.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

type Kind = Literal["counter", "gauge", "histogram"]

SHORT = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25)
"""Seconds, for what is over within milliseconds."""
LONG = tuple(float(2**power) for power in range(18))
"""Seconds, for waits: up to a day and a half."""
ANSWERS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds, for answers that cross the network."""


class Metric(Struct, frozen=True):
    """One metric. Counters have the ending `_total`, as Prometheus shows them."""

    kind: Kind
    name: str
    says: str
    labels: tuple[str, ...] = ()
    buckets: Sequence[float] = ()

    def counter(self, registry: CollectorRegistry) -> Counter:
        """The counter, to be counted up."""
        return Counter(self.name, self.says, self.labels, registry=registry)

    def histogram(self, registry: CollectorRegistry) -> Histogram:
        """The histogram, to be told what took how long."""
        labels, buckets = self.labels, self.buckets
        return Histogram(self.name, self.says, labels, buckets=buckets, registry=registry)

    def family(self) -> GaugeMetricFamily | CounterMetricFamily:
        """A gauge, or a counter that is counted elsewhere, to be filled when it is asked for."""
        if self.kind == "counter":
            return CounterMetricFamily(self.name, self.says, labels=self.labels)
        return GaugeMetricFamily(self.name, self.says, labels=self.labels)


BUILD = Metric("gauge", "kwicket_build_info", "Always 1; the version that runs.", ("version",))
REFLECTOR_FAILURES = Metric(
    "counter",
    "kwicket_reflector_failures_total",
    "Lists and watches that failed, after each of which all objects of the kind were listed again.",
    ("resource",),
)
REFLECTOR_SILENCE = Metric(
    "gauge",
    "kwicket_reflector_silence_seconds",
    "Since the API server last said anything of the kind; it does so about once a minute.",
    ("resource",),
)
COMMON = (BUILD, REFLECTOR_FAILURES, REFLECTOR_SILENCE)

LEADER = Metric("gauge", "kwicket_leader", "1 if this replica leads, else 0.")
IN_FORCE = Metric(
    "gauge",
    "kwicket_policies_in_force",
    "1 if the policies are as the chart has them, as this replica last read them. At 0 nothing is"
    " granted.",
)
LEDGER_UP = Metric(
    "gauge",
    "kwicket_ledger_up",
    "1 if the pool's ledger can be read and written. At 0 nothing is granted in the pool.",
    ("pool",),
)
WAITING = Metric(
    "gauge",
    "kwicket_waiting_jobs",
    "Jobs in line, held ones included. Those without a lane have an empty one.",
    ("pool", "lane"),
)
RUNNING = Metric("gauge", "kwicket_running_jobs", "Jobs that hold a slot.", ("pool", "lane"))
TENANTS = Metric("gauge", "kwicket_waiting_tenants", "Tenants with a Job in line.", ("pool",))
OLDEST = Metric(
    "gauge",
    "kwicket_oldest_wait_seconds",
    "Age of the oldest Job in line that its author does not hold; 0 if there is none.",
    ("pool",),
)
DIFFERING = Metric(
    "gauge",
    "kwicket_differing_clusters",
    "Other clusters that share the pool and declare its priority, fairness or Limits otherwise.",
    ("pool",),
)
LIMIT_MAX = Metric(
    "gauge",
    "kwicket_limit_max",
    "What a limit admits, in its unit: jobs, pods, or starts in its window. A limit with the count"
    " EachTenant admits so much for each.",
    ("pool", "lane", "limit", "unit"),
)
LIMIT_USED = Metric(
    "gauge",
    "kwicket_limit_used",
    "What is used of a limit that counts all tenants together, room that is kept included.",
    ("pool", "lane", "limit", "unit"),
)
ASIDE = Metric(
    "gauge",
    "kwicket_set_aside_jobs",
    "Jobs in no line, by the reason in their event.",
    ("reason",),
)
GRANTS = Metric(
    "counter",
    "kwicket_grants_total",
    "Grants that the ledger has, those included that are given back later.",
    ("pool", "lane"),
)
GIVEN_BACK = Metric(
    "counter",
    "kwicket_grants_given_back_total",
    "Grants that never reached their Jobs, and were undone.",
    ("pool",),
)
GRANT_WAIT = Metric(
    "histogram",
    "kwicket_grant_wait_seconds",
    "From a Job's creation to its first grant.",
    ("pool",),
    LONG,
)
DECISION = Metric(
    "histogram",
    "kwicket_decision_seconds",
    "One decision, of up to 16 grants or of none.",
    buckets=SHORT,
)
LEDGER_WRITES = Metric(
    "counter",
    "kwicket_ledger_writes_total",
    "Writes of the pool's ledger: written, conflict (somebody else had written) or unanswered.",
    ("pool", "outcome"),
)
LEDGER_TIME = Metric(
    "histogram",
    "kwicket_ledger_write_seconds",
    "One write of a ledger, whatever became of it.",
    buckets=ANSWERS,
)
STOPPED = Metric(
    "counter",
    "kwicket_strays_stopped_total",
    "Jobs that ran without a grant and were suspended.",
)
CORRECTIONS = Metric(
    "counter",
    "kwicket_book_corrections_total",
    "Figures and places in the pool's book that were wrong, and were set right.",
    ("pool",),
)
OPERATOR = (
    *(LEADER, IN_FORCE, LEDGER_UP, WAITING, RUNNING, TENANTS, OLDEST, DIFFERING),
    *(LIMIT_MAX, LIMIT_USED, ASIDE),
    *(GRANTS, GIVEN_BACK, GRANT_WAIT, DECISION, LEDGER_WRITES, LEDGER_TIME, STOPPED, CORRECTIONS),
)

REVIEWS = Metric(
    "counter",
    "kwicket_webhook_reviews_total",
    "Reviews: allowed, changed, refused, invalid (no review; HTTP 4xx) or unanswered (the"
    " failurePolicy decided).",
    ("path", "outcome"),
)
REVIEW_TIME = Metric(
    "histogram",
    "kwicket_webhook_review_seconds",
    "From a review's first bytes to its answer.",
    ("path",),
    ANSWERS,
)
EXPIRY = Metric(
    "gauge",
    "kwicket_webhook_certificate_expiry_timestamp_seconds",
    "When the certificate that is served ends, in seconds since 1970.",
)
WEBHOOK = (REVIEWS, REVIEW_TIME, EXPIRY)
