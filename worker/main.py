"""The worker process: a heartbeat at each poll, a look at what is due then and whenever a writer
rings, and beside these the housekeeping."""

from __future__ import annotations

import asyncio
import logging
import random
import signal
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager, suppress
from uuid import UUID, uuid4

import psycopg

from loom.logs import why_unreachable
from loom.migrate import Expected, expected
from loom.settings import Settings
from loom.worker.handlers import Connection, Handler
from loom.worker.handlers.configured import configured
from loom.worker.housekeeping import ROUND_SECONDS, Housekeeper
from loom.worker.listener import Listener, SchemaMismatch
from loom.worker.runner import Runner

__all__ = ["SchemaMismatch", "Worker", "run", "run_once"]

log = logging.getLogger("loom.worker")

LOST = (psycopg.OperationalError, TimeoutError, OSError)

FIRST_BACKOFF = 0.1
LONGEST_BACKOFF = 5.0
GRACE_SECONDS = 10.0


class Worker:
    """One worker. ``dsn`` is the login ``loom_worker``, ``poll_seconds`` the longest time between
    two looks at what is due, ``round_seconds`` that between two rounds of housekeeping."""

    def __init__(
        self,
        dsn: str,
        *,
        poll_seconds: float,
        concurrency: int,
        handlers: Mapping[str, Handler],
        schema: Expected | None = None,
        round_seconds: float = ROUND_SECONDS,
    ) -> None:
        self.worker_id: UUID = uuid4()
        self._dsn = dsn
        self._poll_seconds = poll_seconds
        self._schema = schema or expected()
        self._runner = Runner(handlers, self._connect, concurrency)
        self._housekeeper = Housekeeper(self._connect, seconds=round_seconds)
        self._housekeeping: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """Ask for an orderly end."""
        self._stop.set()
        self._runner.stop()
        self._housekeeper.stop()

    async def once(self) -> int:
        """One look at what is due and everything it finds, then one round of housekeeping; return
        how many pieces were done.

        Raises ``SchemaMismatch``, and what psycopg raises when there is no connection.
        """
        listener = await Listener.open(self._dsn)
        try:
            await listener.check_schema(self._schema)
            await listener.beat(self.worker_id)
            sweep = asyncio.create_task(self._runner.sweep())
            await self._first(sweep)
            await self._housekeeper.round()
            await listener.gone(self.worker_id)
        finally:
            await listener.close()
        return 0 if sweep.cancelled() else sweep.result()

    async def run(self) -> None:
        """Work until stopped. A lost database is waited for; raises ``SchemaMismatch`` when the
        one that answers is not of this code's schema."""
        log.info("worker started", extra={"worker_id": str(self.worker_id)})
        work = asyncio.create_task(self._runner.run())
        backoff = FIRST_BACKOFF
        try:
            while not self._stop.is_set():
                if await self._attend(work):
                    backoff = FIRST_BACKOFF
                await self._pause(backoff * random.uniform(0.5, 1.0))
                backoff = min(backoff * 2, LONGEST_BACKOFF)
        finally:
            self.stop()
            tasks = [work] if self._housekeeping is None else [work, self._housekeeping]
            await asyncio.gather(*map(_finish, tasks))
            log.info("worker stopped", extra={"worker_id": str(self.worker_id)})

    async def _attend(self, work: asyncio.Task[None]) -> bool:
        """Connect, then beat, wake the runner and listen, until stopped or the connection is
        lost; return whether there was a heartbeat."""
        beats = 0
        try:
            listener = await Listener.open(self._dsn)
        except LOST as failure:
            log.warning("no database", extra={"reason": why_unreachable(failure)})
            return False
        try:
            await listener.check_schema(self._schema)
            hears = await listener.hears()
            if not hears:
                log.warning(
                    "notifications do not arrive; work is found by polling",
                    extra={"reason": "a pooler in transaction mode?"},
                )
            while not self._stop.is_set():
                if self._housekeeping is None:
                    self._housekeeping = asyncio.create_task(self._housekeeper.run())
                for task in (work, self._housekeeping):
                    if task.done():
                        task.result()  # a heartbeat of a worker that no longer works were a lie
                await listener.beat(self.worker_id)
                beats += 1
                self._runner.wake()
                await self._first(self._sleep(listener, hears))
            await listener.gone(self.worker_id)
        except LOST as failure:
            log.warning("database connection lost", extra={"reason": type(failure).__name__})
        finally:
            with suppress(*LOST):
                await listener.close()
        return beats > 0

    async def _sleep(self, listener: Listener, hears: bool) -> None:
        """Return when there may be something to do: at a notification, or after a poll's time.

        The writers' bell costs whoever rings it, so it is armed only while a lane has nothing to
        do. What fell due before it was armed has rung nobody: hence another look.
        """
        if not (hears and self._runner.works):
            await listener.wait(self._poll_seconds)
            return
        try:
            async with asyncio.timeout(self._poll_seconds):
                await self._runner.rested()
        except TimeoutError:
            return  # all are busy, and look again when they are done
        try:
            # Cut off by a stop it may have been armed all the same.
            await listener.set_bell(True)
            self._runner.wake()
            await listener.wait(self._poll_seconds)
        finally:
            await listener.set_bell(False)

    async def _pause(self, seconds: float) -> None:
        await self._first(asyncio.sleep(seconds))

    async def _first(self, waiting: Awaitable[object]) -> None:
        """Await ``waiting``, or its cancellation when the worker is stopped before."""
        task = asyncio.ensure_future(waiting)
        stopped = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                await task
        finally:
            for each in (task, stopped):
                each.cancel()
            await asyncio.gather(task, stopped, return_exceptions=True)

    async def _connect(self) -> Connection:
        return await psycopg.AsyncConnection.connect(
            self._dsn, autocommit=True, application_name="loom work"
        )


async def _finish(work: asyncio.Task[None]) -> None:
    """Give the work under way some time, then cut it off: it gives back what it had taken."""
    try:
        await asyncio.wait_for(work, GRACE_SECONDS)
    except TimeoutError:
        log.warning("work under way was cut off", extra={"seconds": GRACE_SECONDS})


def run(settings: Settings, dsn: str) -> None:
    """Work until SIGTERM or SIGINT. Raises ``SchemaMismatch``."""

    async def until_stopped() -> None:
        async with _worker(settings, dsn, signal.SIGTERM, signal.SIGINT) as worker:
            await worker.run()

    asyncio.run(until_stopped())


def run_once(settings: Settings, dsn: str) -> int:
    """Do what is due now, or until SIGTERM; return how many pieces that were."""

    async def one_look() -> int:
        async with _worker(settings, dsn, signal.SIGTERM) as worker:
            return await worker.once()

    return asyncio.run(one_look())


@asynccontextmanager
async def _worker(settings: Settings, dsn: str, *signals: signal.Signals) -> AsyncIterator[Worker]:
    """A worker as the settings want it, which these signals stop."""
    async with configured(settings) as handlers:
        worker = Worker(
            dsn,
            poll_seconds=settings.worker_poll_seconds,
            concurrency=settings.worker_concurrency,
            handlers=handlers,
        )
        loop = asyncio.get_running_loop()
        for number in signals:
            loop.add_signal_handler(number, worker.stop)
        yield worker
