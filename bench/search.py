"""``make bench-search``: a search among 100,000 facts, and what being found costs writers.

Facts of one namespace of a large org, whose words are as unevenly frequent as in speech, beside a
small org. CPU time of the server's process is measured, so that neither the disk nor who else is
at work on the machine is. Each search is held against a floor in the same run: what one would write
by hand over a plain table with an index of words, without reach, rank by rarity, duplicates or
metadata.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

import psycopg

from bench import machine
from bench.cpu import process_seconds
from bench.functions import answer
from bench.servers import stage
from bench.workloads import ORG

_ROOT = Path(__file__).resolve().parents[1]
SMALL: Final = "small"
NAMESPACE: Final = "support"

# A word's number falls off as its rank rises: the first is in most facts, the last in hardly any.
_FACTS: Final = """
insert into loom.memory (org, namespace, agent, user_id, session_id, memory_key, memory_type,
  value, content_sha256, value_length, char_limit, source_class, version, recorded_at, changed_at,
  author, actor, created_at, created_by)
select %(org)s, %(namespace)s, '-', 'user' || n %% %(users)s, '-', 'k' || n, 'semantic',
  to_jsonb(body), loom._sha256(body), char_length(body), 262144, 'stated', 1, now(), now(),
  'bench', 'bench', now(), 'bench'
from generate_series(1, %(facts)s) as n
cross join lateral (
  select string_agg('w' || floor(power(20000, random()))::integer, ' ') as body
  from generate_series(1, 25 + n %% 2)
) as said
"""
_PLAIN: Final = """
create table plain (org text, namespace text, user_id text, body text, words tsvector)
"""
_PLAIN_FACTS: Final = """
insert into plain
select org, namespace, user_id, value #>> '{}', to_tsvector('simple', value #>> '{}')
from loom.memory
"""
_FLOOR: Final = """
select body from plain
where org = %(org)s and namespace = %(namespace)s and (%(user)s::text is null or user_id = %(user)s)
  and words @@ to_tsquery('simple', %(query)s)
order by ts_rank(words, to_tsquery('simple', %(query)s)) desc limit 20
"""


@dataclass(frozen=True)
class Case:
    """One search: its name, whose, and its words."""

    name: str
    org: str
    user: str | None
    words: tuple[str, ...]


def cases() -> tuple[Case, ...]:
    """Rare words, common ones and both, within a user's reach and the namespace's."""
    rare, common = ("w7001", "w9200", "w15000"), ("w1", "w2", "w3")
    return (
        Case("own_user of 1,000 facts, rare words", ORG, "user7", ("w310", "w511", "w702")),
        Case("own_user of 1,000 facts, common words", ORG, "user7", common),
        Case("namespace, rare words", ORG, None, rare),
        Case("namespace, rare and common words", ORG, None, (*rare, *common)),
        Case("namespace, common words", ORG, None, common),
        Case("a small org beside it, common words", SMALL, None, common),
    )


@dataclass(frozen=True)
class Sizes:
    """How much to measure."""

    facts: int = 100_000
    users: int = 100
    calls: int = 60
    writes: int = 2000


QUICK: Final = Sizes(5_000, 20, 20, 200)


@dataclass(frozen=True)
class Line:
    """One measurement: a search or write, its floor, in milliseconds."""

    what: str
    ours: float
    floor: float

    @property
    def ratio(self) -> float:
        return self.ours / self.floor


def measure(conninfo: str, sizes: Sizes) -> Iterator[Line]:
    """All of it, as the migration login."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.prepare_threshold = 0
        for org in (ORG, SMALL):
            answer(connection, "memory.set", {**_place(org), "memory_key": "first", "value": "w1"})
        fill(connection, sizes)
        for case in cases():
            yield _search(connection, case, sizes.calls)
        yield from _writes(connection, sizes.writes)


def fill(connection: psycopg.Connection[Any], sizes: Sizes) -> None:
    """The facts of both orgs, and the same in a plain table."""
    connection.execute("select setseed(0.5)")
    for org, facts in ((ORG, sizes.facts), (SMALL, 1000)):
        place = {"org": org, "namespace": NAMESPACE, "users": sizes.users, "facts": facts}
        connection.execute(_FACTS.encode(), place)
    connection.execute(_PLAIN.encode())
    connection.execute(_PLAIN_FACTS.encode())
    connection.execute("create index on plain using gin (words)")
    connection.execute("vacuum (analyze)")


def _search(connection: psycopg.Connection[Any], case: Case, calls: int) -> Line:
    scope = "own_user" if case.user else "namespace"
    request = {**_place(case.org), "query": " ".join(case.words), "read_scope": scope}
    if case.user:
        request["user_id"] = case.user
    floor = {
        "org": case.org,
        "namespace": NAMESPACE,
        "user": case.user,
        "query": " | ".join(case.words),
    }
    ours, plain = [], []
    for _ in range(calls):
        ours.append(_timed(connection, partial(answer, connection, "memory.search", request)))
        by_hand = partial(connection.execute, _FLOOR.encode(), floor)
        plain.append(_timed(connection, by_hand))
    return Line(case.name, median(ours) * 1e3, median(plain) * 1e3)


def _writes(connection: psycopg.Connection[Any], writes: int) -> Iterator[Line]:
    """New facts, other values and other metadata, with the triggers of search and without."""
    taken: dict[tuple[str, bool], list[float]] = {}
    for chunk in range(writes // 50):
        search = chunk % 2 == 0
        for what in ("insert", "update", "delete"):
            _switch(connection, f"memory_text_{what}", search)
        for kind in ("a new fact", "another value", "other metadata"):
            for n in range(50):
                body = {**_place(ORG), "user_id": f"writer{n}", "memory_key": f"{chunk}-{n}"}
                body["value"] = f"{'then' if kind == 'a new fact' else 'now'} {chunk} " + _WORDS
                body["confidence"] = 0.5 if kind == "other metadata" else 1
                call = partial(answer, connection, "memory.set", body)
                taken.setdefault((kind, search), []).append(_timed(connection, call))
    for kind in ("a new fact", "another value", "other metadata"):
        with_search, without = taken[kind, True], taken[kind, False]
        yield Line(f"memory.set, {kind}", median(with_search) * 1e3, median(without) * 1e3)


_WORDS: Final = " ".join(f"w{n * 37}" for n in range(20))


def _switch(connection: psycopg.Connection[Any], trigger: str, on: bool) -> None:
    verb = "enable" if on else "disable"
    connection.execute(f"alter table loom.memory {verb} trigger {trigger}".encode())


def _place(org: str) -> dict[str, Any]:
    return {"org": org, "namespace": NAMESPACE}


def _timed(connection: psycopg.Connection[Any], call: Callable[[], Any]) -> float:
    """Seconds of CPU that the server's process of the connection took for a call."""
    process = connection.info.backend_pid
    start = process_seconds(process)
    call()
    return process_seconds(process) - start


def text(lines: Sequence[Line], facts: int, described: dict[str, Any]) -> str:
    """The result as a page."""
    rows = "\n".join(
        f"| {line.what} | {line.ours:.2f} | {line.floor:.2f} | {line.ratio:.2f} |" for line in lines
    )
    return (
        f"{described['at']}: {described['processors']} × {described['processor']}; "
        f"PostgreSQL {described['postgresql']}; load before {described['load_before']:.2f}\n\n"
        f"{facts:,} facts in the namespace; medians of CPU time, calls of both sides taking turns. "
        "The floor of a search is a plain table with an index of words; that of a write the same "
        "without the triggers of search.\n\n"
        f"| what | ms | floor, ms | ratio |\n|---|--:|--:|--:|\n{rows}\n"
    )


def main(arguments: Sequence[str]) -> int:
    """Measure, print, and write the page to bench/results."""
    parser = argparse.ArgumentParser(prog="bench.search", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a look at small sizes; not kept")
    chosen = parser.parse_args(arguments)
    sizes = QUICK if chosen.quick else Sizes()
    with stage(_ROOT / "build", lambda said: print(f"bench: {said}", file=sys.stderr)) as ready:
        described = machine.describe(ready.admin) | {"load_before": os.getloadavg()[0]}
        lines = []
        for line in measure(ready.admin, sizes):
            lines.append(line)
            print(f"{line.what}: {line.ours:.2f} ms, {line.ratio:.2f} of the floor", flush=True)
        page = text(lines, sizes.facts, described)
    print(page)
    if not chosen.quick:
        name = f"{datetime.now(UTC).date().isoformat()}-search.md"
        (_ROOT / "bench" / "results" / name).write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
