"""What the tables say in the end, counted by their owner past indexes, policies and functions."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from tests.chaos.findings import Findings
from tests.chaos.history import History
from tests.chaos.load import CLIENTS
from tests.chaos.planes.structured_profile import PROPERTIES, row_of, users_of
from tests.vectors import has_vectors

Connection = psycopg.Connection[Any]
Row = dict[str, Any]

# What an index would hide, after a server was killed, a scan of the table shows.
_PAST_INDEXES: Final = """
set enable_indexscan = off; set enable_indexonlyscan = off; set enable_bitmapscan = off
"""

_TWO_CURRENT: Final = {
    "block": "select org, namespace, agent, user_id, session_id, run_id, block_key as key"
    " from loom.working_memory where deleted_at is null",
    "memory row": "select org, namespace, agent, user_id, session_id, memory_key as key"
    " from loom.memory where deleted_at is null",
    "user profile": "select org, namespace, user_id, scope_tenant, scope_user, scope_thread,"
    " scope_kind as key from loom.user_profile where deleted_at is null",
    "built section": "select org, namespace, user_id, memory_key as key from loom.memory where"
    " deleted_at is null and memory_key in ('structured_profile', 'consolidated_profile')",
    "loom of a scope": "select org, namespace, scope_key as key from loom.loom"
    " where scope_key is not null",
    "thread": "select org, loom_id, user_id, text as key from loom.loom_thread"
    " where deleted_at is null and weaving_id is null",
    "turn": "select org, loom_id, user_id, text as key from loom.loom_turn",
    "signal": "select org, namespace, user_id, signal_id as key from loom.user_profile_signal",
}
"""Rows of which there is one for each key."""

_COUNTED: Final = sql.SQL(
    "select count(*), min(one.key) as key from ({}) as one group by one having count(*) > 1"
)

_GAPS: Final = {
    "memory row": "select memory_id::text as key, row.version,"
    " array_agg(kept.version order by kept.version) as kept from loom.memory as row"
    " left join loom.memory_version as kept using (org, memory_id)"
    " group by org, memory_id, row.version",
    "user profile": "select profile_id::text as key, row.revision as version,"
    " array_agg(kept.revision order by kept.revision) as kept from loom.user_profile as row"
    " left join loom.user_profile_version as kept using (org, profile_id)"
    " group by org, profile_id, row.revision",
    # Of a thread the versions before the one that stands.
    "thread": "select thread_id::text as key, row.version,"
    " array_agg(kept.version order by kept.version) || row.version as kept"
    " from loom.loom_thread as row"
    " left join loom.loom_thread_version as kept using (org, thread_id)"
    " group by org, thread_id, row.version",
}
"""Rows that keep their versions: 1, 2, 3, up to the one that stands."""

_LEFT: Final = {
    "a build's lease": "select user_id from loom.build where lease_id is not null",
    # Listed is what has fallen behind, also while it waits: a try that ends when the clock has been
    # set forward waits anew, and is as little done as one that is due.
    "a build that is due": "select user_id from loom.build"
    " where due_at <= loom._now() or listed_at is not null",
    "signals that wait": "select user_id from loom.user_profile_task",
    "a loom's lease": "select name from loom.loom where lease_id is not null",
    "a weaving under way": "select loom_id::text from loom.loom_weaving"
    " where state in ('queued', 'running')",
    "a vector that is due": "select memory_id::text from loom.embedding_due",
    "an idempotency key without an answer": "select op from loom.idempotency where answer is null",
    "an advisory lock": "select application_name from pg_locks join pg_stat_activity using (pid)"
    " where locktype = 'advisory' and datname = current_database() and pid <> pg_backend_pid()",
    "an open transaction": "select application_name from pg_stat_activity"
    " where state like 'idle in transaction%' and datname = current_database()"
    " and pid <> pg_backend_pid()",
}

# No sources are the same each time that all were deleted; any others bear the times of their rows.
_BUILT_TWICE: Final = """
select kind, user_id, array_agg(version order by version) as versions from (
  select *, count(*) over (partition by namespace, kind, user_id, source) > 1 as returns,
    lag(source) over (partition by namespace, kind, user_id order by version) = source as again
  from chaos.written, concat_ws(' ', digest, sha256) as source
) as written
where again or returns and digest <> 0::bit(128) group by kind, user_id
"""

_BUILT_BEHIND: Final = """
select kind, user_id from loom.v_builds
where row_state = 'served' and not (sources_current and schema_current)
"""

_SOURCES: Final = ("semantic", "preference", "decision")
_FOLDED: Final = ("preference", "decision")


@dataclass
class Census(Findings):
    """What the tables show.

    `two_current`: two rows for one key. `version_gaps`: a version that is missing or beyond the
    last. `digests_off`: a stored hash, digest or count that recomputation does not confirm.
    `built_twice`: a structured profile or fold written twice from the same sources. `built_behind`:
    one that is not of the sources that are there, or does not say what they say. `leases_left`: a
    claim, a lease, a lock, and work that nobody does. `erased_left`: rows of users whose erasure
    was acknowledged.
    """

    two_current: list[str] = field(default_factory=list)
    version_gaps: list[str] = field(default_factory=list)
    digests_off: list[str] = field(default_factory=list)
    built_twice: list[str] = field(default_factory=list)
    built_behind: list[str] = field(default_factory=list)
    leases_left: list[str] = field(default_factory=list)
    erased_left: list[str] = field(default_factory=list)


def take(
    conn: Connection, history: History, rows: Mapping[str, str | None], waiting: list[str]
) -> Census:
    """Count, on a connection of the owner. `rows` are the texts of the facts in the end, `waiting`
    what was `left` when the workers had been given their time."""
    conn.execute(_PAST_INDEXES)
    census = Census(leases_left=waiting)
    for what, query in _TWO_CURRENT.items():
        for row in _all(conn, _COUNTED.format(sql.SQL(query))):
            census.two_current.append(f"{row['count']} of {what} {row['key']}")
    for what, query in _GAPS.items():
        for row in _all(conn, query):
            kept = [version for version in row["kept"] if version is not None]
            if kept != list(range(1, row["version"] + 1)):
                told = f"version {row['version']}, and {len(kept)} are kept"
                census.version_gaps.append(f"{what} {row['key']}: {told}")
    census.digests_off += [*_hashes_off(conn), *_digests_off(conn), *_search_off(conn)]
    if has_vectors(conn):
        census.digests_off += _vectors_off(conn)
    for row in _all(conn, _BUILT_TWICE):
        census.built_twice.append(f"{row['kind']} of {row['user_id']}: {row['versions']}")
    for row in _all(conn, _BUILT_BEHIND):
        census.built_behind.append(f"{row['kind']} of {row['user_id']}")
    census.built_behind += _behind(conn, rows)
    census.erased_left += _erased_left(conn, history.erased)
    return census


def left(conn: Connection) -> list[str]:
    """What the workers have not done, and what nobody has given back."""
    return [
        f"{what}: {next(iter(row.values()))}"
        for what, query in _LEFT.items()
        for row in _all(conn, query)
    ]


def turns(conn: Connection) -> list[str]:
    """The texts of all turns, which no operation lists."""
    return [row["text"] for row in _all(conn, "select text from loom.loom_turn")]


def work(conn: Connection) -> dict[str, int]:
    """How pieces of work ended."""
    counted = _all(conn, "select kind || ' ' || outcome as what, total from loom.work_count")
    return {row["what"]: row["total"] for row in counted}


def _hashes_off(conn: Connection) -> Iterable[str]:
    """Content hashes and lengths of blocks and rows, of their versions too."""
    blocks = "select block_key as key, content as text, content_sha256, value_length from"
    for row in _all(conn, f"{blocks} loom.working_memory where deleted_at is null"):
        yield from _hash_off("block", row, row["text"])
    value = "value, content_sha256, value_length from"
    for row in _all(conn, f"select memory_key as key, {value} loom.memory where value is not null"):
        yield from _hash_off("row", row, canonical(row["value"]))
    versions = f"select memory_id::text as key, {value} loom.memory_version where value is not null"
    for row in _all(conn, versions):
        yield from _hash_off("version of row", row, canonical(row["value"]))


def _hash_off(what: str, row: Row, text: str) -> Iterable[str]:
    if row["content_sha256"] != hashlib.sha256(text.encode()).hexdigest():
        yield f"{what} {row['key']}: content_sha256"
    if row["value_length"] != len(text):
        yield f"{what} {row['key']}: value_length"


def canonical(value: object) -> str:
    """Canonical JSON of the values of a run: texts, and objects of texts and nulls."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _digests_off(conn: Connection) -> Iterable[str]:
    """Each user's source digest and count, from the rows alone."""
    sources: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for twins in _twins(conn).values():
        oldest = min(twins, key=lambda row: (row["created_at"], row["memory_id"]))
        sources[oldest["namespace"], oldest["user_id"]].append(oldest)
    query = (
        "select namespace, user_id, source_digest::text, source_count, fold_digest::text,"
        " fold_count from loom.user_state where user_id <> '-'"
    )
    for state in _all(conn, query):
        found = sources.pop((state["namespace"], state["user_id"]), [])
        folded = [row for row in found if row["memory_type"] in _FOLDED]
        for name, rows in (("source", found), ("fold", folded)):
            stored = (int(state[f"{name}_digest"], 2), state[f"{name}_count"])
            if stored != (digest(rows), len(rows)):
                yield f"user {state['user_id']}: {name} digest or count"
    yield from (f"user {user} has sources and no state" for _, user in sources)


def _twins(conn: Connection) -> dict[tuple[Any, ...], list[Row]]:
    """Rows that may be sources, by what makes them twins."""
    query = """
    select namespace, agent, user_id, session_id, memory_type::text, content_sha256,
      memory_id::text, confidence::numeric(4,3)::text as confidence, valid_at, changed_at,
      created_at
    from loom.memory
    where user_id <> '-' and memory_type = any (%s) and deleted_at is null
      and redacted_at is null and sensitivity <> 'high' and tags = '{}' and expires_at is null
      and valid_to is null
    """
    twins: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in _all(conn, query, [list(_SOURCES)]):
        names = ("namespace", "agent", "user_id", "session_id", "memory_type", "content_sha256")
        twins[tuple(row[name] for name in names)].append(row)
    return twins


def digest(rows: Iterable[Row]) -> int:
    """The xor over rows of 16 bytes of SHA-256 over memory_id|content_sha256|confidence|µs."""
    total = 0
    for row in rows:
        parts = (
            row["memory_id"],
            row["content_sha256"],
            row["confidence"],
            microseconds(row["valid_at"] or row["changed_at"]),
        )
        told = "|".join(map(str, parts)).encode()
        total ^= int.from_bytes(hashlib.sha256(told).digest()[:16], "big")
    return total


def microseconds(at: datetime) -> int:
    """Of the epoch, without the rounding of a float."""
    since = at - datetime.fromisoformat("1970-01-01T00:00:00+00:00")
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _search_off(conn: Connection) -> Iterable[str]:
    """What a row is found by is the row's own text, and of a deleted one there is none."""
    query = """
    select coalesce(memory_key::text, memory_text.memory_id::text) as key
    from loom.memory full join loom.memory_text using (org, memory_id)
    where case when deleted_at is null and redacted_at is null and memory.memory_id is not null
      then memory_text.content_sha256 is distinct from memory.content_sha256
      else memory_text.memory_id is not null end
    """
    return (f"text of row {row['key']}" for row in _all(conn, query))


def _vectors_off(conn: Connection) -> Iterable[str]:
    """Each text has a vector of the model in use, made of this text, and no other row has one."""
    query = """
    select coalesce(text.memory_id, made.memory_id)::text as key
    from (select text.* from loom.memory_text as text, loom.embedding_model
      where state = 'active') as text
    full join loom.embedding as made using (org, memory_id)
    where made.content_sha256 is distinct from text.content_sha256
    """
    return (f"vector of row {row['key']}" for row in _all(conn, query))


def _behind(conn: Connection, rows: Mapping[str, str | None]) -> Iterable[str]:
    """Each structured profile says what the facts behind it say in the end."""
    query = (
        "select user_id, value from loom.memory"
        " where memory_key = 'structured_profile' and deleted_at is null"
    )
    built = {row["user_id"]: row["value"] for row in _all(conn, query)}
    for user in [user for number in range(CLIENTS) for user in users_of(number)]:
        profile = built.get(user, {})
        for name in PROPERTIES:
            fact = rows.get(row_of(user, name))
            wanted = None if fact is None else fact.removeprefix(f"{name}: ")
            if profile.get(name) != wanted:
                yield f"{name} of {user}: {profile.get(name)!r}, not {wanted!r}"


def _erased_left(conn: Connection, users: Sequence[str]) -> Iterable[str]:
    """Rows of erased users in any table but the one that keeps their epoch."""
    tables = _all(
        conn,
        "select table_name from information_schema.columns join information_schema.tables"
        " using (table_schema, table_name) where table_schema = 'loom' and column_name = 'user_id'"
        " and table_type = 'BASE TABLE' and table_name <> 'user_state'",
    )
    for table in [row["table_name"] for row in tables]:
        asked = sql.SQL(
            "select user_id, count(*) from {} where user_id = any (%s) group by user_id"
        ).format(sql.Identifier("loom", table))
        for row in _all(conn, asked, [list(users)]):
            yield f"{row['count']} rows of {row['user_id']} in {table}"


def _all(conn: Connection, query: Any, parameters: Sequence[object] = ()) -> list[Row]:
    with conn.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(query, parameters or None).fetchall()
