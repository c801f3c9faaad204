"""What `/metrics` shows, in Prometheus' text format.

The counts are plain Python numbers, since one event loop does all the counting; they become
metrics when somebody asks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from loom.app.activity import Activity
from loom.app.errors import ERRORS
from loom.app.query_embeddings import OUTCOMES, QueryEmbeddings
from loom.app.work import NO_WORK, Work
from loom.gateway import Pool

CONTENT_TYPE: Final = b"text/plain; version=0.0.4; charset=utf-8"

# Seconds. The last bucket counts everything.
BOUNDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)

# The label of a request that names no operation: what a caller types must not make new series.
NO_OPERATION: Final = "-"

REFUSALS: Final = frozenset(error.code for error in ERRORS if error.status < 500)


class Tally:
    """Counts requests: by operation and code, and how long they took."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str]] = Counter()
        self._buckets: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def add(self, op: str, code: str, seconds: float) -> None:
        """Count one request; `code` is `OK` or the error's."""
        self.requests[op, code] += 1
        buckets = self._buckets.get(op)
        if buckets is None:
            buckets = self._buckets[op] = [0] * (len(BOUNDS) + 1)
            self._sums[op] = 0.0
        buckets[bisect_left(BOUNDS, seconds)] += 1
        self._sums[op] += seconds

    def times(self) -> Iterator[tuple[str, list[tuple[str, float]], float]]:
        """Each operation with its cumulative buckets (upper bound, count) and sum of seconds."""
        for op, buckets in self._buckets.items():
            total = 0
            cumulative: list[tuple[str, float]] = []
            for bound, count in zip((*map(str, BOUNDS), "+Inf"), buckets, strict=True):
                total += count
                cumulative.append((bound, total))
            yield op, cumulative, self._sums[op]


class Metrics(Collector):
    """Turns the tally and the numbers of pool, activity, queries and database into metrics."""

    def __init__(
        self, tally: Tally, pool: Pool, activity: Activity, queries: QueryEmbeddings
    ) -> None:
        self._tally = tally
        self._pool = pool
        self._activity = activity
        self._queries = queries
        self._work: Work | None = NO_WORK
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def text(self, work: Work | None) -> bytes:
        """The page. Without `work`, from a database that does not answer, it lacks that."""
        self._work = work
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Called by the registry for each page."""
        yield from self._requests()
        yield from self._connections()
        yield from self._reads()
        yield from self._searches()
        if self._work is not None:
            yield from _work(self._work)

    def _requests(self) -> Iterator[Metric]:
        requests = CounterMetricFamily(
            "loom_requests", "Requests answered, by operation and code.", labels=("op", "code")
        )
        refusals = CounterMetricFamily(
            "loom_refusals",
            "Requests refused as they should be (4xx), by operation and code.",
            labels=("op", "code"),
        )
        for (op, code), count in sorted(self._tally.requests.items()):
            requests.add_metric((op, code), count)
            if code in REFUSALS:
                refusals.add_metric((op, code), count)
        seconds = HistogramMetricFamily(
            "loom_request_seconds",
            "Seconds from a request's headers to its answer.",
            labels=("op",),
        )
        for op, buckets, total in self._tally.times():
            seconds.add_metric((op,), buckets, total)
        yield from (requests, refusals, seconds)

    def _connections(self) -> Iterator[Metric]:
        lanes = self._pool.lanes
        for name, text, values in (
            ("limit", "The most database connections.", [lane.limit for lane in lanes]),
            ("open", "Database connections.", [lane.open_connections for lane in lanes]),
            ("busy", "Connections with a call.", [lane.busy_connections for lane in lanes]),
            ("waiting", "Calls that wait.", [lane.waiting_calls for lane in lanes]),
        ):
            gauge = GaugeMetricFamily(f"loom_pool_{name}", text, labels=("lane",))
            for lane, value in zip(lanes, values, strict=True):
                gauge.add_metric((lane.name,), value)
            yield gauge
        events = CounterMetricFamily(
            "loom_pool_events",
            "Connections opened, failed to open, lost; waits that ran out.",
            labels=("lane", "event"),
        )
        for lane in lanes:
            for event, count in vars(lane.counts).items():
                events.add_metric((lane.name, event), count)
        yield events
        retries = CounterMetricFamily(
            "loom_pool_retries",
            "Calls sent again, by reason (a SQLSTATE or connection_lost).",
            labels=("lane", "reason"),
        )
        for (lane_name, reason), count in sorted(self._pool.retries.items()):
            retries.add_metric((lane_name, reason), count)
        yield retries

    def _reads(self) -> Iterator[Metric]:
        reads = CounterMetricFamily(
            "loom_profile_reads",
            "Reads of profile sections: counted, then recorded, or dropped for want of room or "
            "because recording failed.",
            labels=("outcome",),
        )
        for outcome in ("counted", "recorded", "dropped"):
            reads.add_metric((outcome,), self._activity.counts[outcome])
        yield reads

    def _searches(self) -> Iterator[Metric]:
        queries = CounterMetricFamily(
            "loom_query_embeddings",
            "Vectors of search queries: made, kept from before; and why there was none: no vectors "
            "to compare with (none), calls off or at the cap (held), a failure now (failed) or a "
            "moment ago (resting).",
            labels=("outcome",),
        )
        for outcome in OUTCOMES:
            queries.add_metric((outcome,), self._queries.counts[outcome])
        yield queries


def _work(work: Work) -> Iterator[Metric]:
    due = GaugeMetricFamily(
        "loom_due",
        "Users that a worker is to look at, held ones too; counted up to 10,000.",
        labels=("kind",),
    )
    oldest = GaugeMetricFamily(
        "loom_due_oldest_seconds",
        "Seconds for which a worker could have claimed what has been due longest; 0 for nothing.",
        labels=("kind",),
    )
    claims = CounterMetricFamily(
        "loom_claims", "Users that workers have claimed, of all processes.", labels=("kind",)
    )
    builds = CounterMetricFamily(
        "loom_builds",
        "Claims that have ended, by how, of all processes.",
        labels=("kind", "outcome"),
    )
    tokens = CounterMetricFamily(
        "loom_model_tokens", "Tokens that models took, of all processes.", labels=("purpose",)
    )
    for name, kind in sorted(work.kinds.items()):
        due.add_metric((name,), kind.due)
        oldest.add_metric((name,), kind.oldest_due_seconds or 0.0)
        claims.add_metric((name,), kind.claims)
        for outcome, count in sorted(kind.builds.items()):
            builds.add_metric((name, outcome), count)
    for purpose, count in sorted(work.model_tokens.items()):
        tokens.add_metric((purpose,), count)
    yield from (due, oldest, claims, builds, tokens)
