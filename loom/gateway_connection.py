"""One connection to PostgreSQL, driven at libpq level by the running event loop.

psycopg opens it (name look-up, several hosts, time-outs); after that statements are sent and
answers read on `psycopg.pq` directly, because a cursor costs as much again as the whole exchange.
One call at a time; the owner is told when the connection is free again or lost.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo

TEXT: Final = 0
BINARY: Final = 1


class Statement(NamedTuple):
    """A statement that every connection prepares; all parameters are sent in binary."""

    name: bytes
    sql: bytes
    types: tuple[int, ...]

    @property
    def formats(self) -> tuple[int, ...]:
        """The format code of each parameter."""
        return (BINARY,) * len(self.types)


class DatabaseRefusal(Exception):
    """The database answered with an error; `sqlstate` says which.

    `message`, `detail` and `hint` are the database's own and may hold a caller's text, so they
    are kept out of `str()`.
    """

    def __init__(self, sqlstate: str, message: str, detail: str | None, hint: str | None) -> None:
        super().__init__(f"SQLSTATE {sqlstate}")
        self.sqlstate = sqlstate
        self.message = message
        self.detail = detail
        self.hint = hint


class ConnectionLost(Exception):
    """The connection ended before the answer was complete: what became of the call is unknown."""


class Call:
    """A statement on its way: what to send, and the future that takes the answer's bytes."""

    __slots__ = ("formats", "future", "name", "parameters", "queued_at")

    def __init__(
        self,
        statement: Statement,
        parameters: Sequence[bytes | None],
        future: asyncio.Future[bytes],
    ) -> None:
        self.name = statement.name
        self.formats = statement.formats
        self.parameters = parameters
        self.future = future
        self.queued_at = 0.0


class Connection:
    """An open session with its statements prepared.

    `on_free` is called when an answer is complete, `on_lost` when the session has ended (never
    for `close`). The future of a call is always resolved first.
    """

    __slots__ = (
        "_call",
        "_flushing",
        "_loop",
        "_poll",
        "_result",
        "_session",
        "_socket",
        "busy_since",
        "idle_since",
        "on_free",
        "on_lost",
        "opened_at",
        "pgconn",
    )

    def __init__(
        self,
        session: psycopg.AsyncConnection[object],
        on_free: Callable[[Connection], None],
        on_lost: Callable[[Connection], None],
    ) -> None:
        self._session = session  # owns pgconn: it must live as long
        self._loop = asyncio.get_running_loop()
        self._socket = session.pgconn.socket
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._call: Call | None = None
        self._result: pq.abc.PGresult | None = None
        self._flushing = False
        self.pgconn = session.pgconn
        self.pgconn.nonblocking = 1
        self.on_free = on_free
        self.on_lost = on_lost
        self.opened_at = self.idle_since = self._loop.time()
        self.busy_since = 0.0
        self._loop.add_reader(self._socket, self._readable)

    @classmethod
    async def open(
        cls,
        dsn: str,
        statements: Sequence[Statement],
        on_free: Callable[[Connection], None],
        on_lost: Callable[[Connection], None],
        *,
        seconds: float,
    ) -> Connection:
        """Connect and prepare `statements` within `seconds`.

        Raises `psycopg.OperationalError` or `TimeoutError` when there is no session to be had,
        `DatabaseRefusal` when a statement cannot be prepared.
        """
        conninfo = make_conninfo(dsn, client_encoding="UTF8")
        async with asyncio.timeout(seconds):
            session = await psycopg.AsyncConnection.connect(conninfo, autocommit=True)
            connection = cls(session, _ignore, _ignore)
            try:
                for statement in statements:
                    await connection._prepare(statement)
            except BaseException:
                connection.close()
                raise
        connection.on_free = on_free
        connection.on_lost = on_lost
        return connection

    @property
    def busy(self) -> bool:
        """Whether a call is under way."""
        return self._call is not None

    def quiet(self) -> bool:
        """Whether the server has sent nothing since the last answer.

        To an idle session it says only that the session ends (or that a setting changed): either
        way the session is not used again. So a call is never sent into a connection that was
        already dead, and can safely go to another.
        """
        return not self._poll.poll(0)

    def start(self, call: Call) -> None:
        """Send `call`; its future is resolved when the answer is complete."""
        self._call = call
        self.busy_since = self._loop.time()
        try:
            self.pgconn.send_query_prepared(call.name, call.parameters, call.formats, TEXT)
            self._flush()
        except psycopg.OperationalError:
            self._end()

    def close(self) -> None:
        """End the session now. A call under way fails with `ConnectionLost`."""
        if self._socket >= 0:
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._socket = -1
            self.pgconn.finish()
        self._resolve(ConnectionLost())

    async def _prepare(self, statement: Statement) -> None:
        future: asyncio.Future[bytes] = self._loop.create_future()
        self._call = Call(statement, (), future)
        self.pgconn.send_prepare(statement.name, statement.sql, statement.types)
        self._flush()
        await future

    def _flush(self) -> None:
        """Push out what libpq still holds; wait for room in the socket when it is full."""
        unsent = self.pgconn.flush()
        if unsent and not self._flushing:
            self._loop.add_writer(self._socket, self._writable)
        elif self._flushing and not unsent:
            self._loop.remove_writer(self._socket)
        self._flushing = bool(unsent)

    def _writable(self) -> None:
        try:
            self._flush()
        except psycopg.OperationalError:
            self._end()

    def _readable(self) -> None:
        pgconn = self.pgconn
        try:
            pgconn.consume_input()
            if self._flushing:
                self._flush()
            if self._call is None:
                self._end()  # see `quiet`
                return
            while True:
                while not pgconn.is_busy():
                    result = pgconn.get_result()
                    if result is None:
                        self._complete()
                        return
                    # The commit comes after the rows: an error that follows them is the answer.
                    if self._result is None or result.status == pq.ExecStatus.FATAL_ERROR:
                        self._result = result
                if not self._hung_up():
                    return
                # uvloop reports a broken socket once and no more: what it still holds and its end
                # are read now, or the call would never be resolved.
                pgconn.consume_input()
        except psycopg.OperationalError:
            self._end()

    def _hung_up(self) -> bool:
        return any(flags & (select.POLLERR | select.POLLHUP) for _, flags in self._poll.poll(0))

    def _complete(self) -> None:
        result, self._result = self._result, None
        if self.pgconn.status != pq.ConnStatus.OK:
            self._end()
            return
        self._resolve(_outcome(result))
        self.idle_since = self._loop.time()
        self.on_free(self)

    def _end(self) -> None:
        self.close()
        self.on_lost(self)

    def _resolve(self, outcome: bytes | Exception) -> None:
        call, self._call = self._call, None
        if call is None or call.future.done():  # done: the caller has gone
            return
        if isinstance(outcome, bytes):
            call.future.set_result(outcome)
        else:
            call.future.set_exception(outcome)


def _outcome(result: pq.abc.PGresult | None) -> bytes | Exception:
    if result is None:
        return ConnectionLost()
    if result.status == pq.ExecStatus.TUPLES_OK:
        return result.get_value(0, 0) or b"null"
    if result.status == pq.ExecStatus.COMMAND_OK:  # of a prepare
        return b""
    return _refusal(result)


def _refusal(result: pq.abc.PGresult) -> DatabaseRefusal:
    def text(diagnostic: pq.DiagnosticField) -> str | None:
        value = result.error_field(diagnostic)
        return None if value is None else value.decode("utf-8", "replace")

    return DatabaseRefusal(
        text(pq.DiagnosticField.SQLSTATE) or "XX000",
        text(pq.DiagnosticField.MESSAGE_PRIMARY) or "",
        text(pq.DiagnosticField.MESSAGE_DETAIL),
        text(pq.DiagnosticField.MESSAGE_HINT),
    )


def _ignore(connection: Connection) -> None:
    """Nobody waits for a connection that is still being opened."""
