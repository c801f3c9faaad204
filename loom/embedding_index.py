"""The index that a search by vectors uses beyond what it can scan: one a model, built while Loom is
in use.

It is no part of a migration, but built as ``loom.index_builds`` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import md5
from threading import Event, Thread
from typing import Any, Final

import psycopg
from psycopg import sql

from loom import index_builds
from loom.migrate_extensions import extension_schemas

Connection = psycopg.Connection[Any]
Say = Callable[[str], None]

MOST_VECTOR: Final = 2000
MOST_HALFVEC: Final = 4000
"""Dimensions that an HNSW index of each type can have."""

WATCH_SECONDS: Final = 2.0

_PROGRESS = """
select phase, case when tuples_total > 0 then 100 * tuples_done / tuples_total end
from pg_catalog.pg_stat_progress_create_index where pid = %s
"""


class EmbeddingsError(Exception):
    """What was asked for cannot be done with a model; the text says why."""


@dataclass(frozen=True)
class EmbeddingIndex:
    """The index of a model with vectors of this ``dimension``. ``schema`` is the extension's."""

    model: str
    dimension: int
    schema: str

    @property
    def name(self) -> str:
        """Of a model's own name, which may hold anything; as ``loom._embedding_index`` has it, by
        which searches find it."""
        digest = md5(self.model.encode(), usedforsecurity=False).hexdigest()
        return f"embedding_hnsw_{digest[:16]}"

    @property
    def kind(self) -> str:
        """The type that is indexed: of half precision where that of single has no room."""
        if self.dimension > MOST_HALFVEC:
            raise EmbeddingsError(
                f"vectors of {self.dimension} dimensions have no index "
                f"(pgvector: {MOST_HALFVEC} at most); searches stay exact"
            )
        return "vector" if self.dimension <= MOST_VECTOR else "halfvec"

    def statement(self) -> sql.Composed:
        """What builds it. The expression is the one that searches order by."""
        return sql.SQL(
            "create index concurrently {name} on loom.embedding "
            "using hnsw ((embedding::{schema}.{kind}({dimension})) {schema}.{opclass}) "
            "where model = {model}"
        ).format(
            name=sql.Identifier(self.name),
            schema=sql.Identifier(self.schema),
            kind=sql.Identifier(self.kind),
            dimension=sql.Literal(self.dimension),
            opclass=sql.Identifier(f"{self.kind}_cosine_ops"),
            model=sql.Literal(self.model),
        )

    def is_valid(self, conn: Connection) -> bool | None:
        """Whether it can be used; None where there is none."""
        return index_builds.is_valid(conn, self.name)

    def build(self, conn: Connection, watch: Connection, say: Say) -> bool:
        """Build it, unless it is there; return whether it was built. ``conn`` and ``watch`` are in
        autocommit mode, ``watch`` for a look at how far the build is."""
        statement = self.statement()
        with index_builds.alone(conn):
            valid = self.is_valid(conn)
            if valid:
                return False
            if valid is False:
                say(f"{self.name} was left unfinished: it is dropped and built anew")
                index_builds.drop(conn, self.name)
            with _watched(conn, watch, say):
                conn.execute(statement)
        return True

    def drop(self, conn: Connection) -> bool:
        """Drop it; return whether it was there."""
        with index_builds.alone(conn):
            there = self.is_valid(conn) is not None
            index_builds.drop(conn, self.name)
        return there


def vector_schema(conn: Connection) -> str:
    """The schema of the extension `vector`. Raises ``EmbeddingsError`` where there is none."""
    schema = extension_schemas(conn).get("vector")
    if schema is None:
        raise EmbeddingsError("the database has no extension `vector`: there are no vectors")
    return schema


@contextmanager
def _watched(conn: Connection, watch: Connection, say: Say) -> Iterator[None]:
    """Say from another thread how far the statement of ``conn`` is."""
    done = Event()
    pid = conn.info.backend_pid

    def look() -> None:
        told = ""
        while not done.wait(WATCH_SECONDS):
            try:
                row = watch.execute(_PROGRESS, (pid,)).fetchone()
            except psycopg.Error as lost:
                say(f"how far it is cannot be seen any longer ({type(lost).__name__})")
                return
            if row is not None:
                text = row[0] if row[1] is None else f"{row[0]}: {row[1]} %"
                if text != told:
                    say(text)
                told = text

    thread = Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
