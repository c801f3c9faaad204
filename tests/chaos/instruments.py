"""What a run puts into its database, beside Loom: a clock that can be set forward, and a note of
each structured profile that was written, with what it was built from.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psycopg
from psycopg import sql

Connection = psycopg.Connection[Any]

_CLOCK = """
create or replace function loom._now() returns timestamptz
language plpgsql volatile
set search_path = loom, pg_temp
as $$
begin
  return clock_timestamp() + interval {ahead};
end
$$
"""

# When the row's version is written, the build still says what was read under its lease.
_NOTES = """
create schema chaos;
create table chaos.written (
  namespace text, user_id text, version bigint, kind text, digest bit(128), sha256 text, lease uuid
);
create function chaos.note() returns trigger language plpgsql security definer as $$
begin
  insert into chaos.written
  select build.namespace, build.user_id, new.version, build.kind, build.read_digest,
    build.lease_sha256, build.lease_id
  from loom.memory
  join loom.build on build.org = memory.org and build.namespace = memory.namespace
    and build.user_id = memory.user_id and build.kind = case memory.memory_key
      when 'structured_profile' then 'structured_profile' else 'profile_consolidation' end
  where memory.org = new.org and memory.memory_id = new.memory_id
    and memory.memory_key in ('structured_profile', 'consolidated_profile');
  return null;
end $$;
create trigger note after insert on loom.memory_version
  for each row when (new.actor = 'worker' and new.memory_type = 'profile')
  execute function chaos.note();
"""


class Clock:
    """`loom._now()` of a database: the server's clock, and as much ahead as it was set forward."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self._connect = connect
        self._ahead = timedelta()

    def forward(self, **amount: float) -> None:
        """Set it forward by what `timedelta` takes. A lease that ends meanwhile has ended."""
        ahead = self._ahead + timedelta(**amount)
        interval = sql.Literal(f"{ahead.total_seconds():g} seconds")
        with self._connect() as conn:
            conn.execute(sql.SQL(_CLOCK).format(ahead=interval))
        self._ahead = ahead


def install(conn: Connection) -> None:
    """Begin to note what is written."""
    conn.execute(_NOTES)
