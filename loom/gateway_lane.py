"""A lane: some connections, and the calls that wait for one of them.

The connection freed last is used first, so that few connections stay busy and the rest can be
closed. A connection that becomes free takes the next waiting call at once, without waking a task.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import psycopg

from loom.gateway_connection import (
    Call,
    Connection,
    ConnectionLost,
    DatabaseRefusal,
    Statement,
)
from loom.logs import why_unreachable

log = logging.getLogger("loom.gateway")

# The database answers but is not one of ours: no schema, no function, no right, no type. Waiting
# does not help.
NOT_OURS = frozenset({"3F000", "42883", "42501", "42704"})

FIRST_BACKOFF = 0.05
LONGEST_BACKOFF = 1.0


class DatabaseUnavailable(Exception):
    """No answer is to be had now. `reason` is one of this module's words, never database text.

    `sqlstate` is that of the last error where there was one. `outcome_unknown`: a write was sent,
    and may have been carried out; in every other case nothing was.
    """

    def __init__(
        self, reason: str, sqlstate: str | None = None, *, outcome_unknown: bool = False
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.sqlstate = sqlstate
        self.outcome_unknown = outcome_unknown


@dataclass(frozen=True)
class Patience:
    """How long things may take, in seconds; and how many calls may wait in one lane."""

    connect: float = 5.0
    wait: float = 5.0
    call: float = 120.0  # a floor under the role's own statement_timeout, for a dead network
    idle: float = 300.0
    age: float = 3600.0
    look: float = 0.25
    waiting: int = 10_000


@dataclass
class LaneCounts:
    """What has happened in a lane since it was opened."""

    opened: int = 0
    failed: int = 0
    lost: int = 0
    expired: int = 0


class Lane:
    """At most `limit` connections to `dsn`, opened when calls wait for one."""

    def __init__(
        self,
        name: str,
        dsn: str,
        limit: int,
        statements: Sequence[Statement],
        patience: Patience,
    ) -> None:
        self.name = name
        self.limit = limit
        self.counts = LaneCounts()
        self._dsn = dsn
        self._statements = statements
        self._patience = patience
        self._connections: set[Connection] = set()
        self._idle: list[Connection] = []
        self._waiting: deque[Call] = deque()
        self._openers: set[asyncio.Task[None]] = set()
        self._down_since: float | None = None
        self._look: asyncio.TimerHandle | None = None
        self._closed = True

    @property
    def open_connections(self) -> int:
        """Sessions that are up, busy or not."""
        return len(self._connections)

    @property
    def busy_connections(self) -> int:
        """Sessions with a call under way."""
        return len(self._connections) - len(self._idle)

    @property
    def waiting_calls(self) -> int:
        """Calls that no connection has taken yet."""
        return len(self._waiting)

    def open(self) -> None:
        """Begin to take calls. Must run in the event loop that will carry them."""
        self._loop = asyncio.get_running_loop()
        self._closed = False
        self._look = self._loop.call_later(self._patience.look, self._look_after)

    async def close(self) -> None:
        """End every session. Waiting calls and calls under way fail."""
        self._closed = True
        if self._look is not None:
            self._look.cancel()
        for opener in list(self._openers):
            opener.cancel()
        await asyncio.gather(*self._openers, return_exceptions=True)
        self._fail_waiting(DatabaseUnavailable("closing"))
        for connection in list(self._connections):
            connection.close()
        self._connections.clear()
        self._idle.clear()

    def submit(
        self, statement: Statement, parameters: Sequence[bytes | None]
    ) -> asyncio.Future[bytes]:
        """Send a statement, or queue it until a connection is free.

        The future gives the first column of the first row, or raises `DatabaseRefusal`,
        `ConnectionLost` or `DatabaseUnavailable`. Cancelling it abandons the answer, not the
        connection, which is used again when the answer has come.
        """
        if self._closed:
            raise DatabaseUnavailable("closing")
        future: asyncio.Future[bytes] = self._loop.create_future()
        call = Call(statement, parameters, future)
        while self._idle:
            connection = self._idle.pop()
            if connection.quiet():
                connection.start(call)
                return future
            self._discard(connection)
        if len(self._waiting) >= self._patience.waiting:
            raise DatabaseUnavailable("busy")
        call.queued_at = self._loop.time()
        self._waiting.append(call)
        self._grow()
        return future

    def _free(self, connection: Connection) -> None:
        while self._waiting:
            call = self._waiting.popleft()
            if not call.future.done():
                connection.start(call)
                return
        self._idle.append(connection)

    def _lost(self, connection: Connection) -> None:
        if connection in self._idle:
            self._idle.remove(connection)
        log.info("database connection lost", extra={"lane": self.name})
        self.counts.lost += 1
        self._connections.discard(connection)
        self._grow()

    def _discard(self, connection: Connection) -> None:
        """Drop an idle session that has ended; it is no longer in `_idle`."""
        connection.close()
        self.counts.lost += 1
        self._connections.discard(connection)

    def _grow(self) -> None:
        """Open as many connections as there are calls waiting; one at a time while all fail."""
        if self._closed:
            return
        room = self.limit - len(self._connections) - len(self._openers)
        wanted = len(self._waiting) - len(self._openers)
        if self._down_since is not None:
            wanted = min(wanted, 1 - len(self._openers))
        for _ in range(min(room, wanted)):
            opener = self._loop.create_task(self._open_one())
            self._openers.add(opener)
            opener.add_done_callback(self._openers.discard)

    async def _open_one(self) -> None:
        """Open one connection; try again, ever more slowly, as long as calls wait for it."""
        backoff = FIRST_BACKOFF
        while self._waiting:
            try:
                connection = await Connection.open(
                    self._dsn,
                    self._statements,
                    self._free,
                    self._lost,
                    seconds=self._patience.connect,
                )
            except (psycopg.Error, OSError, ConnectionLost, DatabaseRefusal) as failure:
                self._failed(failure)
                await asyncio.sleep(backoff * random.uniform(0.5, 1.0))
                backoff = min(backoff * 2, LONGEST_BACKOFF)
                continue
            self.counts.opened += 1
            self._down_since = None
            self._connections.add(connection)
            self._free(connection)
            self._loop.call_soon(self._grow)
            return

    def _failed(self, failure: Exception) -> None:
        self.counts.failed += 1
        now = self._loop.time()
        sqlstate = getattr(failure, "sqlstate", None)
        if self._down_since is None:
            self._down_since = now
            log.warning(
                "database connection failed",
                extra={
                    "lane": self.name,
                    "sqlstate": sqlstate,
                    "reason": why_unreachable(failure),
                },
            )
        if sqlstate in NOT_OURS:
            self._fail_waiting(DatabaseUnavailable("schema", sqlstate))
        elif now - self._down_since >= self._patience.wait:
            self._fail_waiting(DatabaseUnavailable("no connection", sqlstate))

    def _fail_waiting(self, failure: DatabaseUnavailable) -> None:
        while self._waiting:
            _refuse(self._waiting.popleft(), failure)

    def _look_after(self) -> None:
        """Let go of calls that waited too long, and of sessions stuck, too old or not needed."""
        now = self._loop.time()
        patience = self._patience
        while self._waiting and now - self._waiting[0].queued_at >= patience.wait:
            self.counts.expired += 1
            _refuse(self._waiting.popleft(), DatabaseUnavailable("no free connection"))
        for connection in [c for c in self._connections if c.busy]:
            if now - connection.busy_since >= patience.call:
                connection.close()
                self._lost(connection)
        for connection in list(self._idle):
            unused = now - connection.idle_since >= patience.idle and len(self._idle) > 1
            if unused or now - connection.opened_at >= patience.age:
                self._idle.remove(connection)
                self._connections.discard(connection)
                connection.close()
        self._look = self._loop.call_later(patience.look, self._look_after)


def _refuse(call: Call, failure: DatabaseUnavailable) -> None:
    if not call.future.done():
        call.future.set_exception(DatabaseUnavailable(failure.reason, failure.sqlstate))
