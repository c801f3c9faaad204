"""Whether anything grows that should not, and whether all that was asked was done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from statistics import median, quantiles
from typing import Final, NamedTuple

from bench.soak.samples import Sample

MEMORY_SHARE: Final = 0.05
MEMORY_KIB: Final = 4096
"""A process may grow by so much over the time that is judged: the larger of the two."""

BLOAT_SHARE: Final = 0.25
BLOAT_BYTES: Final = 2 << 20
"""So may a table with its indexes, where what is live in it does not grow."""

_BLOAT_ALLOWED: Final = f"at most {BLOAT_SHARE:.0%} or {BLOAT_BYTES >> 20} MiB more"

PACE_SHARE: Final = 0.9
"""Of the pace that was asked for: less is done only where calls take longer and longer."""

OLDEST_DUE_SECONDS: Final = 60.0
"""The longest that work may wait for a worker."""

KEPT: Final[Mapping[str, str]] = {
    "audit": "what admins did",
    "idempotency": "stored answers, for a day",
    "idempotency_user": "stored answers, for a day",
    "loom_weaving": "weavings, for 90 days",
    "loom_weaving_part": "weavings, for 90 days",
    "model_day": "sums by day",
    "model_usage": "calls of models, for 90 days",
}
"""Tables that grow with what is done, whoever is erased: judged by their bytes a row."""

REBUILT: Final[Mapping[str, float]] = {"memory_text": 2.0}
"""Tables of which an index grows until it is built anew, and how many times as large as the rows
their indexes together may become by then."""


class Judged(NamedTuple):
    """One bound: what it is about, what was found, what is allowed, and whether it holds."""

    what: str
    found: str
    bound: str
    holds: bool


def verdict(
    samples: Sequence[Sample],
    pace: float,
    errors: Mapping[str, int],
    log_errors: Sequence[str],
) -> list[Judged]:
    """All bounds over the last two thirds of the samples; errors over everything. `pace` is what
    was asked for, in operations a second."""
    judged = samples[len(samples) // 3 :]
    return [
        *_memory(judged),
        *_bloat(judged),
        *(_rebuilt(judged, name) for name in REBUILT if name in judged[0].tables),
        _oldest_due(judged),
        _pace(judged, pace),
        _failed(samples),
        _counted("refused or failed calls", errors),
        _counted("errors in the logs", dict.fromkeys(log_errors, 1)),
    ]


def growth(points: Sequence[tuple[float, float]]) -> float:
    """How much the values grow from the first point to the last: the median of all slopes (Theil
    and Sen), which a few odd values do not move, times the time between."""
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(points, 2) if b[0] > a[0]]
    return median(slopes) * (points[-1][0] - points[0][0]) if slopes else 0.0


def _memory(samples: Sequence[Sample]) -> Iterator[Judged]:
    for name in samples[0].memory:
        points = [(each.seconds, float(each.memory[name].pss)) for each in samples]
        allowed = max(MEMORY_KIB, MEMORY_SHARE * median(kib for _, kib in points))
        grown = growth(points)
        yield Judged(
            f"memory of the {name}",
            f"{grown / 1024:+.1f} MiB",
            f"at most {allowed / 1024:.1f} MiB more",
            grown <= allowed,
        )


def _bloat(samples: Sequence[Sample]) -> Iterator[Judged]:
    """The one table that grew most against its bound, of either sort, and all that are over it."""
    for kept in (False, True):
        found = sorted(
            (_grown(samples, name) for name in samples[0].tables if (name in KEPT) is kept),
            key=lambda each: each[1],
        )
        sort = "bytes a row of what is kept" if kept else "bytes of tables and indexes"
        for name, share, told in found[-1:] + [each for each in found[:-1] if each[1] > 1]:
            yield Judged(f"{sort}: {name}", told, _BLOAT_ALLOWED, share <= 1)


def _rebuilt(samples: Sequence[Sample], name: str) -> Judged:
    """Indexes of a table of which one is built anew now and then, over its rows. The highest tenth
    is left out: while an index is built there are two."""
    shares = [each.tables[name].index_bytes / each.tables[name].table_bytes for each in samples]
    highest = quantiles(shares, n=10, method="inclusive")[-1]
    return Judged(
        f"bytes of indexes for each of rows: {name}",
        f"{highest:.1f}",
        f"at most {REBUILT[name]:g}",
        highest <= REBUILT[name],
    )


def _grown(samples: Sequence[Sample], name: str) -> tuple[str, float, str]:
    """A table, its growth over what is allowed, and in words. The rows that came are allowed their
    bytes in what is kept; in all else the rows that are live do not grow in number."""
    of = "table_bytes" if name in REBUILT else "bytes"
    points = [(each.seconds, float(getattr(each.tables[name], of))) for each in samples]
    rows = [(each.seconds, float(each.tables[name].live)) for each in samples]
    first = points[0][1]
    grown = growth(points)
    by_rows = first * max(0.0, growth(rows)) / max(rows[0][1], 1.0) if name in KEPT else 0.0
    allowed = by_rows + max(BLOAT_BYTES, BLOAT_SHARE * first)
    told = f"{grown / 2**20:+.1f} MiB from {first / 2**20:.1f}"
    return name, grown / allowed, told


def _oldest_due(samples: Sequence[Sample]) -> Judged:
    longest, kind = max((age, kind) for each in samples for kind, age in each.oldest_due.items())
    return Judged(
        "longest time that work was due",
        f"{longest:.0f} s ({kind})",
        f"at most {OLDEST_DUE_SECONDS:g} s",
        longest <= OLDEST_DUE_SECONDS,
    )


def _pace(samples: Sequence[Sample], pace: float) -> Judged:
    done = median(each.ops_per_second for each in samples)
    told = f"at least {PACE_SHARE:.0%} of {pace:,.0f}/s"
    return Judged("operations a second", f"{done:,.0f}/s", told, done >= PACE_SHARE * pace)


def _failed(samples: Sequence[Sample]) -> Judged:
    last = samples[-1].work
    failed = {name: count for name, count in last.items() if name.endswith(": failed")}
    return _counted("work that failed", failed)


def _counted(what: str, found: Mapping[str, int]) -> Judged:
    most = sorted(found.items(), key=lambda each: -each[1])[:3]
    told = "; ".join(f"{text[:200]} × {count}" for text, count in most)
    total = sum(found.values())
    return Judged(what, f"{total}" + (f" ({told})" if told else ""), "none", total == 0)
