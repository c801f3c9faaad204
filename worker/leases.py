"""The worker's side of `loom.work_*`: where there is work, whose, and how a lease ends.

Each method is one statement on a connection in autocommit mode, logged in as ``loom_worker``. What
was read under a lease costs money to answer, so from then on the lease outlives its connection.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb

from loom.model_errors import Call
from loom.worker.handlers import Connection
from loom.worker.statements import MET_LOCKS, TRIES

log = logging.getLogger("loom.worker")

MOST_ROUNDS: Final = 100
"""Looks for a lease in one go. A claim gives none when it only stamped users with a new revision
of the schema, or someone was writing them just then, and yet there may be one behind them."""

ROUND_SECONDS: Final = 0.01
"""Between two such looks."""

FIRST_WAIT: Final = 0.1
LONGEST_WAIT: Final = 5.0
"""Seconds between two tries to connect again: a server that restarts takes some."""

_DUE: Final = b"select org, namespace from loom.work_due(%s)"
_CLAIM: Final = b"select lease_id from loom.work_claim(%s, %s, %s, 1)"
_READ: Final = b"select loom.work_read(%s, %s)"
_USED: Final = b"select loom.work_used(%s, %s, %s, %s, %s, %s)"
_COMPLETE: Final = b"select loom.work_complete(%s, %s, %s, %s)"
_FAIL: Final = b"select loom.work_fail(%s, %s, %s, %s, %s)"
_FAIL_NAMESPACE: Final = b"select loom.work_fail_namespace(%s, %s, %s, %s)"


@dataclass
class Lease:
    """A user that is ours to build for a while, or until one of these methods ends it. Whoever
    claimed it closes it when done; the connection that it came with stays open."""

    connection: Connection
    org: str
    namespace: str
    kind: str
    lease_id: UUID
    _lives_until: float = field(default=0.0, init=False)
    """By the clock of this process. Before anything was read there is nothing to save."""
    _opened: list[Connection] = field(default_factory=list, init=False)

    @classmethod
    async def claim(cls, connection: Connection, kind: str) -> Lease | None:
        """The lease of one user of a kind that is due, or None when none is to be had now."""
        for _ in range(MOST_ROUNDS):
            places = await (await connection.execute(_DUE, (kind,))).fetchall()
            if not places:
                return None
            for org, namespace in places:
                claimed = await connection.execute(_CLAIM, (org, namespace, kind))
                row = await claimed.fetchone()
                if row is not None:
                    return cls(connection, org, namespace, kind, row[0])
            await asyncio.sleep(ROUND_SECONDS)
        return None

    async def read(self) -> Mapping[str, Any]:
        """What to build from; ``found`` is False when the lease is over."""
        began = time.monotonic()
        task: Mapping[str, Any] = await self._value(_READ, self.org, self.lease_id)
        if task["found"]:
            self._lives_until = began + task["seconds_left"]
        return task

    async def used(self, purpose: str, model: str, calls: Sequence[Call]) -> None:
        """Record what calls of a model took; before the lease ends, which knows for whom.

        A connection that is lost between its commit and our learning of it has the calls recorded
        twice: a day's cap may be met too early by them, but never too late.
        """
        told = [asdict(call) for call in calls]
        if told:
            await self._value(
                _USED, self.org, self.namespace, self.lease_id, purpose, model, Jsonb(told)
            )

    async def complete(
        self,
        answer: Mapping[str, Any] | str | None = None,
        sources: Mapping[str, Sequence[str]] | None = None,
    ) -> Mapping[str, Any]:
        """Write what was built, None for nothing known; says what became of it."""
        written = (None if each is None else Jsonb(each) for each in (answer, sources))
        ended: Mapping[str, Any] = await self._value(_COMPLETE, self.org, self.lease_id, *written)
        return ended

    async def fail(self, outcome: str, code: str, retry_seconds: int | None = None) -> None:
        """End the lease without a result: failed, waiting, cut_off or released."""
        await self._value(_FAIL, self.org, self.lease_id, outcome, code, retry_seconds)

    async def fail_namespace(self, schema_sha256: str) -> None:
        """Say that the namespace's schema cannot be read here."""
        await self._value(_FAIL_NAMESPACE, self.org, self.namespace, self.kind, schema_sha256)

    async def close(self) -> None:
        """Close what was opened in place of a lost connection."""
        for connection in self._opened:
            with suppress(psycopg.Error):
                await connection.close()

    async def _value(self, statement: bytes, *parameters: object) -> Any:
        """What a statement answers. It may be sent again although it was done the first time: the
        database then finds the lease ended, and does nothing."""
        for tries_left in reversed(range(TRIES)):
            try:
                row = await (await self.connection.execute(statement, parameters)).fetchone()
            except MET_LOCKS:
                if not tries_left:
                    raise
            except psycopg.OperationalError:
                if not (tries_left and self.connection.closed and self._seconds_left() > 0):
                    raise
                await self._reconnect()
            else:
                return row[0] if row else None
        raise AssertionError("the last try returns or raises")

    async def _reconnect(self) -> None:
        """Open another connection in place of the lost one; tried for as long as the lease lives,
        and then raises what stands in the way."""
        log.warning("connection lost during a piece of work", extra={"kind": self.kind})
        wait = FIRST_WAIT
        while True:
            try:
                async with asyncio.timeout(self._seconds_left()):
                    self.connection = await _another(self.connection)
            except (psycopg.OperationalError, OSError):
                if self._seconds_left() <= wait:
                    raise
            else:
                self._opened.append(self.connection)
                return
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    def _seconds_left(self) -> float:
        return self._lives_until - time.monotonic()


async def _another(connection: Connection) -> Connection:
    """A connection made with what a lost one was made with."""
    info = connection.info
    made_with = make_conninfo(info.dsn, password=info.password or None)  # the dsn leaves it out
    return await psycopg.AsyncConnection.connect(made_with, autocommit=True)
