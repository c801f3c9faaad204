"""What all builds of an index beside its use have in common.

A concurrent build waits for every transaction that was under way, so it holds no lock that such a
one may wait for, but for one that keeps other builds away. One that is cut off leaves an index that
nothing reads and every write keeps: it is found by not being valid, and dropped before the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg
from psycopg import sql

Connection = psycopg.Connection[Any]

LOCK: Final = 0x6C6F6F6D_656D6265
"""Of the session that builds or drops such an index."""

_VALID = """
select i.indisvalid from pg_catalog.pg_index i
join pg_catalog.pg_class c on c.oid = i.indexrelid
where c.relname = %s and c.relnamespace = to_regnamespace('loom')
"""


class IndexBusyError(Exception):
    """Another session is at such an index; the text says so."""


# Of the role or the database, and each would cut off a build that waits for a long transaction.
_NO_TIMEOUTS = """
select pg_catalog.set_config(name, '0', false) from pg_catalog.pg_settings
where name in ('statement_timeout', 'lock_timeout', 'transaction_timeout')
"""


@contextmanager
def alone(conn: Connection) -> Iterator[None]:
    """Hold the lock of builds. Tried, not waited for: a waiting statement is a transaction that the
    other build would wait for in turn. Raises ``IndexBusyError``."""
    conn.execute(_NO_TIMEOUTS)
    row = conn.execute("select pg_try_advisory_lock(%s)", (LOCK,)).fetchone()
    if row is None or not row[0]:
        raise IndexBusyError("another session builds or drops such an index just now")
    try:
        yield
    finally:
        if not conn.closed:
            conn.execute("select pg_advisory_unlock(%s)", (LOCK,))


def is_valid(conn: Connection, name: str) -> bool | None:
    """Whether an index can be used; None where there is none."""
    row = conn.execute(_VALID, (name,)).fetchone()
    return None if row is None else bool(row[0])


def drop(conn: Connection, name: str) -> None:
    """Drop an index if it is there, beside its use."""
    index = sql.Identifier("loom", name)
    conn.execute(sql.SQL("drop index concurrently if exists {}").format(index))
