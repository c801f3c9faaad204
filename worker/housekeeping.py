"""Keeping house: what nobody needs any longer is removed, a few rows at a time, and what a
namespace's rows are found by is made anew where its text search configuration has changed.

It runs beside the work, on a connection of its own, so that neither work nor the heartbeat waits
for it. Each call is one statement and one commit, about one user; what another session holds is
passed over and found again in a later round.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import psycopg

from loom.logs import without_text
from loom.worker.handlers import Connection

log = logging.getLogger("loom.worker")

ROUND_SECONDS: Final = 60.0
"""Between two rounds. There is no hurry: what is due is gone for every reader already."""

ANSWERS: Final = 1000
ROWS: Final = 200
"""The most that one call of ours does: stored answers or calls of models, and rows with all their
versions or their words."""

CONNECT_SECONDS: Final = 10.0
CALL_SECONDS: Final = 90.0
"""Longer than the server lets a statement of ours run: only a dead network takes that long."""

_ANSWERS = "select loom.housekeeping(%s)"
_ROWS = "select loom.housekeeping_memory(%s)"
_TEXTS = "select loom.housekeeping_search(%s)"
_LOOMS = "select loom.housekeeping_looms(%s)"
_MODEL_CALLS = "select loom.housekeeping_model_calls(%s)"

_PASSING = (
    psycopg.OperationalError,  # also time-outs of statement and lock, deadlocks
    OSError,  # also TimeoutError
)


class Housekeeper:
    """Goes round every ``seconds``. ``connect`` opens a connection in autocommit mode."""

    def __init__(
        self, connect: Callable[[], Awaitable[Connection]], *, seconds: float = ROUND_SECONDS
    ) -> None:
        self._connect = connect
        self._seconds = seconds
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """Begin nothing new; ``run`` and ``round`` return after the call under way."""
        self._stop.set()

    async def run(self) -> None:
        """Go round until stopped, whatever becomes of a round."""
        while not self._stop.is_set():
            try:
                await self.round()
            except _PASSING as failure:
                log.warning("housekeeping put off", extra={"reason": type(failure).__name__})
            except psycopg.Error as error:
                about = {"sqlstate": error.sqlstate}
                log.error("housekeeping failed", extra=about, exc_info=without_text(error))
            with suppress(TimeoutError):
                # Spread, so that several workers do not all go at once.
                await asyncio.wait_for(self._stop.wait(), self._seconds * random.uniform(0.8, 1.2))

    async def round(self) -> int:
        """Remove what is due until nothing is; return how many answers, calls and rows that were.

        Raises what psycopg raises, and ``TimeoutError``.
        """
        async with asyncio.timeout(CONNECT_SECONDS):
            connection = await self._connect()
        try:
            removed = await self._until(connection, _ANSWERS, ANSWERS, fewest=ANSWERS)
            removed += await self._until(connection, _MODEL_CALLS, ANSWERS, fewest=ANSWERS)
            removed += await self._until(connection, _ROWS, ROWS, fewest=1)
            removed += await self._until(connection, _LOOMS, ROWS, fewest=1)
            texts = await self._until(connection, _TEXTS, ROWS, fewest=1)
        finally:
            with suppress(psycopg.Error):
                await connection.close()
        if removed:
            log.info("housekeeping done", extra={"count": removed})
        if texts:
            log.info("texts made searchable anew", extra={"count": texts})
        return removed

    async def _until(
        self, connection: Connection, statement: str, most: int, *, fewest: int
    ) -> int:
        """Call until fewer than ``fewest`` were removed, or a stop is asked for."""
        total = 0
        while not self._stop.is_set():
            async with asyncio.timeout(CALL_SECONDS):
                cursor = await connection.execute(statement.encode(), (most,))
                row = await cursor.fetchone()
            removed = int(row[0]) if row else 0
            total += removed
            if removed < fewest:
                break
        return total
