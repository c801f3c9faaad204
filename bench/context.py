"""``make bench-context``: what a pack costs, against the selects one would write by hand for it.

A user with 5 blocks, 8 profile sections and 10 or 10,000 facts, of which a query finds some. Two
floors, each a client that sends prepared statements one after the other: the selects alone (live
blocks, current sections, facts by full text, decisions by full text), which render and hash
nothing; and the same with the statements that ``make bench`` holds a render against, which do.
One client, all sides in turn.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

import psycopg
from psycopg.types.json import Jsonb

from bench import machine
from bench.servers import stage
from bench.workloads import BLOCKS, ORG, SECTIONS

_ROOT = Path(__file__).resolve().parents[1]
_RAW: Final = Path(__file__).parent / "raw"
_RENDERS: Final = ("working_memory_render", "profile_render")
FACTS: Final = (10, 10_000)
MOST: Final = 1.5
TOPICS: Final = 500
_PLACE: Final = {"org": ORG, "namespace": "support", "agent": "triage"}
_NOTE: Final = "The user prefers short answers, works on <billing> & asked for the June figures. "
_QUERY: Final = "What do we know about topic7 and its invoices?"

# So many facts of a user, a fifth of them decisions, on topics of which the query names one.
_FILL: Final = """
insert into loom.memory (org, namespace, agent, user_id, session_id, memory_key, memory_type,
  value, content_sha256, value_length, char_limit, source_class, version, recorded_at, changed_at,
  author, actor, created_at, created_by)
select %(org)s, 'support', '-', %(user)s, '-', 'k' || n,
  case n %% 5 when 0 then 'decision' else 'semantic' end, to_jsonb(body), loom._sha256(body),
  char_length(body), 262144, 'stated', 1, now(), now(), 'bench', 'bench', now(), 'bench'
from generate_series(1, %(facts)s) as n
cross join lateral (
  select format('topic%%s, said in letter %%s: ', n %% %(topics)s, n) || %(note)s as body
) as said
"""
_BLOCKS: Final = """
select block_key, content from loom.working_memory
where org = %(org)s and namespace = 'support' and deleted_at is null
  and (agent, user_id, session_id, run_id) in (
    ('triage', %(user)s, '-', '-'), ('triage', '-', '-', '-'), ('-', '-', '-', '-'))
order by block_key
"""
_SECTIONS: Final = """
select memory_key, agent, user_id, value, content_sha256 from loom.memory
where org = %(org)s and namespace = 'support' and user_id in (%(user)s, '-')
  and memory_type = 'profile' and deleted_at is null
order by memory_key
"""
_FOUND: Final = """
select memory_key, memory.value, ts_rank(words, query) as rank
from to_tsquery('simple', 'know | topic7 | invoices') as query
cross join loom.memory_text as text join loom.memory as memory using (org, memory_id)
where text.org = %(org)s and text.words @@ query and text.namespace = 'support'
  and text.user_id in (%(user)s, '-') and memory.memory_type = any (%(types)s)
  and memory.deleted_at is null
order by rank desc limit 50
"""


@dataclass(frozen=True)
class Line:
    """A pack, its selects, and selects that render, in milliseconds."""

    what: str
    ours: float
    plain: float
    rendering: float


def measure(conninfo: str, facts: Sequence[int], calls: int) -> Iterator[Line]:
    """Packs of users with ever more facts, without a query and with one."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.prepare_threshold = 0
        for size in facts:
            _fill(connection, size)
        connection.execute("vacuum (analyze)")
        for size in facts:
            for query in (None, _QUERY):
                yield _line(connection, size, query, calls)


def _fill(connection: psycopg.Connection[Any], facts: int) -> None:
    user = {"user_id": f"with-{facts}"}
    for number in range(BLOCKS):
        block = {"block_key": f"k{number}", "content": _NOTE * 5}
        _call(connection, "working_memory_set", {**_PLACE, **user, **block})
    for number in range(SECTIONS):
        section = {"label": f"l{number}", "value": _NOTE * 5}
        _call(connection, "profile_set", {**_PLACE, **user, **section})
    given = {"org": ORG, "user": user["user_id"], "facts": facts, "topics": TOPICS, "note": _NOTE}
    connection.execute(_FILL.encode(), given)


def _line(connection: psycopg.Connection[Any], facts: int, query: str | None, calls: int) -> Line:
    user = f"with-{facts}"
    request = {**_PLACE, "user_id": user, "token_budget": 8000}
    search: list[tuple[str, list[str] | None]] = []
    if query is not None:
        request["query"] = query
        search = [(_FOUND, ["semantic", "preference"]), (_FOUND, ["decision"])]
    sides: dict[str, Callable[[], object]] = {
        "ours": lambda: _call(connection, "context_pack", request),
        "plain": lambda: _select(connection, user, [(_BLOCKS, None), (_SECTIONS, None), *search]),
        "rendering": lambda: _select(
            connection, user, [(_rendering(name), None) for name in _RENDERS] + search
        ),
    }
    times: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(calls):
        for side, call in sides.items():
            times[side].append(_timed(call))
    what = f"{facts:,} facts, " + ("with a query" if query else "without a query")
    return Line(what, **{side: median(taken) * 1e3 for side, taken in times.items()})


def _rendering(name: str) -> str:
    """What ``make bench`` holds a render against, on Loom's own tables."""
    statement = (_RAW / f"{name}.sql").read_text()
    return statement.replace("bench.block", "loom.working_memory").replace(
        "bench.memory", "loom.memory"
    )


def _select(
    connection: psycopg.Connection[Any], user: str, statements: list[tuple[str, list[str] | None]]
) -> None:
    for statement, types in statements:
        given = {**_PLACE, "user": user, "user_id": user, "types": types}
        connection.execute(statement.encode(), given).fetchall()


def _call(connection: psycopg.Connection[Any], function: str, request: dict[str, Any]) -> bytes:
    """The answer's bytes, as the API sends them on."""
    with connection.cursor(binary=False) as cursor:
        cursor.execute(f"select loom.{function}(%s)".encode(), [Jsonb(request)])
        assert cursor.pgresult is not None
        answer = cursor.pgresult.get_value(0, 0)
    assert answer is not None
    return answer


def _timed(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def text(lines: Sequence[Line], described: dict[str, Any]) -> str:
    """The result as a page."""
    rows = [
        f"| {line.what} | {line.ours:.2f} | {line.plain:.2f} | {_held(line.ours / line.plain)} | "
        f"{line.rendering:.2f} | {_held(line.ours / line.rendering)} |"
        for line in lines
    ]
    return "\n".join(
        [
            f"{described['at']}: {described['processors']} × {described['processor']}; "
            f"PostgreSQL {described['postgresql']}; load before {described['load_before']:.1f}",
            "",
            f"context.pack of {BLOCKS} blocks and {SECTIONS} sections, one statement, over the sum "
            "of its selects; one client, milliseconds. The first selects render and hash nothing, "
            "the second do.",
            "",
            f"| | context.pack | selects | over them, at most {MOST:g} | rendering selects | over "
            f"them, at most {MOST:g} |",
            "|---|--:|--:|--:|--:|--:|",
            *rows,
            "",
        ]
    )


def _held(ratio: float) -> str:
    return f"{ratio:.2f}, {'kept' if ratio <= MOST else 'not kept'}"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and keep the results."""
    parser = argparse.ArgumentParser(prog="make bench-context", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, for a first look")
    parser.add_argument("--data", type=Path, default=_ROOT / "build")
    parser.add_argument("--results", type=Path, default=_ROOT / "bench" / "results")
    args = parser.parse_args(argv)
    load = os.getloadavg()[0]
    with stage(args.data, lambda said: print(f"bench: {said}", file=sys.stderr)) as ready:
        described = machine.describe(ready.admin) | {"load_before": load}
        sizes = (10, 100) if args.quick else FACTS
        lines = list(measure(ready.admin, sizes, 30 if args.quick else 400))
    report = text(lines, described)
    print(report)
    if not args.quick:
        name = f"{datetime.now(UTC).date().isoformat()}-context.md"
        (args.results / name).write_text(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
