"""``make bench-peers``: measure, print, and keep the results in bench/results/."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

import psycopg
from psycopg import sql

from bench import cpu, machine
from bench.doors import Places
from bench.fleet import Fleet
from bench.peers import langgraph_store, report, survivors
from bench.peers.client import main as client_main
from bench.peers.crowd import Crowd
from bench.peers.doors import PEER_DATABASE, peer_conninfo
from bench.peers.raw_upserts import CLIENTS as UPSERT_CLIENTS
from bench.peers.raw_upserts import Pgbench, Upserts
from bench.peers.targets import CONNECTIONS
from bench.peers.workloads import PEER_WORKLOADS
from bench.report import Outcome
from bench.rounds import Cell, Numbers, Plan, numbers_of, run
from bench.servers import SERVICE, Stage, settle, stage
from bench.workloads import CLIENTS, SET

_ROOT = Path(__file__).resolve().parents[2]
_FLUSHES_A_ROUND: Final = 50
# Beside the clients' own: LangGraph's two stores in each, and the pools of the API and of door d.
_SETTINGS: Final = {"max_connections": "200"}
_PACKAGE: Final = "langgraph-checkpoint-postgres"


class HotPath:
    """Durable sets by HTTP on many connections, and plain upserts, in turn in each round."""

    def __init__(self, ready: Stage, fleet: Fleet, meter: cpu.Meter, seconds: int) -> None:
        self._crowd = Crowd(ready.places.api, ready.places.token, CONNECTIONS)
        self.pgbench = Pgbench(ready.programs, ready.places.conninfo, ready.folder)
        self._fleet = fleet
        self._meter = meter
        self._seconds = seconds
        self.sets: list[Numbers] = []
        self.upserts: list[Upserts] = []

    @property
    def upserts_by(self) -> str:
        """Who makes the plain upserts."""
        return "pgbench" if self.pgbench.there else "psycopg, for want of pgbench"

    def measure(self) -> None:
        """One slice of each."""
        before = self._meter.read()
        done = self._crowd.run(SET, self._seconds)
        after = self._meter.read()
        used = {name: after[name] - before[name] for name in after}
        self.sets.append(numbers_of(Cell(SET, CONNECTIONS, "c"), [done], used))
        self.upserts.append(self._upsert())

    def close(self) -> None:
        """End the connections."""
        self._crowd.close()

    def _upsert(self) -> Upserts:
        if self.pgbench.there:
            return self.pgbench.run(self._seconds, lambda: self._meter.read()["server"])
        before = self._meter.read()
        done = self._fleet.run(UPSERT_CLIENTS, SET.name, "a", self._seconds, self._meter.read)
        used = {"server": self._meter.read()["server"] - before["server"]}
        n = numbers_of(Cell(SET, UPSERT_CLIENTS, "a"), done, used)
        return Upserts(n.ops_per_second, n.p50_ms, n.client_us, n.server_us)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark as the arguments say."""
    args = _arguments(argv)
    outcome = _measure(Plan(PEER_WORKLOADS, args.seconds, args.rounds), args.data)
    print(report.text(outcome))
    if args.keep_as:
        report.write(outcome, args.results, args.keep_as)
        print(f"kept as {args.keep_as}.md and {args.keep_as}.json in {args.results}")
    return 0


def _measure(plan: Plan, data: Path) -> report.PeerOutcome:
    load = os.getloadavg()[0]
    with stage(data, _say, _SETTINGS) as ready:
        described = machine.describe(ready.admin) | {"load_before": load}
        prepare(ready)
        flushes = machine.FlushProbe(ready.folder)
        meter = cpu.Meter(ready.postmaster, ready.apps)
        with Fleet(max(CLIENTS), ready.places, client_main) as fleet:
            hot = HotPath(ready, fleet, meter, max(1, round(3 * plan.slice_seconds)))
            _say(f"measuring for {plan.seconds:g} seconds and half as long again")
            watch = cpu.Watch(ready.postmaster, [*ready.apps.values(), *fleet.pids, os.getpid()])
            found = run(
                plan,
                fleet,
                meter,
                when_warm=lambda: _settle(ready),
                before_round=_each(lambda: flushes.measure(_FLUSHES_A_ROUND), hot.measure),
            )
            others = watch.others(hot.pgbench.cpu_seconds)
            hot.close()
        kept = asyncio.run(survivors_of(ready.places, survivors.WRITERS, survivors.APPENDS))
        outcome = Outcome(described, plan, found, {}, flushes.median_us, others)
        versions = f"{_PACKAGE} {version(_PACKAGE)}"
        return report.PeerOutcome(outcome, hot.sets, hot.upserts, hot.upserts_by, kept, versions)


def prepare(ready: Stage) -> None:
    """A database of its own for LangGraph's tables, on the server that is measured."""
    with psycopg.connect(ready.admin, autocommit=True) as connection:
        connection.execute(
            sql.SQL("create database {} owner {}").format(
                sql.Identifier(PEER_DATABASE), sql.Identifier(SERVICE)
            )
        )
    langgraph_store.prepare(peer_conninfo(ready.places))


def _settle(ready: Stage) -> None:
    settle(ready)
    with psycopg.connect(peer_conninfo(ready.places), autocommit=True) as connection:
        connection.execute("vacuum (analyze) store")


async def survivors_of(places: Places, writers: int, appends: int) -> list[survivors.Kept]:
    """What each way of appending keeps, the peer's and Loom's."""
    theirs = langgraph_store.writers(peer_conninfo(places))
    return [
        await survivors.count(way, opening, writers, appends)
        for way, opening in (theirs | survivors.ours(places.conninfo)).items()
    ]


def _each(*steps: Callable[[], object]) -> Callable[[], None]:
    def take() -> None:
        for step in steps:
            step()

    return take


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-peers", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a minute, for a first look")
    parser.add_argument("--seconds", type=float, help="how long to measure (150; quick: 15)")
    parser.add_argument("--rounds", type=int, help="in so many rounds (5; quick: 1)")
    parser.add_argument(
        "--data", type=Path, default=_ROOT / "build", help="folder on a disk for the database"
    )
    parser.add_argument("--results", type=Path, default=_ROOT / "bench" / "results")
    parser.add_argument("--keep-as", help="name of the results (the date; '' for none)")
    args = parser.parse_args(argv)
    today = f"{datetime.now(UTC).date().isoformat()}-peers"
    defaults = (15.0, 1, "") if args.quick else (150.0, 5, today)
    for name, value in zip(("seconds", "rounds", "keep_as"), defaults, strict=True):
        if getattr(args, name) is None:
            setattr(args, name, value)
    return args


def _say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
