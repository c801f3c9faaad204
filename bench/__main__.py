"""``make bench``: measure, print, and keep the results in bench/results/."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench import cpu, erasure, machine, report
from bench.fleet import Fleet
from bench.rounds import Plan, run
from bench.servers import settle, stage
from bench.workloads import CLIENTS, WORKLOADS, Workload

_ROOT = Path(__file__).resolve().parents[1]
_FLUSHES_A_ROUND = 50
_ERASURES = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark as the arguments say."""
    args = _arguments(argv)
    plan = Plan(args.only or WORKLOADS, args.seconds, args.rounds)
    outcome = _measure(plan, args.data, 0 if args.only else 1 if args.quick else _ERASURES)
    print(report.text(outcome))
    if args.keep_as:
        report.write(outcome, args.results, args.keep_as)
        print(f"kept as {args.keep_as}.md and {args.keep_as}.json in {args.results}")
    return 0


def _measure(plan: Plan, data: Path, erasures: int) -> report.Outcome:
    load = os.getloadavg()[0]
    with stage(data, _say) as ready:
        described = machine.describe(ready.admin) | {"load_before": load}
        flushes = machine.FlushProbe(ready.folder)
        meter = cpu.Meter(ready.postmaster, ready.apps)
        with Fleet(max(CLIENTS), ready.places) as fleet:
            _say(f"measuring for {plan.seconds:g} seconds and a little more")
            watch = cpu.Watch(ready.postmaster, [*ready.apps.values(), *fleet.pids, os.getpid()])
            found = run(
                plan,
                fleet,
                meter,
                when_warm=lambda: settle(ready),
                before_round=lambda: flushes.measure(_FLUSHES_A_ROUND),
            )
            others = watch.others()
        erased = erasure.measure(ready.admin, erasures) if erasures else {}
        return report.Outcome(described, plan, found, erased, flushes.median_us, others)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="half a minute, for a first look")
    parser.add_argument("--seconds", type=float, help="how long to measure (140; quick: 14)")
    parser.add_argument("--rounds", type=int, help="in so many rounds (5; quick: 2)")
    parser.add_argument("--only", type=_workloads, help="workloads, by comma: set,get,…")
    parser.add_argument(
        "--data", type=Path, default=_ROOT / "build", help="folder on a disk for the database"
    )
    parser.add_argument("--results", type=Path, default=_ROOT / "bench" / "results")
    parser.add_argument(
        "--keep-as", help="name of the results (the date; quick: quick; '' for none)"
    )
    args = parser.parse_args(argv)
    today = datetime.now(UTC).date().isoformat()
    defaults = (14.0, 2, "quick") if args.quick else (140.0, 5, today)
    for name, value in zip(("seconds", "rounds", "keep_as"), defaults, strict=True):
        if getattr(args, name) is None:
            setattr(args, name, value)
    return args


def _workloads(names: str) -> list[Workload]:
    wanted = names.split(",")
    chosen = [workload for workload in WORKLOADS if workload.name in wanted]
    if len(chosen) != len(wanted):
        known = ", ".join(workload.name for workload in WORKLOADS)
        raise argparse.ArgumentTypeError(f"there are: {known}")
    return chosen


def _say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
