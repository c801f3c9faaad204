"""Calling operations from tests: as the API does, as a service does, and expecting refusals."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

Connection = psycopg.Connection[Any]
Answer = dict[str, Any]


@dataclass(frozen=True)
class Token:
    """A minted token: its text as a client sends it, and the answer of `token.mint`."""

    text: str
    answer: Answer

    @property
    def org_id(self) -> UUID:
        """What `loom.call` takes as p_org."""
        return UUID(self.text.split("_")[1])

    @property
    def secret_sha256(self) -> bytes:
        """What `loom.call` takes as p_token_hash."""
        return hashlib.sha256(self.text.split("_")[2].encode()).digest()


@dataclass
class Refusal:
    """How the database refused; filled when the block of `refused` ends."""

    sqlstate: str = ""
    message: str = ""
    hint: str = ""
    detail: Answer = field(default_factory=dict)


def mint_token(
    conn: Connection, *, org: str = "acme", role: str = "writer", **bounds: Any
) -> Token:
    """Mints as the login of the connection.

    Bounds: namespace, read_user_id, session_id, ttl_seconds.
    """
    answer = operate(conn, "token.mint", org=org, role=role, **bounds)
    return Token(answer["token"], answer)


def operate(conn: Connection, op: str, /, **request: Any) -> Answer:
    """Runs an operation's function directly, as a trusted service does; returns its answer."""
    statement = sql.SQL("select {}(%s)").format(sql.Identifier("loom", op.replace(".", "_")))
    row = conn.execute(statement, (Jsonb(request),)).fetchone()
    assert row is not None
    return row[0]  # type: ignore[no-any-return]


def call(
    conn: Connection, token: Token | None, op: str, /, *, key: str | None = None, **request: Any
) -> Answer:
    """Runs an operation by `loom.call`, as the API does; no token means open mode."""
    row = conn.execute(
        "select loom.call(%s, %s, %s, %s, %s)",
        (
            token.org_id if token else None,
            token.secret_sha256 if token else None,
            op,
            Jsonb(request),
            key,
        ),
    ).fetchone()
    assert row is not None
    return row[0]  # type: ignore[no-any-return]


@contextmanager
def refused(conn: Connection, sqlstate: str) -> Iterator[Refusal]:
    """Expects the block to be refused with an SQLSTATE; the transaction around it goes on."""
    refusal = Refusal()
    with pytest.raises(psycopg.Error) as caught, conn.transaction():
        yield refusal
    diag = caught.value.diag
    assert diag.sqlstate == sqlstate, (
        f"{diag.sqlstate} {diag.message_primary} {diag.message_detail}"
    )
    refusal.sqlstate = sqlstate
    refusal.message = diag.message_primary or ""
    refusal.hint = diag.message_hint or ""
    # Only the LM errors carry their fields as JSON; Postgres's own write prose there.
    if sqlstate.startswith("LM") and diag.message_detail:
        refusal.detail = json.loads(diag.message_detail)


@contextmanager
def acting_as(conn: Connection, login: str) -> Iterator[None]:
    """Makes a superuser's connection another login's (session_user too) for the block."""
    statement = sql.SQL("set session authorization {}").format(sql.Identifier(login))
    conn.execute(statement)
    try:
        yield
    finally:
        if conn.info.transaction_status != psycopg.pq.TransactionStatus.INERROR:
            conn.execute("reset session authorization")
