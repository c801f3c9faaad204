"""What is printed and kept: tables in Markdown, and the same as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from bench.doors import DOORS
from bench.rounds import Cell, Numbers, Plan, medians
from bench.targets import Ratio, erasure_ratios, ratios


@dataclass(frozen=True)
class Outcome:
    """A run: what it ran on, what was measured round by round, and how quiet the machine was."""

    machine: Mapping[str, Any]
    plan: Plan
    rounds: Mapping[Cell, list[Numbers]]
    erasures: Mapping[int, float]
    """Seconds by rows; empty when not measured."""
    flush_us: float
    others: float
    """The share of the machine's processors that anything but this run was using."""

    @property
    def medians(self) -> dict[Cell, Numbers]:
        """Each cell's medians over the rounds."""
        return {cell: medians(rounds) for cell, rounds in self.rounds.items()}

    @property
    def ratios(self) -> list[Ratio]:
        """What is held against the targets."""
        return [*ratios(self.medians), *erasure_ratios(self.erasures)]

    @property
    def cells(self) -> list[dict[str, Any]]:
        """Each cell's medians and its rounds, as data."""
        return [
            {
                "workload": cell.workload.name,
                "op": cell.workload.op,
                "clients": cell.clients,
                "door": cell.door,
                "medians": asdict(medians(rounds)),
                "rounds": [asdict(numbers) for numbers in rounds],
            }
            for cell, rounds in self.rounds.items()
        ]


def text(outcome: Outcome) -> str:
    """The report for people."""
    cells = [cell_row(cell, numbers) for cell, numbers in outcome.medians.items()]
    erasures = [_erasure_row(rows, seconds) for rows, seconds in outcome.erasures.items()]
    judged = [ratio_row(ratio) for ratio in outcome.ratios]
    return "\n".join(
        [
            *machine_lines(outcome, DOORS),
            "",
            *table(HEAD, cells),
            "",
            *(*table(("erasure of rows", "ms", "µs a row"), erasures), "") * bool(erasures),
            *table(("ratio", "clients", "is", "to reach", ""), judged),
            "",
        ]
    )


def write(outcome: Outcome, folder: Path, name: str) -> None:
    """Keep the report as `name`.md and `name`.json."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text(outcome))
    (folder / f"{name}.json").write_text(json.dumps(_data(outcome), indent=1) + "\n")


def machine_lines(outcome: Outcome, doors: Mapping[str, str]) -> Iterator[str]:
    """What the run was on, how quiet it was, and what the doors' letters mean."""
    m, plan = outcome.machine, outcome.plan
    settings = ", ".join(f"{name} {value}" for name, value in m["settings"].items())
    yield f"{m['at']}: {m['processors']} × {m['processor']}, {m['memory_mib']} MiB, {m['kernel']}"
    yield f"PostgreSQL {m['postgresql']} ({settings}) on {m['file_system']}; Python {m['python']}"
    yield (
        f"one page written and flushed: {outcome.flush_us:.0f} µs; load average "
        f"{m['load_before']:.2f} before the run; other processes used "
        f"{outcome.others:.0%} of the processors"
    )
    yield (
        f"medians of {plan.rounds} rounds of {plan.slice_seconds:.2f} s each; doors: "
        + ", ".join(f"{letter} {name}" for letter, name in doors.items())
    )


_NUMBERS: Final = ("ops/s", "p50 ms", "p99 ms", "client µs", "app µs", "server µs")
HEAD: Final = ("", "clients", "door", *_NUMBERS)


def cell_row(cell: Cell, n: Numbers) -> tuple[str, ...]:
    """A cell's medians, for a table under `HEAD`."""
    return (
        cell.workload.name,
        str(cell.clients),
        cell.door,
        f"{n.ops_per_second:.0f}",
        f"{n.p50_ms:.2f}",
        f"{n.p99_ms:.2f}",
        f"{n.client_us:.0f}",
        f"{n.app_us:.0f}" if n.app_us else "",
        f"{n.server_us:.0f}",
    )


def ratio_row(ratio: Ratio) -> tuple[str, ...]:
    """A ratio beside its target, for a table."""
    target = "" if ratio.target is None else f"{ratio.target:g}"
    clients = "" if ratio.clients is None else str(ratio.clients)
    return ratio.text, clients, f"{ratio.value:.2f}", target, ratio.verdict


def _erasure_row(rows: int, seconds: float) -> tuple[str, ...]:
    return str(rows), f"{seconds * 1e3:.1f}", f"{seconds / rows * 1e6:.2f}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table, its columns as wide as what they hold."""
    cells = [tuple(head), *rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    # Words to the left, numbers to the right.
    left = [i == 0 or head[i] in ("door", "") for i in range(len(head))]
    lines = [
        "| "
        + " | ".join(
            value.ljust(width) if is_left else value.rjust(width)
            for value, width, is_left in zip(row, widths, left, strict=True)
        )
        + " |"
        for row in cells
    ]
    marks = [
        "-" * (w + 1) + ("-" if is_left else ":") for w, is_left in zip(widths, left, strict=True)
    ]
    return [lines[0], "|" + "|".join(marks) + "|", *lines[1:]]


def _data(outcome: Outcome) -> dict[str, Any]:
    return {
        "machine": dict(outcome.machine)
        | {"flush_us": outcome.flush_us, "used_by_others": outcome.others},
        "rounds": outcome.plan.rounds,
        "slice_seconds": outcome.plan.slice_seconds,
        "doors": DOORS,
        "cells": outcome.cells,
        "erasures": [
            {"rows": rows, "seconds": seconds} for rows, seconds in outcome.erasures.items()
        ],
        "ratios": [ratio._asdict() | {"verdict": ratio.verdict} for ratio in outcome.ratios],
    }
