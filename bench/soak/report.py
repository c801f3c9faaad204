"""What a run leaves behind: a page for people, all samples as JSON, and the main ones as CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.soak.samples import Sample, TupleStats
from bench.soak.verdict import KEPT, Judged

_SMALL: Final = 128 << 10


@dataclass(frozen=True)
class Outcome:
    """A run: what it ran on, its load, its samples and what is held against the bounds."""

    machine: Mapping[str, Any]
    peak: float
    """Operations a second, as fast as the clients could."""
    share: float
    samples: Sequence[Sample]
    ops: Mapping[str, int]
    judged: Sequence[Judged]
    tuples: Mapping[str, TupleStats]

    @property
    def holds(self) -> bool:
        """Whether all bounds hold."""
        return all(each.holds for each in self.judged)


def text(outcome: Outcome) -> str:
    """The page."""
    m, samples = outcome.machine, outcome.samples
    return "\n".join(
        [
            f"{m['at']}: {m['processors']} × {m['processor']}; PostgreSQL {m['postgresql']}; "
            f"load before {m['load_before']:.2f}",
            "",
            f"{samples[-1].seconds / 60:.1f} minutes, {sum(outcome.ops.values()):,} operations; "
            f"peak {outcome.peak:,.0f}/s, paced at {outcome.share:g} of it; "
            f"{len(samples)} samples; clients too late for their pace: "
            f"{sum(each.late for each in samples)}.",
            "",
            "| bound | found | allowed | |",
            "|---|---|---|---|",
            *(
                f"| {each.what} | {each.found} | {each.bound} | "
                f"{'holds' if each.holds else 'does not hold'} |"
                for each in outcome.judged
            ),
            "",
            "Medians of the first and the last third:",
            "",
            "| | first third | last third |",
            "|---|--:|--:|",
            *_compared(samples),
            "",
            "| the largest tables | MiB, first third | MiB, last third | live rows | dead | dead %"
            " | free % |",
            "|---|--:|--:|--:|--:|--:|--:|",
            *_tables(outcome),
            "",
            "Work that ended, by kind and outcome: "
            + "; ".join(f"{name} {count:,}" for name, count in sorted(samples[-1].work.items()))
            + ".",
            "",
            "Kept on purpose, and so growing: "
            + ", ".join(f"{name} ({what})" for name, what in sorted(KEPT.items()))
            + ".",
            "",
            f"All bounds hold: {'yes' if outcome.holds else 'no'}.",
            "",
        ]
    )


def write(outcome: Outcome, folder: Path, name: str) -> None:
    """Keep it as `name`.md, `name`.json and `name`.csv."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text(outcome))
    data = {
        "machine": dict(outcome.machine),
        "peak": outcome.peak,
        "share": outcome.share,
        "operations": dict(outcome.ops),
        "judged": [each._asdict() for each in outcome.judged],
        "tuples": {table: stats._asdict() for table, stats in outcome.tuples.items()},
        "samples": [_data(each) for each in outcome.samples],
    }
    (folder / f"{name}.json").write_text(json.dumps(data, separators=(",", ":")) + "\n")
    rows = [_row(each) for each in outcome.samples]
    with (folder / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _row(sample: Sample) -> dict[str, float]:
    tables = sample.tables.values()
    return {
        "seconds": round(sample.seconds, 1),
        "ops_per_second": round(sample.ops_per_second, 1),
        "p50_ms": round(sample.p50_ms, 2),
        "p99_ms": round(sample.p99_ms, 2),
        "errors": sample.errors,
        "late": sample.late,
        "oldest_due_seconds": round(max(sample.oldest_due.values()), 1),
        "table_bytes": sum(each.table_bytes for each in tables),
        "index_bytes": sum(each.index_bytes for each in tables),
        "live_rows": sum(each.live for each in tables),
        "dead_rows": sum(each.dead for each in tables),
        **{f"{name} rss_kib": each.rss for name, each in sample.memory.items()},
        **{f"{name} pss_kib": each.pss for name, each in sample.memory.items()},
        **{f"{name} cpu": round(used, 3) for name, used in sample.cpu.items()},
    }


def _data(sample: Sample) -> dict[str, Any]:
    data = asdict(sample)
    for name, value in data.items():
        if isinstance(value, float):
            data[name] = round(value, 2)
    data["cpu"] = {name: round(used, 3) for name, used in sample.cpu.items()}
    data["oldest_due"] = {kind: round(age, 1) for kind, age in sample.oldest_due.items()}
    data["memory"] = {name: each._asdict() for name, each in sample.memory.items()}
    # Lists, in the order of `Table`, and no small ones: names would make most of the file.
    data["tables"] = {
        name: list(each) for name, each in sample.tables.items() if each.bytes >= _SMALL
    }
    return data


def _compared(samples: Sequence[Sample]) -> Iterator[str]:
    third = max(1, len(samples) // 3)
    first, last = ([_row(each) for each in part] for part in (samples[:third], samples[-third:]))
    for name in first[0]:
        if name != "seconds":
            before, after = (median(row[name] for row in part) for part in (first, last))
            yield f"| {name} | {before:,.6g} | {after:,.6g} |"


def _tables(outcome: Outcome) -> Iterator[str]:
    samples = outcome.samples
    third = max(1, len(samples) // 3)
    last = samples[-1].tables
    for name in sorted(last, key=lambda each: -last[each].bytes)[:12]:
        before, after = (
            median(each.tables[name].bytes for each in part) / 2**20
            for part in (samples[:third], samples[-third:])
        )
        read = outcome.tuples.get(name)
        told = f"{read.dead:.1f} | {read.free:.1f}" if read else " | "
        table = last[name]
        yield f"| {name} | {before:.1f} | {after:.1f} | {table.live:,} | {table.dead:,} | {told} |"
