"""Open mode's row, kept alive while a launcher lives.

Several launchers can work on one database. Each holds a shared advisory lock while it keeps open
mode on, and the one that stops switches it off only if no other holds that lock.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import psycopg

OPEN_SECONDS = 60
RENEW_SECONDS = 20.0
RETRY_SECONDS = 0.2
ANSWER_SECONDS = 10.0

_LOCK_KEY = int.from_bytes(b"loomopen", "big")
_HOLD = "select pg_advisory_lock_shared(%s)"
_LET_GO = "select pg_advisory_unlock_shared(%s)"
_ALONE = "select pg_try_advisory_xact_lock(%s)"
_SET = "select loom.open_mode_set(%s)"
_CLEAR = "select loom.open_mode_clear()"

_AWAY = (psycopg.OperationalError, TimeoutError)


class OpenMode:
    """Switches open mode on as the migration login ``dsn``, renews it, and switches it off."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._conn: psycopg.AsyncConnection[Any] | None = None

    async def begin(self) -> None:
        """Switch it on. Raises what psycopg raises."""
        async with asyncio.timeout(ANSWER_SECONDS):
            self._conn = await psycopg.AsyncConnection.connect(
                self._dsn, autocommit=True, application_name="loom up"
            )
            await self._value(_HOLD, _LOCK_KEY)
            await self._value(_SET, OPEN_SECONDS)

    async def keep(self) -> None:
        """Renew it until cancelled; a database that is away is waited for."""
        while True:
            try:
                if self._conn is None:
                    await self.begin()
                await self._quiet(RENEW_SECONDS)
                async with asyncio.timeout(ANSWER_SECONDS):
                    await self._value(_SET, OPEN_SECONDS)
            except _AWAY:
                # Nobody is answered while the database is away.
                await self._drop()
                await asyncio.sleep(RETRY_SECONDS)

    async def end(self) -> None:
        """Switch it off, unless another launcher keeps it on."""
        # Where that fails it ends by itself in a minute.
        with suppress(*_AWAY):
            async with asyncio.timeout(ANSWER_SECONDS):
                if self._conn is None:
                    return
                await self._value(_LET_GO, _LOCK_KEY)
                async with self._conn.transaction():
                    if await self._value(_ALONE, _LOCK_KEY):
                        await self._value(_CLEAR)
        await self._drop()

    async def _quiet(self, seconds: float) -> None:
        """Wait; raises at once when the connection is lost, and the lock with it."""
        assert self._conn is not None
        async for _ in self._conn.notifies(timeout=seconds):
            continue

    async def _value(self, statement: str, *parameters: int) -> Any:
        assert self._conn is not None
        cursor = await self._conn.execute(statement.encode(), parameters)
        row = await cursor.fetchone()
        return row[0] if row else None

    async def _drop(self) -> None:
        conn, self._conn = self._conn, None
        if conn is not None:
            with suppress(*_AWAY):
                await conn.close()
