"""The connection of one piece of work, replaced when it is lost while the lease lives.

What was read under a lease costs money to answer, so from then on a lost connection is no reason to
give the answer up. A statement may then be sent again although it was done the first time, where
only the word of it was lost. One that ends the lease, or a part of it, does nothing then; calls of
a model are recorded once more, which meets a day's cap too early, but never too late.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from typing import Any, Final

import psycopg
from psycopg.conninfo import make_conninfo

from loom.worker.handlers import Connection
from loom.worker.statements import MET_LOCKS, TRIES

log = logging.getLogger("loom.worker")

FIRST_WAIT: Final = 0.1
LONGEST_WAIT: Final = 5.0
"""Seconds between two tries to connect again: a server that restarts takes some."""

SILENT_SECONDS: Final = 75.0
"""A connection that says nothing for so long is lost: the server ends a statement after 60."""


class LastingConnection:
    """Statements of one piece of work, at first by the connection it came with, which stays open.
    Whoever does the work closes this when it is done."""

    def __init__(self, connection: Connection, kind: str) -> None:
        self._connection = connection
        self._kind = kind
        self._lives_until = (
            0.0  # by the clock of this process; before a read there is nothing to save
        )
        self._opened: list[Connection] = []

    def lives(self, began: float, seconds_left: float) -> None:
        """Take over how long the lease lives, as a statement said that was sent at ``began`` (of
        ``time.monotonic``)."""
        self._lives_until = began + seconds_left

    async def value(self, statement: bytes, *parameters: object) -> Any:
        """The first value of the first row, None without one. Locks that are met and lost
        connections are tried again, ``TRIES`` times in all. Raises what psycopg raises, and
        ``TimeoutError`` for a connection that fell silent."""
        for tries_left in reversed(range(TRIES)):
            try:
                async with asyncio.timeout(self._patience()):
                    row = await (await self._connection.execute(statement, parameters)).fetchone()
            except MET_LOCKS:
                if not tries_left:
                    raise
            except (psycopg.OperationalError, TimeoutError):
                if not (tries_left and self._connection.closed and self._seconds_left() > 0):
                    raise
                await self._reconnect()
            else:
                return row[0] if row else None
        raise AssertionError("the last try returns or raises")

    async def close(self) -> None:
        """Close what was opened in place of a lost connection."""
        for connection in self._opened:
            with suppress(psycopg.Error):
                await connection.close()

    async def _reconnect(self) -> None:
        """Open another connection in place of the lost one; tried for as long as the lease lives,
        and then raises what stands in the way."""
        log.warning("connection lost during a piece of work", extra={"kind": self._kind})
        wait = FIRST_WAIT
        while True:
            try:
                async with asyncio.timeout(self._seconds_left()):
                    self._connection = await another(self._connection)
            except (psycopg.OperationalError, OSError):
                if self._seconds_left() <= wait:
                    raise
            else:
                self._opened.append(self._connection)
                return
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    def _patience(self) -> float:
        left = self._seconds_left()
        return min(left, SILENT_SECONDS) if left > 0 else SILENT_SECONDS

    def _seconds_left(self) -> float:
        return self._lives_until - time.monotonic()


async def another(connection: Connection) -> Connection:
    """A connection made with what a lost one was made with."""
    info = connection.info
    made_with = make_conninfo(info.dsn, password=info.password or None)  # the dsn leaves it out
    return await psycopg.AsyncConnection.connect(made_with, autocommit=True)
