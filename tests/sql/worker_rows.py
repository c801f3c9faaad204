"""Rows as the worker writes them: derived from facts, with the sources that a redaction follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from tests.calls import Connection
from tests.sql.doors import IDENTITY

_OWNER = {**IDENTITY, "user_id": "-", "session_id": "-"}

_STORE = """
select (written.stored).memory_id::text, (written.stored).version
from (
  select loom._memory_store(standing.old, jsonb_populate_record(
      loom._memory_measure(
        loom._memory_fresh(jsonb_populate_record(standing.old, %(owner)s), %(type)s), %(value)s),
      jsonb_build_object('source_class', 'derived', 'source_trace', %(trace)s::text,
        'recorded_at', loom._now(), 'changed_at', loom._now())),
    'set', 'worker') as stored
  from (values (1)) as one
  left join loom.memory as found on (found.org, found.namespace, found.agent, found.user_id,
      found.session_id, found.memory_key)
    = (%(owner)s ->> 'org', %(owner)s ->> 'namespace', %(owner)s ->> 'agent',
      %(owner)s ->> 'user_id', %(owner)s ->> 'session_id', %(owner)s ->> 'memory_key')
  cross join lateral (select case when found.org is null then null::loom.memory else found end)
    as standing (old)
  offset 0
) as written
"""

_SOURCE = (
    "insert into loom.memory_source (org, source_id, memory_id, version, namespace, user_id)"
    " values (%(org)s, %(source)s, %(row)s, %(version)s, %(namespace)s, %(user_id)s)"
)


def lock_as_worker(conn: Connection, org: str, namespace: str, user: str) -> None:
    """The first two locks of a completion: the user's, then the user's state row."""
    conn.execute("select pg_advisory_xact_lock_shared(loom._user_lock_key(%s, %s))", (org, user))
    conn.execute(
        "update loom.user_state set rev = rev + 1"
        " where org = %s and namespace = %s and user_id = %s",
        (org, namespace, user),
    )


def worker_writes(
    conn: Connection,
    key: str,
    value: Any,
    sources: Sequence[str] = (),
    *,
    memory_type: str = "profile",
    **owner: str,
) -> str:
    """Writes the next version of a row as derived from others, by their ids; its memory_id.

    The connection is a superuser's.
    """
    named = {**_OWNER, **owner, "memory_key": key}
    row = conn.execute(
        _STORE,
        {
            "owner": Jsonb(named),
            "type": memory_type,
            "value": Jsonb(value),
            "trace": "profile.fold:" + ",".join(sources),
        },
    ).fetchone()
    assert row is not None
    memory_id, version = row
    for source in sources:
        conn.execute(_SOURCE, {**named, "source": source, "row": memory_id, "version": version})
    return str(UUID(memory_id))
