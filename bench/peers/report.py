"""What is printed and kept of a run beside the peers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.doors import DOORS
from bench.peers.raw_upserts import CLIENTS as UPSERT_CLIENTS
from bench.peers.raw_upserts import Upserts
from bench.peers.survivors import APPENDS, WRITERS, Kept
from bench.peers.targets import (
    APP_OVER_LITESTAR,
    APP_US,
    CONNECTIONS,
    Beside,
    app_cpu,
    beside_peers,
    plain_ratios,
    set_over_upsert,
)
from bench.report import HEAD, Outcome, cell_row, machine_lines, ratio_row, table
from bench.rounds import Cell, Numbers, medians
from bench.targets import AT_CLIENTS, Ratio
from bench.workloads import SET

PEER_DOORS: Final = DOORS | {
    "e": "LangGraph PostgresStore",
    "f": "LangGraph AsyncPostgresStore on one connection",
    "g": "the same on a pool of 5 to 20",
    "h": "the same in a pipeline",
    "i": "SQL function without blocking",
}
_RATIO_HEAD: Final = ("ratio", "clients", "is", "to reach", "")
_BESIDE_HEAD: Final = ("Loom", "LangGraph", "clients", "ops/s, over its", "CPU, over its")


@dataclass(frozen=True)
class PeerOutcome:
    """A run: its cells, the sets on many connections beside plain upserts, and the lines kept."""

    run: Outcome
    sets: Sequence[Numbers]
    upserts: Sequence[Upserts]
    upserts_by: str
    kept: Sequence[Kept]
    versions: str
    """What of the peers was installed."""

    @property
    def median_upserts(self) -> Upserts:
        """The median of each number over the rounds."""
        return Upserts(*map(median, zip(*self.upserts, strict=True)))

    @property
    def set_over_upsert(self) -> Ratio:
        """By the medians over the rounds."""
        sets = medians(self.sets).ops_per_second
        return set_over_upsert(sets, self.median_upserts.ops_per_second)


def text(outcome: PeerOutcome) -> str:
    """The report for people."""
    found = outcome.run.medians
    return "\n".join(
        [
            *machine_lines(outcome.run, PEER_DOORS),
            f"{outcome.versions}. Its put answers nothing; it keeps one row a key and no version, "
            "hash, length, limit, author or answer to a repeated request.",
            "",
            *table(HEAD, [cell_row(cell, numbers) for cell, numbers in found.items()]),
            "",
            *_hot_path(outcome),
            "",
            *table(_RATIO_HEAD, [ratio_row(ratio) for ratio in plain_ratios(found)]),
            "",
            *table(_BESIDE_HEAD, [_beside_row(each) for each in beside_peers(found)]),
            "",
            *_survivors(outcome.kept),
            "",
        ]
    )


def write(outcome: PeerOutcome, folder: Path, name: str) -> None:
    """Keep the report as `name`.md and `name`.json."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text(outcome))
    (folder / f"{name}.json").write_text(json.dumps(_data(outcome), indent=1) + "\n")


def _hot_path(outcome: PeerOutcome) -> Iterator[str]:
    sets = cell_row(Cell(SET, CONNECTIONS, "c"), medians(outcome.sets))
    yield from table(HEAD, [sets, _upserts_row(outcome.upserts_by, outcome.median_upserts)])
    yield ""
    yield f"One page written and flushed: {outcome.run.flush_us:.0f} µs."
    yield ""
    judged = [_app_row(outcome, clients) for clients in (1, AT_CLIENTS)]
    yield from table(_RATIO_HEAD, [*judged, ratio_row(outcome.set_over_upsert)])


def _upserts_row(by: str, upserts: Upserts) -> tuple[str, ...]:
    return (
        f"plain upserts by {by}, {upserts.mean_ms:.2f} ms each",
        str(UPSERT_CLIENTS),
        "",
        f"{upserts.ops_per_second:.0f}",
        "",
        "",
        f"{upserts.client_us:.0f}",
        "",
        f"{upserts.server_us:.0f}",
    )


def _app_row(outcome: PeerOutcome, clients: int) -> tuple[str, ...]:
    cpu = app_cpu(outcome.run.medians, clients)
    target = f"≤ {APP_US:g} µs, or ≤ {APP_OVER_LITESTAR:g} × plain Litestar's"
    value = f"{cpu.ours_us:.0f} µs, {cpu.ours_us / cpu.litestar_us:.2f} ×"
    verdict = "reached" if cpu.reached else "not reached"
    return "get by HTTP: the API's CPU", str(clients), value, target, verdict


def _beside_row(beside: Beside) -> tuple[str, ...]:
    ours, theirs = (f"{each.workload.name}, {each.door}" for each in (beside.ours, beside.theirs))
    return ours, theirs, str(beside.ours.clients), f"{beside.rate:.2f}", f"{beside.cpu:.2f}"


def _survivors(kept: Sequence[Kept]) -> list[str]:
    head = f"{WRITERS} writers append {APPENDS} lines each to one key"
    return table((head, "lines there afterwards", "tries a line", "seconds"), map(_kept_row, kept))


def _kept_row(kept: Kept) -> tuple[str, ...]:
    tries = kept.tries / kept.of
    return kept.way, f"{kept.kept} of {kept.of}", f"{tries:.2f}", f"{kept.seconds:.2f}"


def _data(outcome: PeerOutcome) -> dict[str, Any]:
    found = outcome.run.medians
    judged = [*plain_ratios(found), outcome.set_over_upsert]
    return {
        "machine": dict(outcome.run.machine)
        | {"flush_us": outcome.run.flush_us, "used_by_others": outcome.run.others},
        "peers": outcome.versions,
        "rounds": outcome.run.plan.rounds,
        "slice_seconds": outcome.run.plan.slice_seconds,
        "doors": PEER_DOORS,
        "cells": outcome.run.cells,
        "set_by_http": [asdict(numbers) for numbers in outcome.sets],
        "upserts": {
            "by": outcome.upserts_by,
            "rounds": [each._asdict() for each in outcome.upserts],
        },
        "app_cpu": {
            clients: cpu._asdict() | {"reached": cpu.reached}
            for clients in (1, AT_CLIENTS)
            for cpu in [app_cpu(found, clients)]
        },
        "ratios": [ratio._asdict() | {"verdict": ratio.verdict} for ratio in judged],
        "beside_peers": [
            dict(zip(_BESIDE_HEAD, _beside_row(each), strict=True)) for each in beside_peers(found)
        ],
        "survivors": [each._asdict() for each in outcome.kept],
    }
