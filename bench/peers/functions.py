"""Loom's SQL functions through an asynchronous connection."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import psycopg
from psycopg.types.json import Jsonb, set_json_dumps, set_json_loads

from bench import functions
from bench.workloads import Request

AsyncCall = Callable[[Request], Awaitable[Any]]


@asynccontextmanager
async def connected(conninfo: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    """A connection as door b has one, but that does not block."""
    async with await psycopg.AsyncConnection.connect(
        conninfo, autocommit=True, prepare_threshold=0
    ) as connection:
        set_json_dumps(msgspec.json.encode, connection)
        set_json_loads(msgspec.json.decode, connection)
        yield connection


def function_call(connection: psycopg.AsyncConnection[Any], op: str) -> AsyncCall:
    """What sends a request to the operation's function and returns the answer."""
    statement, cursor = functions.statement(op), connection.cursor()

    async def call(request: Request) -> Any:
        row = await (await cursor.execute(statement, [Jsonb(request)])).fetchone()
        return row and row[0]

    return call
