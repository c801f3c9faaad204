"""A user with a served structured profile, as the worker builds one, and facts by the thousand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from psycopg.types.json import Jsonb

from tests.calls import Answer, Connection, acting_as, operate

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "What the user asks to be called"},
        "city": {"type": "string", "description": "Where the user lives"},
    },
}

USER: Answer = {"org": "acme", "namespace": "main", "user_id": "u1"}

_SCHEMA = (
    "insert into loom.profile_schema"
    " (org, namespace, json_schema, schema_sha256, schema_rev, updated_at, updated_by)"
    " values ('acme', 'main', %s, %s, 1, loom._now(), 'test')"
    " on conflict (org, namespace) do update set json_schema = excluded.json_schema,"
    " schema_sha256 = excluded.schema_sha256, schema_rev = profile_schema.schema_rev + 1"
)

# As loom._memory_store would, but in one statement; every value another one.
MANY = """
insert into loom.memory
select marked.*
from generate_series(1, %(number)s) as n
cross join lateral jsonb_populate_record(null::loom.memory, jsonb_build_object(
  'org', 'acme', 'namespace', 'main', 'agent', 'coder', 'user_id', %(user)s::text,
  'session_id', '-',
  'memory_key', 'n' || n, 'memory_id', gen_random_uuid(), 'memory_type', 'semantic', 'value', n,
  'content_sha256', loom._sha256(n::text), 'value_length', length(n::text), 'char_limit', 262144,
  'tags', '{}'::text[], 'confidence', 1, 'source_class', 'stated', 'pinned', false,
  'sensitivity', 'normal', 'reinforcement_count', 0, 'version', 1, 'recorded_at', loom._now(),
  'changed_at', loom._now(), 'created_at', loom._now(), 'author', 'writer', 'actor', 'writer',
  'created_by', 'writer', 'expires_at', loom._now() + %(lasts)s)) as fresh
cross join lateral loom._source_mark(null, fresh, loom._now()) as marked
"""


def set_schema(conn: Connection, schema: Answer = SCHEMA, sha256: str = "0" * 64) -> None:
    conn.execute(_SCHEMA, (Jsonb(schema), sha256))


def builds(conn: Connection) -> Iterator[tuple[Any, Answer]]:
    """One pass of the worker: each lease with what it is given to read, until nothing is due."""
    conn.execute("update loom.pass set not_before = null")
    with acting_as(conn, "loom_worker"):
        for org, namespace in conn.execute(
            "select org, namespace from loom.work_due('structured_profile')"
        ).fetchall():
            leases = conn.execute(
                "select lease_id from loom.work_claim(%s, %s, 'structured_profile', 20)",
                (org, namespace),
            ).fetchall()
            for (lease_id,) in leases:
                row = conn.execute("select loom.work_read(%s, %s)", (org, lease_id)).fetchone()
                assert row is not None
                yield lease_id, row[0]


def complete(conn: Connection, lease_id: Any, answer: Answer) -> Answer:
    """Ends a lease of org acme with what was built; `work_complete`'s answer."""
    row = conn.execute(
        "select loom.work_complete('acme', %s, %s, '{}')", (lease_id, Jsonb(answer))
    ).fetchone()
    assert row is not None
    return row[0]  # type: ignore[no-any-return]


def serve(conn: Connection) -> None:
    """Has the worker build every user that is due."""
    for lease_id, _ in builds(conn):
        assert complete(conn, lease_id, {"name": "Sam"})["outcome"] in ("written", "unchanged")


def status(conn: Connection, **request: Any) -> str:
    """The status of user u1's profile."""
    answer = operate(conn, "profile.structured", **{**USER, **request})
    return answer["status"]  # type: ignore[no-any-return]
