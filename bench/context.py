"""``make bench-context``: what a pack costs, against the selects one would write by hand for it.

A user with 5 blocks, 8 profile sections and 10 or 10,000 facts, of which a query finds some. Two
floors, each a client that sends prepared statements one after the other, one for each section that
a pack has by default: live blocks, current sections, the user's own profile, and with a query facts
and decisions by full text. Those of the first return rows and render nothing; those of the second
return each section as the text that the pack has, with its hash and what it is made of. Neither
hashes or counts the whole, and neither checks who asks. One client, all sides in turn.
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

from bench import functions, machine
from bench.servers import stage
from bench.workloads import BLOCKS, ORG, SECTIONS

_ROOT = Path(__file__).resolve().parents[1]
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
select block_key, content, content_sha256 from loom.working_memory
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
_PROFILE: Final = """
select profile from loom.user_profile
where org = %(org)s and namespace = 'support' and user_id = %(user)s
  and scope_tenant = '' and scope_user = '' and scope_thread = '' and scope_kind = ''
"""
_FOUND: Final = """
select memory_id, memory_key, memory.user_id, memory.value, memory.content_sha256,
  ts_rank(words, query) as rank
from to_tsquery('simple', 'know | topic7 | invoices') as query
cross join loom.memory_text as text join loom.memory as memory using (org, memory_id)
where text.org = %(org)s and text.words @@ query and text.namespace = 'support'
  and text.user_id in (%(user)s, '-') and memory.memory_type = any (%(types)s)
  and memory.deleted_at is null
order by rank desc limit 50
"""
# A section of the rows of a select: its text, its hash, and what it is made of.
_RENDERED: Final = """
with item as ({select}), section as (
  select string_agg({opened} || replace(replace(replace({text}, '&', '&amp;'), '<', '&lt;'),
      '>', '&gt;') || '</{element}>', E'\\n' order by {order}) as body,
    jsonb_agg(jsonb_build_object({named}) order by {order}) as items
  from item
)
select body, encode(sha256(convert_to(body, 'UTF8')), 'hex'), items from section
"""
_BLOCKS_RENDERED: Final = _RENDERED.format(
    select=_BLOCKS,
    opened="""'<working-memory block="' || block_key || '">'""",
    text="content",
    element="working-memory",
    order="block_key",
    named="'block_key', block_key, 'content_sha256', content_sha256",
)
_SECTIONS_RENDERED: Final = _RENDERED.format(
    select=_SECTIONS,
    opened="""'<section label="' || memory_key || '" user="' || user_id || '">'""",
    text="value #>> '{}'",
    element="section",
    order="memory_key",
    named="'label', memory_key, 'user_id', user_id, 'content_sha256', content_sha256",
)
_FOUND_RENDERED: Final = _RENDERED.format(
    select=_FOUND,
    opened="""'<memory key="' || memory_key || '" user="' || user_id || '">'""",
    text="value #>> '{}'",
    element="memory",
    order="rank desc",
    named="'memory_id', memory_id, 'user_id', user_id, 'content_sha256', content_sha256",
)
_FACTS: Final = ("semantic", "preference")
_DECISIONS: Final = ("decision",)


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
        _call(connection, "working_memory.set", {**_PLACE, **user, **block})
    for number in range(SECTIONS):
        section = {"label": f"l{number}", "value": _NOTE * 5}
        _call(connection, "profile.set", {**_PLACE, **user, **section})
    given = {"org": ORG, "user": user["user_id"], "facts": facts, "topics": TOPICS, "note": _NOTE}
    connection.execute(_FILL.encode(), given)


def _line(connection: psycopg.Connection[Any], facts: int, query: str | None, calls: int) -> Line:
    user = f"with-{facts}"
    request = {**_PLACE, "user_id": user, "token_budget": 8000}
    kinds: tuple[Sequence[str], ...] = ()
    if query is not None:
        request["query"] = query
        kinds = (_FACTS, _DECISIONS)
    sides: dict[str, Callable[[], object]] = {
        "ours": lambda: _call(connection, "context.pack", request),
        "plain": lambda: _select(connection, user, [_BLOCKS, _SECTIONS, _PROFILE], _FOUND, kinds),
        "rendering": lambda: _select(
            connection,
            user,
            [_BLOCKS_RENDERED, _SECTIONS_RENDERED, _PROFILE],
            _FOUND_RENDERED,
            kinds,
        ),
    }
    times: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(calls):
        for side, call in sides.items():
            times[side].append(_timed(call))
    what = f"{facts:,} facts, " + ("with a query" if query else "without a query")
    return Line(what, **{side: median(taken) * 1e3 for side, taken in times.items()})


def _select(
    connection: psycopg.Connection[Any],
    user: str,
    statements: Sequence[str],
    search: str,
    kinds: Sequence[Sequence[str]],
) -> None:
    given = {"org": ORG, "user": user}
    for statement in statements:
        connection.execute(statement.encode(), given).fetchall()
    for types in kinds:
        connection.execute(search.encode(), {**given, "types": list(types)}).fetchall()


def _call(connection: psycopg.Connection[Any], op: str, request: dict[str, Any]) -> bytes:
    """The answer's bytes, as the API sends them on."""
    with connection.cursor(binary=False) as cursor:
        cursor.execute(functions.statement(op), [Jsonb(request)])
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
            "of its selects, one a section; one client, milliseconds. The first selects return "
            "rows, the second each section as text with its hash.",
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
