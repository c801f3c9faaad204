"""Doing what is due: lanes that look when woken, and the kinds of work take turns in each until
none of them has anything left."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

import psycopg

from loom.logs import without_text
from loom.worker.handlers import Connection, Handler

log = logging.getLogger("loom.worker")


class Runner:
    """Does pieces of work in ``concurrency`` lanes, one at a time in each.

    ``connect`` opens a lane's connection; none is open while the lane rests.
    """

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        connect: Callable[[], Awaitable[Connection]],
        concurrency: int,
    ) -> None:
        self._handlers = handlers
        self._connect = connect
        # One of each lane, set while it is to look, now or right after what it is doing.
        self._woken = [asyncio.Event() for _ in range(concurrency)]
        self._rested = asyncio.Event()
        self._stopping = asyncio.Event()

    @property
    def works(self) -> bool:
        """Whether there is any kind of work that it can do."""
        return bool(self._handlers)

    def wake(self) -> None:
        """Ask every lane for a look at what is due, now or right after the piece under way."""
        self._rested.clear()
        for woken in self._woken:
            woken.set()

    async def rested(self) -> None:
        """Return when a lane has looked since the last wake and found nothing more."""
        await self._rested.wait()

    def stop(self) -> None:
        """Begin nothing new; ``run`` and ``sweep`` return when what is under way is done."""
        self._stopping.set()
        self.wake()

    async def run(self) -> None:
        """Work whenever woken, until stopped. Cancelled, it cancels what is under way."""
        lanes = [asyncio.create_task(self._stand_by(woken)) for woken in self._woken]
        try:
            await asyncio.gather(*lanes)
        finally:
            for lane in lanes:
                lane.cancel()
            await asyncio.gather(*lanes, return_exceptions=True)

    async def sweep(self) -> int:
        """Do what is due until nothing is; return how many pieces were done."""
        return sum(await asyncio.gather(*(self._look() for _ in self._woken)))

    async def _stand_by(self, woken: asyncio.Event) -> None:
        while not self._stopping.is_set():
            await woken.wait()
            woken.clear()
            await self._look()
            if not woken.is_set():
                self._rested.set()

    async def _look(self) -> int:
        """Do what is due, in one lane; how many pieces it did. A kind whose handler fails is left
        alone until the next look; the others go on."""
        if self._stopping.is_set() or not self._handlers:
            return 0
        done = 0
        resting: set[str] = set()
        connection = None
        try:
            while not self._stopping.is_set() and len(resting) < len(self._handlers):
                for kind, handler in self._handlers.items():
                    if kind in resting or self._stopping.is_set():
                        continue
                    # The first one, or in place of one that was lost during the piece before.
                    if connection is None or connection.closed:
                        connection = await self._connect()
                    if await self._piece(kind, handler, connection):
                        done += 1
                    else:
                        resting.add(kind)
        except (psycopg.OperationalError, OSError) as failure:
            log.warning("no connection for work", extra={"reason": type(failure).__name__})
        finally:
            if connection is not None:
                with suppress(psycopg.Error):
                    await connection.close()
        return done

    async def _piece(self, kind: str, handler: Handler, connection: Connection) -> bool:
        try:
            return await handler(connection)
        except Exception as error:
            # A piece of work, its model or its data can fail in any way; the claim's lease and its
            # attempts are in the database, so the worker goes on with the rest.
            sqlstate = error.sqlstate if isinstance(error, psycopg.Error) else None
            about = {"kind": kind, "sqlstate": sqlstate}
            log.error("a piece of work failed", extra=about, exc_info=without_text(error))
            return False
