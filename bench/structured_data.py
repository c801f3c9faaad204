"""What the measurements of structured profiles work on, made by statements rather than by calls."""

from __future__ import annotations

from typing import Any, Final

import psycopg
from psycopg.types.json import Jsonb

from bench.workloads import ORG

SCHEMAS: Final = tuple(
    {
        "type": "object",
        "properties": {
            "preferred_name": {"type": "string", "description": f"What to call the user ({n})"},
            "languages": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Languages they speak",
            },
        },
    }
    for n in range(9)
)

_PLACE: Final = {"org": ORG, "namespace": "support"}

# Facts like the one that is there, whatever columns a fact has, each a source of its own.
_MULTIPLY: Final = """
insert into loom.memory
select multiplied.* from loom.memory as fact, generate_series(1, %(more)s) as n
cross join lateral jsonb_populate_record(fact, jsonb_build_object('memory_id', gen_random_uuid(),
  'memory_key', 'fact-' || n, 'content_sha256', md5(n::text), 'source_part', (
    ('x' || md5(n::text))::bit(128))::text)) as multiplied
where fact.org = %(org)s and fact.user_id = %(user_id)s and fact.memory_key = 'fact'
"""

# Users that are up to date under the first schema.
_USERS: Final = (
    """
    insert into loom.user_state (org, namespace, user_id, created_at, source_digest, source_count)
    select %(org)s, 'many', 'user-' || n, now(), 1::bit(128), 1
    from generate_series(1, %(users)s) as n
    """,
    """
    insert into loom.build (org, namespace, kind, user_id, schema_rev, row_state, built_at,
      built_digest, built_count, built_sha256)
    select %(org)s, 'many', 'structured_profile', 'user-' || n, 1, 'served', now(), 1::bit(128), 1,
      schema.schema_sha256
    from generate_series(1, %(users)s) as n, loom.profile_schema as schema
    where schema.org = %(org)s and schema.namespace = 'many'
    """,
)


def user_of(facts: int) -> str:
    """The user with so many facts."""
    return f"with-{facts}"


def add_facts(connection: psycopg.Connection[Any], facts: int) -> None:
    """Make the user with so many facts."""
    _fact(connection, user_of(facts))
    connection.execute(
        _MULTIPLY.encode(), {"org": ORG, "user_id": user_of(facts), "more": facts - 1}
    )


def insert_once(connection: psycopg.Connection[Any], rows: int) -> None:
    """Write so many facts of one user in one statement, and take them back."""
    with connection.transaction(force_rollback=True):
        _fact(connection, "at-once")
        connection.execute(_MULTIPLY.encode(), {"org": ORG, "user_id": "at-once", "more": rows})


def add_users(connection: psycopg.Connection[Any], users: int) -> None:
    """Fill the namespace `many` with users whose profiles are up to date."""
    request = {"org": ORG, "namespace": "many", "json_schema": SCHEMAS[0]}
    connection.execute("select loom.profile_schema_set(%s)", [Jsonb(request)])
    for statement in _USERS:
        connection.execute(statement.encode(), {"org": ORG, "users": users})


def _fact(connection: psycopg.Connection[Any], user: str) -> None:
    request = {**_PLACE, "user_id": user, "memory_key": "fact", "value": "Prefers short answers."}
    connection.execute("select loom.memory_set(%s)", [Jsonb(request)])
