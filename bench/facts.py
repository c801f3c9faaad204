"""``make bench-facts``: what must not make a fact dearer: its history, the blacklist, the fold.

Each is a pair on one server that takes turns in slices of a few calls, so that both meet the same
machine: a key of few versions and one of many; an org without a blacklist and one whose org and
namespace each have all the patterns that fit, for a value of 200 strings; a server that does not
fold profiles and one that does. What is compared is the CPU time of the server's process.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any, Final

import psycopg
from psycopg.types.json import Jsonb

from bench import machine
from bench.cpu import process_seconds
from bench.functions import answer
from bench.servers import stage
from bench.workloads import ORG

_ROOT = Path(__file__).resolve().parents[1]
CALLS: Final = 20
"""Calls of one slice."""
LEAVES: Final = 200
PATTERNS: Final = 100
"""As many as a scope takes."""
BLACKLIST_MS: Final = 20.0
FLAT: Final = 1.25
"""How many times as much a key of many versions may cost. The noise of one run is within it."""

_PLACE: Final = {"org": ORG, "namespace": "facts"}
# The history of a key, as so many sets would have left it.
_OLD_VERSIONS: Final = """
insert into loom.memory_version (org, memory_id, version, namespace, user_id, change, value_version,
  value, content_sha256, value_length, char_limit, memory_type, tags, confidence, source_class,
  pinned, sensitivity, recorded_at, changed_at, author, actor)
select org, memory_id, version + n, namespace, user_id, 'set', version + n, to_jsonb('v' || n),
  loom._sha256(to_jsonb('v' || n)::text), char_length(to_jsonb('v' || n)::text), char_limit,
  memory_type, tags, confidence, source_class, pinned, sensitivity,
  recorded_at + n * interval '1 ms', changed_at + n * interval '1 ms', author, actor
from loom.memory, generate_series(1, %(versions)s) as n
where org = %(org)s and memory_key = 'many'
"""
_MANY_NOW: Final = """
update loom.memory
set version = version + %(versions)s, recorded_at = recorded_at + %(versions)s * interval '1 ms'
where org = %(org)s and memory_key = 'many'
"""


@dataclass(frozen=True)
class Pair:
    """What was compared: microseconds of the server's CPU a call, and the most that was allowed."""

    name: str
    few: float
    many: float
    ratio: float
    """The median over the slices of the second over the first."""
    most: float | None = None
    """Of the ratio; None where the difference is bounded, or nothing is."""
    most_ms: float | None = None

    @property
    def verdict(self) -> str:
        """Whether the bound was kept."""
        if self.most_ms is not None:
            return "kept" if (self.many - self.few) / 1e3 <= self.most_ms else "not kept"
        if self.most is None:
            return ""
        return "kept" if self.ratio <= self.most else "not kept"


class Caller:
    """One connection, and the CPU time that its server process has used."""

    def __init__(self, dsn: str) -> None:
        self._connection = psycopg.connect(dsn, autocommit=True, prepare_threshold=0)

    def call(self, op: str, **fields: Any) -> Any:
        """The answer of an operation."""
        return answer(self._connection, op, _PLACE | fields)

    def slice(self, one: Callable[[], object]) -> float:
        """Microseconds of CPU a call."""
        pid = self._connection.info.backend_pid
        before = process_seconds(pid)
        for _ in range(CALLS):
            one()
        return (process_seconds(pid) - before) / CALLS * 1e6

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()


def compare(
    name: str,
    caller: Caller,
    sides: tuple[Callable[[], object], Callable[[], object]],
    slices: int,
    before: tuple[Callable[[], object], Callable[[], object]] | None = None,
    **bounds: float,
) -> Pair:
    """Both sides in turn, first the one, then the other; `before` is run before each slice."""
    found: tuple[list[float], list[float]] = ([], [])
    for number in range(-1, slices):
        for side in (0, 1) if number % 2 else (1, 0):
            if before:
                before[side]()
            spent = caller.slice(sides[side])
            if number >= 0:  # the first of each prepares its plans
                found[side].append(spent)
    ratio = median(many / few for few, many in zip(*found, strict=True))
    return Pair(name, median(found[0]), median(found[1]), ratio, **bounds)


def histories(admin: str, caller: Caller, versions: int, slices: int) -> Iterator[Pair]:
    """A key of a few versions and one of many: read, written, and its first page of history."""
    keys = ("few", "many")
    for key in keys:
        caller.call("memory.set", user_id="historian", memory_key=key, value="first")
    with psycopg.connect(admin, autocommit=True) as connection:
        of = {"org": ORG, "versions": versions}
        connection.execute(_OLD_VERSIONS, of)
        connection.execute(_MANY_NOW, of)
        connection.execute("vacuum (analyze) loom.memory, loom.memory_version")
    number = count()

    def sets(key: str) -> Callable[[], object]:
        return lambda: caller.call(
            "memory.set", user_id="historian", memory_key=key, value=f"{key} {next(number)}"
        )

    def gets(key: str) -> Callable[[], object]:
        return lambda: caller.call("memory.get", user_id="historian", memory_key=key)

    def pages(key: str) -> Callable[[], object]:
        return lambda: caller.call("memory.history", user_id="historian", memory_key=key, limit=5)

    for op, made in (("memory.get", gets), ("memory.set", sets), ("memory.history", pages)):
        name = f"{op} of a key with {versions:,} versions"
        yield compare(name, caller, (made(keys[0]), made(keys[1])), slices, most=FLAT)


def blacklists(caller: Caller, slices: int) -> Pair:
    """A value of many strings where nothing is forbidden, and where two full scopes forbid."""
    for scope in ("namespace", "org"):
        for each in range(PATTERNS):
            pattern = f"forbidden {scope} word {each}"
            caller.call("blacklist.add", namespace="watched", pattern=pattern, scope=scope)
    places: tuple[dict[str, Any], ...] = ({"org": "unwatched"}, {"namespace": "watched"})
    number = count()

    def sets(place: dict[str, Any]) -> Callable[[], object]:
        def one() -> object:
            leaves = [f"leaf {each}, value {next(number)}" for each in range(LEAVES)]
            return caller.call("memory.set", user_id="u", memory_key="k", value=leaves, **place)

        return one

    name = f"memory.set of {LEAVES} strings against two full blacklists"
    return compare(name, caller, (sets(places[0]), sets(places[1])), slices, most_ms=BLACKLIST_MS)


def folds(admin: str, caller: Caller, slices: int) -> Pair:
    """A preference written while nobody folds profiles, and while the worker does."""
    number = count()

    def one() -> object:
        value = f"prefers {next(number)}"
        key, kind = f"p{next(number) % 20}", "preference"
        return caller.call("memory.set", user_id="f", memory_key=key, memory_type=kind, value=value)

    with psycopg.connect(admin, autocommit=True) as connection:

        def switch(on: bool) -> Callable[[], object]:
            return lambda: connection.execute(
                "select loom.work_settings('profile_consolidation', %s)", [Jsonb({"enabled": on})]
            )

        name = "memory.set of a preference while profiles are folded"
        return compare(name, caller, (one, one), slices, (switch(False), switch(True)))


def text(pairs: Sequence[Pair], described: dict[str, Any]) -> str:
    """The report, in Markdown."""

    def bound(pair: Pair) -> str:
        if pair.most_ms is not None:
            return f"{pair.most_ms:g} ms more, {pair.verdict}"
        return f"{pair.most:g} times, {pair.verdict}" if pair.most else ""

    rows = [
        f"| {pair.name} | {pair.few:,.0f} | {pair.many:,.0f} | {pair.ratio:.2f} | {bound(pair)} |"
        for pair in pairs
    ]
    return "\n".join(
        [
            f"{described['at']}: {described['processors']} × {described['processor']}; "
            f"PostgreSQL {described['postgresql']}; load before {described['load_before']:.2f}",
            "",
            "Microseconds of the server's CPU a call, one client, both sides in turn: medians.",
            "",
            "| | without | with | median of the ratios | at most |",
            "|---|--:|--:|--:|---|",
            *rows,
            "",
        ]
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and keep the results."""
    parser = argparse.ArgumentParser(prog="make bench-facts", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, for a first look")
    parser.add_argument("--data", type=Path, default=_ROOT / "build")
    parser.add_argument("--results", type=Path, default=_ROOT / "bench" / "results")
    args = parser.parse_args(argv)
    slices, versions = (4, 500) if args.quick else (40, 10_000)
    with stage(args.data, lambda said: print(f"bench: {said}", file=sys.stderr)) as ready:
        described = machine.describe(ready.admin) | {"load_before": os.getloadavg()[0]}
        caller = Caller(ready.admin)
        pairs = [
            *histories(ready.admin, caller, versions, slices),
            blacklists(caller, slices),
            folds(ready.admin, caller, slices),
        ]
        caller.close()
    report = text(pairs, described)
    print(report)
    if not args.quick:
        name = f"{datetime.now(UTC).date().isoformat()}-facts.md"
        (args.results / name).write_text(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
