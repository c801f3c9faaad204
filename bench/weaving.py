"""``make bench-weaving``: what it costs to find the looms that are due, among very many, and what
to bind a loom of many threads and be told them.

Most looms have turns that nobody has consolidated and are not due all the same: they do not weave
at night, are not quiet for long enough, or wait after a failure. The query's plans are printed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

import psycopg
from psycopg.types.json import Jsonb

from bench import machine
from bench.functions import answer
from bench.servers import stage

_ROOT = Path(__file__).resolve().parents[1]
NAMESPACES: Final = 100
CALLS: Final = 200
MOST_MS: Final = 20.0
"""A look at what is due, which every worker takes once a minute while there is nothing."""

# Of ten looms with something pending: seven in namespaces that do not weave at night, two whose
# last turn was a moment ago, one that waits after a failure.
_NAMESPACES: Final = """
insert into loom.namespace
  (org, name, night_weaving, created_at, created_by, updated_at, updated_by)
select 'many', 'n' || n, n %% 10 in (7, 8, 9), now(), 'bench', now(), 'bench'
from generate_series(0, %s - 1) as n
"""
_LOOMS: Final = """
insert into loom.loom (org, namespace, name, night_weaving_pending, last_activity_at,
  night_weaving_not_before, created_at, created_by, updated_at, updated_by)
select 'many', 'n' || n %% %s, 'loom ' || n, true,
  now() - case when n %% 10 in (7, 8) then interval '1 second' else interval '1 day' end,
  case when n %% 10 = 9 then now() + interval '1 day' end, now(), 'bench', now(), 'bench'
from generate_series(1, %s) as n
"""
_DUE: Final = """
insert into loom.loom (org, namespace, name, night_weaving, night_weaving_pending, last_activity_at,
  created_at, created_by, updated_at, updated_by)
select 'many', 'n' || case when n % 2 = 0 then 0 else 7 end, 'due ' || n,
  case when n % 2 = 0 then true end, true, now() - interval '2 days', now(), 'bench', now(), 'bench'
from generate_series(1, 50) as n
"""
THREADS: Final = (10, 1_000)
_BIND: Final = "select loom.looms_bind(%s)"
_LOOK: Final = "select org, loom_id from loom.weaving_due(20, true)"


@dataclass(frozen=True)
class Line:
    """A look among so many looms: its time, and over that among the fewest."""

    looms: int
    milliseconds: float
    ratio: float

    @property
    def verdict(self) -> str:
        """What became of the bound."""
        return "kept" if self.milliseconds <= MOST_MS else "not kept"


def measure(conninfo: str, sizes: Sequence[int], plans: list[str]) -> list[Line]:
    """Looks among ever more looms, 50 of them due, as the migration login."""
    times: list[tuple[int, float]] = []
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.prepare_threshold = 0
        for looms in sizes:
            connection.execute("delete from loom.loom where org = 'many'")
            connection.execute("delete from loom.namespace where org = 'many'")
            connection.execute(_NAMESPACES.encode(), (NAMESPACES,))
            connection.execute(_LOOMS.encode(), (NAMESPACES, looms))
            connection.execute(_DUE.encode())
            connection.execute("vacuum (analyze) loom.loom, loom.namespace")
            found = connection.execute(_LOOK.encode()).fetchall()
            if len(found) != 20:
                raise ValueError(f"20 were to be found, and {len(found)} were")
            taken = [_timed(lambda: connection.execute(_LOOK.encode())) for _ in range(CALLS)]
            times.append((looms, median(taken) * 1e3))
        _hear_plans(connection, plans)
        connection.execute(_LOOK.encode())
    least = times[0][1]
    return [Line(looms, taken, taken / least) for looms, taken in times]


def binds(conninfo: str, calls: int) -> list[tuple[int, float]]:
    """How long a bind with its wake-up takes, in milliseconds, by the loom's threads."""
    place = {"org": "bench", "namespace": "support"}
    found = []
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.prepare_threshold = 0
        for threads in THREADS:
            made = answer(connection, "looms.create", place | {"name": f"of {threads}"})
            loom = {"loomId": made["entity"]["id"]}
            for number in range(threads):
                thread = {"text": f"The customer asked for the figures of month {number}."}
                answer(connection, "looms.thread_add", place | loom | thread)
            body = Jsonb(place | loom | {"agents": ["triage"]})
            connection.execute("vacuum (analyze)")
            taken = [
                _timed(lambda body=body: connection.execute(_BIND, [body]).fetchone())  # type: ignore[misc]
                for _ in range(calls)
            ]
            found.append((threads, median(taken) * 1e3))
    return found


def _timed(call: Callable[[], object]) -> float:
    started = perf_counter()
    call()
    return perf_counter() - started


def _hear_plans(connection: psycopg.Connection[Any], plans: list[str]) -> None:
    connection.add_notice_handler(lambda notice: plans.append(notice.message_primary or ""))
    for statement in (
        "load 'auto_explain'",
        "set auto_explain.log_nested_statements = on",
        "set auto_explain.log_analyze = on",
        "set auto_explain.log_timing = off",
        "set auto_explain.log_level = notice",
        "set auto_explain.log_min_duration = 0",
    ):
        connection.execute(statement.encode())


def shown(plans: Sequence[str]) -> str:
    """The plans of what looks for looms."""
    found = [plan[plan.index("Query Text") :] for plan in plans if "loom.loom as own" in plan]
    return "\n\n".join(found)


def text(lines: Sequence[Line], described: dict[str, Any], plans: str) -> str:
    """The report, in Markdown."""
    rows = [
        f"| due looms found among {line.looms:,} | {line.milliseconds:.2f} | {line.ratio:.2f} | "
        f"{MOST_MS:g} | {line.verdict} |"
        for line in lines
    ]
    head = (
        f"{described['at']}: {described['processors']} × {described['processor']}; "
        f"PostgreSQL {described['postgresql']}"
    )
    columns = ["| | ms | over the fewest | at most | |", "|---|--:|--:|--:|---|"]
    return "\n".join([head, "", *columns, *rows, "", "```", plans, "```", ""])


def told_of(found: Sequence[tuple[int, float]]) -> str:
    """What a bind costs, as a part of the page."""
    rows = [f"| a bind and its wake-up, {threads:,} threads | {ms:.2f} |" for threads, ms in found]
    return "\n".join(["", "| | ms |", "|---|--:|", *rows, ""])


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and keep the results."""
    parser = argparse.ArgumentParser(prog="make bench-weaving", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, for a first look")
    parser.add_argument("--data", type=Path, default=_ROOT / "build")
    parser.add_argument("--results", type=Path, default=_ROOT / "bench" / "results")
    args = parser.parse_args(argv)
    plans: list[str] = []
    with stage(args.data, lambda said: print(f"bench: {said}", file=sys.stderr)) as ready:
        described = machine.describe(ready.admin) | {"load_before": os.getloadavg()[0]}
        sizes = (1_000, 5_000) if args.quick else (1_000, 10_000, 100_000)
        lines = measure(ready.admin, sizes, plans)
        told = binds(ready.admin, 20 if args.quick else CALLS)
    report = text(lines, described, shown(plans)) + told_of(told)
    print(report)
    if not args.quick:
        name = f"{datetime.now(UTC).date().isoformat()}-weaving.md"
        (args.results / name).write_text(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
