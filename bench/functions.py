"""An operation's SQL function, by the operation's name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb


@cache  # called within what is timed
def statement(op: str) -> bytes:
    """What calls the function; its one parameter is the request."""
    name = sql.Identifier("loom", op.replace(".", "_"))
    return sql.SQL("select {}(%s)").format(name).as_bytes(None)


def answer(connection: psycopg.Connection[Any], op: str, request: Mapping[str, Any]) -> Any:
    """The answer to one request."""
    row = connection.execute(statement(op), [Jsonb(dict(request))]).fetchone()
    return row and row[0]
