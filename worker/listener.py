"""The worker's standing connection: it hears when there is work, and shows that it is alive.

Notifications are a courtesy that saves waiting. What is due is found by looking, at each poll and
after each reconnect, so a notification that got lost costs one poll and nothing else.
"""

from __future__ import annotations

import asyncio
from typing import Any, Self
from uuid import UUID, uuid4

import psycopg

from loom.migrate import Expected

CHANNEL = "loom_work"

# Longer than any answer takes on a live connection; a dead network would else be noticed in hours.
ANSWER_SECONDS = 10.0
ECHO_SECONDS = 2.0

_LISTEN = "listen loom_work"
_NOTIFY = "select pg_notify('loom_work', %s)"
_HEALTH = "select loom.health()"
_BEAT = "select loom.worker_beat(%s)"
_GONE = "select loom.worker_gone(%s)"
_BELL = "select loom.worker_bell_set(%s)"

_NO_SCHEMA = (
    psycopg.errors.InvalidSchemaName,
    psycopg.errors.UndefinedFunction,
    psycopg.errors.InsufficientPrivilege,
)


class SchemaMismatch(Exception):
    """The database's schema is not the one of this code; the text says what to do."""


class Listener:
    """One connection that listens. Make it with ``open``; every method may raise
    ``psycopg.OperationalError`` or ``TimeoutError``, and then the connection is done for."""

    def __init__(self, dsn: str, connection: psycopg.AsyncConnection[Any]) -> None:
        self._dsn = dsn
        self._connection = connection

    @classmethod
    async def open(cls, dsn: str) -> Self:
        """Connect and listen."""
        async with asyncio.timeout(ANSWER_SECONDS):
            connection = await _connect(dsn)
            try:
                await connection.execute(_LISTEN)
            except BaseException:
                await connection.close()
                raise
        return cls(dsn, connection)

    async def close(self) -> None:
        """End the connection."""
        await self._connection.close()

    async def check_schema(self, expected: Expected) -> None:
        """Raise ``SchemaMismatch`` unless the database has the schema of this code."""
        try:
            health = await self._value(_HEALTH)
        except _NO_SCHEMA as missing:
            raise SchemaMismatch(
                "the database has no Loom schema for this login: run `loom migrate`"
            ) from missing
        if (health["migration"], health["functions_sha256"]) != (
            expected.migration,
            expected.functions_sha256,
        ):
            raise SchemaMismatch(
                f"the database's schema (migration {health['migration']}) is not the one of this "
                f"code (migration {expected.migration}): run `loom migrate` with this version, or "
                "start the version that migrated the database"
            )

    async def hears(self) -> bool:
        """Whether a notification that another session sends arrives here.

        Behind a pooler that hands each statement to another server connection it does not.
        """
        nonce = uuid4().hex
        async with asyncio.timeout(ANSWER_SECONDS):
            async with await _connect(self._dsn) as other:
                await other.execute(_NOTIFY, (nonce,))
        try:
            async with asyncio.timeout(ECHO_SECONDS):
                async for notification in self._connection.notifies():
                    if notification.payload == nonce:
                        return True
        except TimeoutError:
            return False
        return False

    async def beat(self, worker_id: UUID) -> None:
        """Show that this worker is alive; on a dead connection this is what fails."""
        await self._value(_BEAT, worker_id)

    async def gone(self, worker_id: UUID) -> None:
        """Take the worker's heartbeat away, as it stops in order."""
        await self._value(_GONE, worker_id)

    async def set_bell(self, armed: bool) -> None:
        """Ask writers to notify when they make work due now, or no longer to."""
        await self._value(_BELL, armed)

    async def wait(self, seconds: float) -> bool:
        """Wait for a notification, at most ``seconds``; return whether one came."""
        async for _ in self._connection.notifies(timeout=seconds, stop_after=1):
            return True
        return False

    async def _value(self, statement: Any, *parameters: object) -> Any:
        async with asyncio.timeout(ANSWER_SECONDS):
            cursor = await self._connection.execute(statement, parameters)
            row = await cursor.fetchone()
        return row[0] if row else None


async def _connect(dsn: str) -> psycopg.AsyncConnection[Any]:
    return await psycopg.AsyncConnection.connect(
        dsn, autocommit=True, application_name="loom worker"
    )
