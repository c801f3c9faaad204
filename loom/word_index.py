"""The index of words that full text searches, and building it anew.

PostgreSQL keeps every word that such an index ever held, also when no row has it any more: that of
erased users, and every number and id that was in a text once. Built anew it mostly has from a third
to three quarters of the bytes of its rows; where hardly a word is in two texts, more than these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import psycopg

from loom import index_builds

Connection = psycopg.Connection[Any]

NAME: Final = "memory_text_words_idx"
LEAST_BYTES: Final = 2**20
"""A smaller one is left as it is, whatever is in it."""

_SIZES = """
select pg_catalog.pg_relation_size(i.oid), pg_catalog.pg_table_size(t.oid)
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
    """Bytes of the index, and of the rows that it is of."""

    index: int
    rows: int

    @property
    def share(self) -> float:
        """Bytes of the index for each of its rows."""
        return self.index / max(self.rows, 1)

    def outgrown(self, fresh_share: float = 0.0) -> bool:
        """Whether the index has outgrown its rows, and so is mostly of words that none has any
        more. `fresh_share` is what its share was when it was built, where that is known."""
        return self.index > LEAST_BYTES and self.share > max(1.0, 1.5 * fresh_share)

    def __str__(self) -> str:
        return f"{self.index / 2**20:.1f} MiB for {self.rows / 2**20:.1f} MiB of rows"


def sizes(conn: Connection) -> Sizes | None:
    """Of the index as it is; None where the schema is not there yet."""
    row = conn.execute(_SIZES).fetchone()
    return None if row is None else Sizes(*row)


def renew(conn: Connection, *, fresh_share: float = 0.0, always: bool = False) -> Sizes | None:
    """Build it anew beside its use if it is outgrown, or in any case; its sizes then, else None.

    ``conn`` is the migration login's, in autocommit mode. What a build that was cut off left behind
    is dropped. Raises ``IndexBusyError``, and what psycopg raises.
    """
    found = sizes(conn)
    left = [name for (name,) in conn.execute(_LEFT_OVER).fetchall()]
    wanted = found is not None and (always or found.outgrown(fresh_share))
    if not (left or wanted):
        return None
    with index_builds.alone(conn):
        for name in left:
            index_builds.drop(conn, name)
        if wanted:
            conn.execute(_REBUILD)
    return sizes(conn) if wanted else None
