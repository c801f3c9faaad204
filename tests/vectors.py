"""Vectors in tests: whether the server has them, and rows for tests that look for leaks."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

Connection = psycopg.Connection[Any]
Answer = dict[str, Any]


def has_vectors(conn: Connection) -> bool:
    """Whether the database has what the extension vector adds."""
    row = conn.execute("select to_regclass('loom.embedding') is not null").fetchone()
    return bool(row and row[0])


def need_vectors(conn: Connection) -> None:
    """Skips the test on a server without pgvector."""
    if not has_vectors(conn):
        pytest.skip("this server has no pgvector")


def seed_vectors(conn: Connection, org: str) -> None:
    """Rows of an org in every table about vectors, as if made by a model `m`."""
    conn.execute(
        "insert into loom.embedding_due (org, memory_id, model, namespace, user_id, due_at)"
        " select org, memory_id, 'm', namespace, user_id, now() from loom.memory_text"
        " where org = %s",
        (org,),
    )
    if has_vectors(conn):
        conn.execute(
            "insert into loom.embedding (org, memory_id, model, namespace, user_id, plane,"
            " content_sha256, embedding, made_at)"
            " select org, memory_id, 'm', namespace, user_id, plane, content_sha256,"
            " '[1, 2, 3]', now() from loom.memory_text where org = %s",
            (org,),
        )


def worked(conn: Connection, function: str, **request: Any) -> Answer:
    """Calls a function of the worker or the operator that takes and gives JSON."""
    statement = f"select loom.{function}(%s)".encode()
    row = conn.execute(statement, (Jsonb(request),)).fetchone()
    assert row is not None
    answer: Answer = row[0]
    return answer


def embed(conn: Connection, vectors: dict[str, list[float]], *, org: str, model: str) -> Answer:
    """Makes every due text of an org a vector: that of the first key that is in the text."""
    claim = worked(conn, "embedding_claim", org=org, model=model, limit=256)
    items = [
        {
            "memory_id": item["memory_id"],
            "content_sha256": item["content_sha256"],
            "embedding": next(made for word, made in vectors.items() if word in item["text"]),
        }
        for item in claim["items"]
    ]
    if not items:
        return {"stored": 0, "refused": 0}
    place = {"org": org, "model": model, "lease_id": claim["lease_id"]}
    return worked(conn, "embedding_store", **place, items=items)


def active_model(conn: Connection, model: str) -> None:
    """Adds a model where there is no text yet, so that it becomes the active one."""
    worked(conn, "embedding_model_add", model=model)
    worked(conn, "embedding_advance")
