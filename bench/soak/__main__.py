"""``make soak``: half load for half an hour; exit code 1 when a bound does not hold."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import psycopg
from psycopg.types.json import Jsonb

from bench import machine
from bench.soak import report
from bench.soak.graphs import draw
from bench.soak.installation import installation
from bench.soak.load import Load, Target
from bench.soak.operations import LOOMS, NAMESPACES, SCHEMA
from bench.soak.samples import Sample, Sampler, tuple_stats
from bench.soak.verdict import verdict
from bench.workloads import ORG

_ROOT: Final = Path(__file__).resolve().parents[2]
_SAY_SECONDS: Final = 60.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run, print, keep the results and the graphs."""
    args = _arguments(argv)
    # Ended by whoever started it, it still takes the installation down.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    load_before = os.getloadavg()[0]
    with installation(args.data) as running:
        described = machine.describe(running.admin) | {"load_before": load_before}
        with psycopg.connect(running.admin, autocommit=True) as connection:
            target = Target(running.api, running.token, _prepare(connection))
            with Load(target) as load:
                outcome = _soak(args, Sampler(running, load, connection), described)
    print(report.text(outcome))
    if args.keep_as:
        report.write(outcome, args.results, args.keep_as)
        print(f"kept as {args.keep_as}.md, .json and .csv in {args.results}")
    if args.graphs:
        for path in draw(outcome.samples, args.figures, "soak"):
            print(f"drawn: {path}")
    return 0 if outcome.holds else 1


def _soak(args: argparse.Namespace, sampler: Sampler, described: dict[str, Any]) -> report.Outcome:
    peak = _peak(sampler, args.peak_seconds)
    _say(f"peak {peak:,.0f} operations a second; pacing at {args.share:g} of it")
    sampler.load.pace(peak * args.share)
    sampler.begin()
    samples = _watch(sampler, args.minutes * 60, args.every)
    sampler.load.pace(0)
    log_errors = sampler.installation.log_errors()
    judged = verdict(samples, peak * args.share, sampler.errors, log_errors)
    tuples = tuple_stats(sampler.connection)
    return report.Outcome(described, peak, args.share, samples, sampler.ops, judged, tuples)


def _peak(sampler: Sampler, seconds: float) -> float:
    """What the clients can do together, in operations a second."""
    _say(f"measuring the peak for {seconds:g} seconds")
    sampler.load.pace(None)
    sampler.load.tally()
    began = time.monotonic()
    time.sleep(seconds)
    tally = sampler.load.tally()
    if tally.errors:
        _say(f"refused or failed meanwhile: {dict(tally.errors)}")
    return len(tally.nanoseconds) / (time.monotonic() - began)


def _watch(sampler: Sampler, seconds: float, every: float) -> list[Sample]:
    """A sample every so often."""
    samples: list[Sample] = []
    told = 0.0
    while not samples or samples[-1].seconds < seconds:
        due = sampler.began + every * (len(samples) + 1)
        time.sleep(max(0.0, due - time.monotonic()))
        samples.append(sampler.take())
        if samples[-1].seconds >= told + _SAY_SECONDS:
            told = samples[-1].seconds
            _tell(samples[-1])
    return samples


def _tell(sample: Sample) -> None:
    memory = ", ".join(f"{name} {each.pss >> 10} MiB" for name, each in sample.memory.items())
    size = sum(each.bytes for each in sample.tables.values()) >> 20
    due = max(sample.oldest_due.values())
    _say(
        f"{sample.seconds / 60:.0f} min: {sample.ops_per_second:.0f}/s, "
        f"p99 {sample.p99_ms:.1f} ms, {memory}, tables {size} MiB, "
        f"oldest due {due:.0f} s, errors {sample.errors}"
    )


def _prepare(connection: psycopg.Connection[Any]) -> tuple[str, ...]:
    """Profile schemas, and the looms, whose ids it answers."""
    for namespace in NAMESPACES:
        request = {"org": ORG, "namespace": namespace, "json_schema": SCHEMA}
        connection.execute(b"select loom.profile_schema_set(%s)", [Jsonb(request)])
    looms = []
    for number in range(LOOMS):
        place = {"org": ORG, "namespace": NAMESPACES[number % len(NAMESPACES)]}
        row = connection.execute(
            b"select loom.looms_create(%s) #>> '{entity,id}'",
            [Jsonb(place | {"name": f"loom {number}"})],
        ).fetchone()
        assert row is not None
        looms.append(str(row[0]))
    return tuple(looms)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="of the paced load (30)")
    parser.add_argument("--peak-seconds", type=float, default=20.0, help="to find the peak (20)")
    parser.add_argument("--share", type=float, default=0.5, help="of the peak to pace at (0.5)")
    parser.add_argument("--every", type=float, default=5.0, help="seconds between samples (5)")
    parser.add_argument("--data", type=Path, default=_ROOT / "build", help="folder on a disk")
    parser.add_argument("--results", type=Path, default=_ROOT / "bench" / "results")
    parser.add_argument("--figures", type=Path, default=_ROOT / "docs" / "figures")
    parser.add_argument("--no-graphs", dest="graphs", action="store_false")
    today = datetime.now(UTC).date().isoformat()
    parser.add_argument("--keep-as", default=f"{today}-soak", help="name of the results, '' none")
    return parser.parse_args(argv)


def _say(said: str) -> None:
    print(f"soak: {said}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
