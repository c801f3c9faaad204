"""``make bench-structured``: what structured profiles cost writers, readers and the scheduler.

What grows with a user's facts or a namespace's users is measured at several sizes, next to its
smallest; triggers against the same writes without them; and the two queries that look through a
million users are printed with their plans.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

import psycopg

from bench import machine
from bench.fleet import Fleet
from bench.functions import answer
from bench.servers import settle, stage
from bench.structured_data import (
    SCHEMAS,
    add_facts,
    add_users,
    insert_once,
    user_of,
)
from bench.targets import Ratio
from bench.workloads import ORG

_ROOT = Path(__file__).resolve().parents[1]
_KIND: Final = "structured_profile"
FACTS: Final = (10, 1_000, 100_000)
INSERTS: Final = (1_000, 10_000, 100_000)
USERS: Final = 1_000_000
CLIENTS: Final = 8
_PLACE: Final = {"org": ORG, "namespace": "support"}
_MANY: Final = {"org": ORG, "namespace": "many"}
_OPERATIONS: Final[Mapping[str, Callable[[int], dict[str, Any]]]] = {
    "memory.set": lambda n: {"memory_key": f"new-{n % 5}", "value": f"said {n}"},
    "profile.structured": lambda n: {"explain": n % 2 == 0},
}
_WITHOUT: Final = "without triggers"
# A time at a size over that at the smallest: no more than noise may add.
FLAT: Final = 1.5
LINEAR: Final = 1.5
TRIGGERS: Final = 0.6
CLAIM_MS: Final = 50.0


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    facts: Sequence[int] = FACTS
    inserts: Sequence[int] = INSERTS
    users: int = USERS
    calls: int = 300
    rounds: int = 7
    seconds: float = 2.0


QUICK: Final = Sizes((10, 1_000), (1_000, 4_000), 20_000, 50, 1, 0.5)


@dataclass(frozen=True)
class Line:
    """One measurement: what, in which unit, and what it is held against."""

    what: str
    value: float
    unit: str
    ratio: float | None = None
    most: float | None = None

    @property
    def verdict(self) -> str:
        """What became of the bound."""
        if self.most is None:
            return ""
        judged = self.value if self.ratio is None else self.ratio
        return "kept" if judged <= self.most else "not kept"


def measure(conninfo: str, sizes: Sizes) -> Iterator[Line]:
    """All that one connection measures, as the migration login."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.prepare_threshold = 0
        answer(connection, "profile_schema.set", _PLACE | {"json_schema": SCHEMAS[0]})
        yield from _by_facts(connection, sizes)
        yield from _by_inserts(connection, sizes)


def _by_facts(connection: psycopg.Connection[Any], sizes: Sizes) -> Iterator[Line]:
    """Writes and reads of users with ever more facts, calls of all sizes taking turns."""
    for facts in sizes.facts:
        add_facts(connection, facts)
    connection.execute("vacuum (analyze)")
    for op, request in _OPERATIONS.items():
        times: dict[int, list[float]] = {facts: [] for facts in sizes.facts}
        for n in range(sizes.calls):
            for facts in sizes.facts:
                body = _PLACE | {"user_id": user_of(facts)} | request(n)
                times[facts].append(_timed(partial(answer, connection, op, body)))
        least = median(times[min(sizes.facts)])
        for facts, taken in times.items():
            ratio = median(taken) / least
            yield Line(f"{op}, {facts:,} facts", median(taken) * 1e3, "ms", ratio, FLAT)


def _by_inserts(connection: psycopg.Connection[Any], sizes: Sizes) -> Iterator[Line]:
    """One statement that writes ever more facts of one user, with triggers and without."""
    for triggers in (True, False):
        _switch(connection, triggers)
        smallest = 0.0
        for rows in sizes.inserts:
            # The median of three, each rolled back.
            taken = median(_timed(partial(insert_once, connection, rows)) for _ in range(3))
            per_row = taken / rows * 1e6
            smallest = smallest or per_row
            what = f"insert of {rows:,} facts at once" + ("" if triggers else f", {_WITHOUT}")
            most = LINEAR if triggers else None
            yield Line(what, per_row, "µs a row", per_row / smallest, most)
    _switch(connection, True)


def claims(conninfo: str, sizes: Sizes, plans: list[str]) -> Iterator[Line]:
    """A namespace of very many users: from a changed schema to the first claim, and a claim of 20
    with 100 behind. `plans` gets what auto_explain says of the statements."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.prepare_threshold = 0
        # What is left to do elsewhere would have its share of the budget.
        answer(connection, "profile_schema.clear", _PLACE)
        add_users(connection, sizes.users)
        connection.execute("vacuum (analyze)")
        _hear_plans(connection, plans)

        def change(number: int) -> None:
            answer(connection, "profile_schema.set", _MANY | {"json_schema": SCHEMAS[number]})

        # Their plans are those of a session that has run them before.
        for number in range(1, 7):
            change(number)
            _first_claim(connection)
        changed = _timed(lambda: change(7))
        first = _timed(lambda: _first_claim(connection))
        yield Line(f"schema change, {sizes.users:,} users", changed * 1e3, "ms")
        what = f"then the first claim, {sizes.users:,} users"
        yield Line(what, first * 1e3, "ms", None, CLAIM_MS)
        change(8)
        plans.append("-- from a changed schema to the first claim")
        _explain(connection, True)
        _first_claim(connection)
        _explain(connection, False)
        _only_behind(connection, 100)
        claimed: list[int] = []
        some = _timed(lambda: claimed.append(_claim(connection, 20)))
        if claimed != [min(20, sizes.users)]:
            raise ValueError(f"20 were to be claimed, and these were: {claimed}")
        what = f"claim of 20, 100 of {sizes.users:,} users behind"
        yield Line(what, some * 1e3, "ms", None, CLAIM_MS)
        plans.append("-- a claim of 20 with 80 behind")
        _explain(connection, True)
        _claim(connection, 20)


def _first_claim(connection: psycopg.Connection[Any]) -> None:
    connection.execute("delete from loom.pass_share")
    connection.execute("delete from loom.pass")
    if not _claim(connection, 20):
        raise ValueError("nothing was claimed")


def _claim(connection: psycopg.Connection[Any], most: int) -> int:
    """As a worker does it: where is work, then a claim there; how many were claimed."""
    with connection.cursor() as cursor:
        cursor.execute("select org, namespace from loom.work_due(%s)", [_KIND])
        places = cursor.fetchall()
        if (ORG, "many") not in places:
            return 0
        cursor.execute(
            "select count(*) from loom.work_claim(%s, 'many', %s, %s)", [ORG, _KIND, most]
        )
        row = cursor.fetchone()
    return int(row[0]) if row else 0


def _only_behind(connection: psycopg.Connection[Any], users: int) -> None:
    """Everyone is up to date but so many."""
    connection.execute(
        "update loom.build set schema_rev = schema.schema_rev, built_sha256 = schema.schema_sha256,"
        " due_at = null, listed_at = null, lease_id = null, leased_until = null, tried_at = null,"
        " next_attempt_at = null, attempts = 0"
        " from loom.profile_schema as schema where schema.org = build.org"
        " and schema.namespace = 'many' and build.namespace = 'many'"
    )
    connection.execute("vacuum (analyze) loom.build")
    connection.execute("delete from loom.pass_share")
    connection.execute("delete from loom.pass")
    connection.execute(
        "update loom.build set built_count = 0, due_at = now(), listed_at = now()"
        " where namespace = 'many' and user_id in"
        " (select user_id from loom.build where namespace = 'many' order by user_id desc limit %s)",
        [users],
    )


def triggers(stage_admin: str, fleet: Fleet, sizes: Sizes) -> Ratio:
    """Writes of eight clients on users of their own, with the triggers over without them."""
    rates: dict[bool, list[float]] = {True: [], False: []}
    with psycopg.connect(stage_admin, autocommit=True) as connection:
        for number in range(sizes.rounds):
            for on in (True, False) if number % 2 else (False, True):
                _switch(connection, on)
                reports = fleet.run(CLIENTS, "memory.set", "b", sizes.seconds, lambda: None)
                rates[on].append(sum(len(r.nanoseconds) / r.seconds for r in reports))
        _switch(connection, True)
    with_them, without = median(rates[True]), median(rates[False])
    text = f"memory.set, with triggers {with_them:.0f}/s over without {without:.0f}/s"
    return Ratio(text, CLIENTS, with_them / without, TRIGGERS)


def _switch(connection: psycopg.Connection[Any], on: bool) -> None:
    verb = "enable" if on else "disable"
    connection.execute(f"alter table loom.memory {verb} trigger user".encode())


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
    ):
        connection.execute(statement.encode())


def _explain(connection: psycopg.Connection[Any], on: bool) -> None:
    """Have the server say how it runs each statement, or not: saying it takes time."""
    connection.execute(f"set auto_explain.log_min_duration = {0 if on else -1}".encode())


def shown(plans: Sequence[str]) -> str:
    """The headings, and under each the plans of what looks for users: each query once."""
    kept: dict[str, str] = {}
    heading = ""
    for plan in plans:
        if plan.startswith("--"):
            heading = kept[plan] = plan.strip()
            continue
        query, _, nodes = plan.partition("\nLimit")
        if nodes and "from loom.build" in query and "update" not in query:
            query = query[query.index("Query Text") :]
            kept.setdefault(heading + query, f"{query}\nLimit{nodes}")
    return "\n\n".join(kept.values())


def text(lines: Sequence[Line], ratio: Ratio, described: dict[str, Any], plans: str) -> str:
    """The report, in Markdown."""
    rows = [
        f"| {line.what} | {line.value:.2f} | {line.unit} | "
        f"{'' if line.ratio is None else f'{line.ratio:.2f}'} | "
        f"{'' if line.most is None else f'{line.most:g}'} | {line.verdict} |"
        for line in lines
    ]
    return "\n".join(
        [
            f"{described['at']}: {described['processors']} × {described['processor']}; "
            f"PostgreSQL {described['postgresql']}",
            "",
            "| | is | unit | over the smallest | at most | |",
            "|---|--:|---|--:|--:|---|",
            *rows,
            f"| {ratio.text}, {ratio.clients} clients | {ratio.value:.2f} | | | at least "
            f"{ratio.target:g} | {ratio.verdict} |",
            "",
            "```",
            plans,
            "```",
            "",
        ]
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and keep the results."""
    parser = argparse.ArgumentParser(prog="make bench-structured", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, for a first look")
    parser.add_argument("--data", type=Path, default=_ROOT / "build")
    parser.add_argument("--results", type=Path, default=_ROOT / "bench" / "results")
    args = parser.parse_args(argv)
    sizes = QUICK if args.quick else Sizes()
    plans: list[str] = []
    with stage(args.data, lambda said: print(f"bench: {said}", file=sys.stderr)) as ready:
        described = machine.describe(ready.admin) | {"load_before": os.getloadavg()[0]}
        lines = list(measure(ready.admin, sizes))
        with Fleet(CLIENTS, ready.places) as fleet:
            fleet.run(CLIENTS, "memory.set", "b", 1.0, lambda: None)
            settle(ready)
            ratio = triggers(ready.admin, fleet, sizes)
        lines += claims(ready.admin, sizes, plans)
    report = text(lines, ratio, described, shown(plans))
    print(report)
    if not args.quick:
        name = f"{datetime.now(UTC).date().isoformat()}-structured.md"
        (args.results / name).write_text(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
