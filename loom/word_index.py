"""The index of words that full text searches, and building it anew.

PostgreSQL keeps every word that such an index ever held, also when no row has it any more: that of
erased users, and every number and id that was in a text once. Built anew it has from a third to
three quarters of the bytes of its rows where texts share their words, and up to three times as many
where they are mostly of numbers and ids. So each build notes what it came to, as the index's
comment, and by that the index is judged from then on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import psycopg
from psycopg import sql

from loom import index_builds
from loom.index_builds import IndexBusyError

Connection = psycopg.Connection[Any]

LEAST_BYTES: Final = 2**20
"""A smaller one is left as it is, whatever is in it."""

LOCK_TIMEOUT: Final = "5s"
"""How long the table's lock is waited for, which vacuum has, and a build of someone else's."""

_NOTE: Final = "Built anew with {:.2f} bytes for each byte of rows."

_SIZES = """
select pg_catalog.pg_relation_size(i.oid), pg_catalog.pg_table_size(t.oid),
  substring(pg_catalog.obj_description(i.oid, 'pg_class') from 'with ([0-9.]+) bytes')::float
from pg_catalog.pg_class i, pg_catalog.pg_class t
where i.oid = to_regclass('loom.memory_text_words_idx') and t.oid = to_regclass('loom.memory_text')
"""

# PostgreSQL's names for the index beside which another is built, and the one it was.
_LEFT_OVER = """
select c.relname from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid
where i.indrelid = to_regclass('loom.memory_text') and not i.indisvalid
  and c.relname ~ '^memory_text_words_idx_cc(new|old)[0-9]*$'
"""

_REBUILD = "reindex index concurrently loom.memory_text_words_idx"


@dataclass(frozen=True)
class Sizes:
    """Bytes of the index, and of the rows that it is of; ``built_share``: what its share was when
    it was built, 0 where that is not known."""

    index: int
    rows: int
    built_share: float

    @property
    def share(self) -> float:
        """Bytes of the index for each of its rows."""
        return self.index / max(self.rows, 1)

    def outgrown(self, least: int = LEAST_BYTES, times: float = 1.0) -> bool:
        """Whether it is larger than so many bytes and so many times what it should be, and so is
        mostly of words that no row has any more."""
        return self.index > least and self.share > times * max(1.0, 1.5 * self.built_share)

    def __str__(self) -> str:
        return f"{self.index / 2**20:.1f} MiB for {self.rows / 2**20:.1f} MiB of rows"


def sizes(conn: Connection) -> Sizes | None:
    """Of the index as it is; None where the schema is not there yet."""
    row = conn.execute(_SIZES).fetchone()
    return None if row is None else Sizes(row[0], row[1], row[2] or 0.0)


def renew(conn: Connection, *, always: bool = False) -> bool:
    """Build it anew beside its use if it is outgrown, or in any case; whether it was built.

    ``conn`` is the migration login's, in autocommit mode. What a build that was cut off left behind
    is dropped. Raises ``IndexBusyError``, and what psycopg raises.
    """
    found = sizes(conn)
    wanted = found is not None and (always or found.outgrown())
    if not (wanted or conn.execute(_LEFT_OVER).fetchone()):
        return False
    with index_builds.alone(conn):
        _wait_for_others(conn)
        for (name,) in conn.execute(_LEFT_OVER).fetchall():
            index_builds.drop(conn, name)
        if wanted:
            conn.execute(_REBUILD)
            _note(conn)
    return wanted


def _wait_for_others(conn: Connection) -> None:
    """Go on when nobody else builds an index of this table or vacuums it.

    Someone's build by hand leaves what looks like a left-over while it is under way, and would be
    ended as one side of a deadlock: it waits for statements that were there before it, and these
    for its lock. A statement that only takes a lock is none of them.
    """
    try:
        with conn.transaction():
            conn.execute(sql.SQL("set local lock_timeout = {}").format(LOCK_TIMEOUT))
            conn.execute("lock table loom.memory_text in share update exclusive mode")
    except psycopg.errors.LockNotAvailable:
        raise IndexBusyError("another session vacuums the table or builds an index of it") from None


def _note(conn: Connection) -> None:
    built = sizes(conn)
    assert built is not None
    conn.execute(
        sql.SQL("comment on index loom.memory_text_words_idx is {}").format(
            _NOTE.format(built.share)
        )
    )
