"""Calling over a pool of its own, and doing to its connections what happens to them in life."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import uvloop

from loom.gateway import Patience, Pool
from tests.calls import Token, mint_token
from tests.databases import Database

Connection = psycopg.Connection[Any]

# For tests of what happens when patience ends; others wait as long as a slow machine needs.
QUICK = Patience(connect=2.0, wait=0.5, look=0.02)
USUAL = Patience(wait=30.0, connect=30.0, look=0.02)


class Caller:
    """Calls operations over a pool as one token."""

    def __init__(self, pool: Pool, token: Token) -> None:
        self.pool = pool
        self._token = token

    async def read(self, **request: Any) -> dict[str, Any]:
        return await self._call("working_memory.get", request, write=False)

    async def append(self, **request: Any) -> dict[str, Any]:
        return await self._call("working_memory.append", request, write=True)

    async def _call(self, op: str, request: dict[str, Any], *, write: bool) -> dict[str, Any]:
        answer = await self.pool.call(
            self._token.org_id.bytes,
            self._token.secret_sha256,
            op,
            json.dumps(request).encode(),
            None,
            write,
        )
        result: dict[str, Any] = json.loads(answer)
        return result


Body = Callable[[Caller, Connection], Awaitable[None]]


def run(database: Database, body: Body, *, patience: Patience = USUAL, **pool: int) -> None:
    """Run `body` with a pool of its own and a connection of the migration login."""
    admin = database.connect()
    token = mint_token(admin, org="acme", role="admin", namespace="n")

    async def main() -> None:
        async with Pool(database.dsn("loom_gateway"), patience=patience, **pool) as opened:
            await body(Caller(opened, token), admin)

    uvloop.run(main())


def sessions(admin: Connection) -> list[int]:
    """The gateway's server processes in this database."""
    rows = admin.execute(
        "select pid from pg_stat_activity where usename = 'loom_gateway'"
        " and datname = current_database() order by backend_start"
    ).fetchall()
    return [pid for (pid,) in rows]


def kill_sessions(admin: Connection) -> int:
    """End every session of the gateway, and wait until they are gone."""
    pids = sessions(admin)
    for pid in pids:
        admin.execute("select pg_terminate_backend(%s, 5000)", (pid,))
    return len(pids)


@asynccontextmanager
async def table_locked(database: Database) -> AsyncIterator[None]:
    """Holds up every operation on working memory for the block."""
    with database.connect() as blocker, blocker.transaction():
        blocker.execute("lock table loom.working_memory in access exclusive mode")
        yield


async def until(true: Callable[[], bool]) -> None:
    """Let the event loop turn until it is true."""
    for _ in range(1000):
        if true():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it did not come true")


async def blocked(admin: Connection, count: int = 1) -> list[int]:
    """Wait until so many sessions of the gateway wait for a lock; return their pids."""
    for _ in range(500):
        rows = admin.execute(
            "select pid from pg_stat_activity where usename = 'loom_gateway'"
            " and datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0"
        ).fetchall()
        if len(rows) >= count:
            return [pid for (pid,) in rows]
        await asyncio.sleep(0.01)
    raise AssertionError("nobody was blocked")
