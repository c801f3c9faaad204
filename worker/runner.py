"""Doing what is due: the kinds of work take turns until none of them has anything left."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

import psycopg

from loom.worker.handlers import Connection, Handler

log = logging.getLogger("loom.worker")


class Runner:
    """Does pieces of work, at most ``concurrency`` at a time, each lane on its own connection.

    ``connect`` opens a connection; none is open while nothing is being done.
    """

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        connect: Callable[[], Awaitable[Connection]],
        concurrency: int,
    ) -> None:
        self._handlers = handlers
        self._connect = connect
        self._concurrency = concurrency
        self._woken = asyncio.Event()
        self._stopping = False

    def wake(self) -> None:
        """Ask for a look at what is due, now or right after the one under way."""
        self._woken.set()

    def stop(self) -> None:
        """Begin nothing new; ``run`` and ``sweep`` return when what is under way is done."""
        self._stopping = True
        self._woken.set()

    async def run(self) -> None:
        """Sweep whenever woken, until stopped."""
        while not self._stopping:
            await self._woken.wait()
            self._woken.clear()
            await self.sweep()

    async def sweep(self) -> int:
        """Do what is due until nothing is; return how many pieces were done.

        A kind whose handler fails is left alone until the next sweep; the others go on.
        """
        if not self._handlers:
            return 0
        resting: set[str] = set()
        lanes = (self._lane(resting) for _ in range(self._concurrency))
        return sum(await asyncio.gather(*lanes))

    async def _lane(self, resting: set[str]) -> int:
        done = 0
        try:
            connection = await self._connect()
        except (psycopg.OperationalError, OSError) as failure:
            log.warning("no connection for work", extra={"reason": type(failure).__name__})
            return 0
        try:
            while not self._stopping and len(resting) < len(self._handlers):
                for kind, handler in self._handlers.items():
                    if kind in resting or self._stopping:
                        continue
                    if await self._piece(kind, handler, connection):
                        done += 1
                    else:
                        resting.add(kind)
        finally:
            with suppress(psycopg.Error):
                await connection.close()
        return done

    async def _piece(self, kind: str, handler: Handler, connection: Connection) -> bool:
        try:
            return await handler(connection)
        except Exception:
            # A piece of work, its model or its data can fail in any way; the claim's lease and its
            # attempts are in the database, so the worker goes on with the rest.
            log.exception("a piece of work failed", extra={"kind": kind})
            return False
