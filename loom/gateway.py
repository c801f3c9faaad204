"""The API's way into the database: one statement a request, on connections that are kept.

Reads and writes have lanes of their own, so that writes waiting for the disk never hold up reads.
A call takes one connection for one round trip.

What is sent again, and when: a call whose connection turned out dead before anything was sent; a
read whose connection was lost, once; a call that lost a serialization or deadlock race, a few
times. A write whose connection was lost is not, since it may have happened.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Final

from loom.gateway_connection import ConnectionLost, DatabaseRefusal, Statement
from loom.gateway_lane import DatabaseUnavailable, Lane, Patience

__all__ = ["DatabaseRefusal", "DatabaseUnavailable", "Patience", "Pool"]

_BYTEA: Final = 17
_TEXT: Final = 25
_UUID: Final = 2950
_JSONB: Final = 3802

CALL: Final = Statement(
    b"loom_call",
    b"SELECT loom.call($1, $2, $3, $4, $5)",
    (_UUID, _BYTEA, _TEXT, _JSONB, _TEXT),
)
HEALTH: Final = Statement(b"loom_health", b"SELECT loom.health()", ())
WORK: Final = Statement(b"loom_work", b"SELECT loom.work_metrics()", ())

# jsonb in binary is a version byte and the text. As a text parameter the body would end, without
# an error, at its first NUL byte.
_JSONB_VERSION: Final = b"\x01"

LOST_A_RACE: Final = frozenset({"40001", "40P01"})
RACE_RETRIES: Final = 5
FIRST_PAUSE: Final = 0.005


class Pool:
    """Connections of the login `dsn`. Open it in the event loop that uses it."""

    def __init__(
        self,
        dsn: str,
        *,
        read_connections: int = 4,
        write_connections: int = 16,
        patience: Patience | None = None,
    ) -> None:
        patience = patience or Patience()
        statements = (CALL, HEALTH, WORK)
        self.reads = Lane("read", dsn, read_connections, statements, patience)
        self.writes = Lane("write", dsn, write_connections, statements, patience)
        self.retries: Counter[tuple[str, str]] = Counter()

    async def __aenter__(self) -> Pool:
        self.open()
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self.close()

    @property
    def lanes(self) -> tuple[Lane, Lane]:
        """The lanes, for the metrics."""
        return self.reads, self.writes

    def open(self) -> None:
        """Begin to take calls; connections are opened when calls need them."""
        for lane in self.lanes:
            lane.open()

    async def close(self) -> None:
        """End every connection."""
        for lane in self.lanes:
            await lane.close()

    async def call(
        self,
        org: bytes | None,
        token_hash: bytes | None,
        op: str,
        body: bytes,
        idempotency_key: str | None,
        write: bool,
    ) -> bytes:
        """Run one operation; return its answer, a JSON object, as the database wrote it.

        `org` is the 16 bytes of the org's uuid, `token_hash` the 32 of the secret's SHA-256, both
        None for no token; `body` is the request's JSON text as it came.

        Raises `DatabaseRefusal` (the database's error) and `DatabaseUnavailable` (no connection,
        lost connection, retries spent).
        """
        parameters = (
            org,
            token_hash,
            op.encode(),
            _JSONB_VERSION + body,
            None if idempotency_key is None else idempotency_key.encode(),
        )
        lane = self.writes if write else self.reads
        lost = races = 0
        while True:
            try:
                return await lane.submit(CALL, parameters)
            except ConnectionLost:
                if write or lost:
                    raise DatabaseUnavailable("connection lost", outcome_unknown=write) from None
                lost += 1
                self.retries[lane.name, "connection_lost"] += 1
            except DatabaseRefusal as refusal:
                if refusal.sqlstate not in LOST_A_RACE:
                    raise
                if races == RACE_RETRIES:
                    raise DatabaseUnavailable("retries spent", refusal.sqlstate) from None
                races += 1
                self.retries[lane.name, refusal.sqlstate] += 1
                await asyncio.sleep(random.uniform(0, FIRST_PAUSE * 2**races))

    async def health(self) -> bytes:
        """What `loom.health()` says, as JSON text. Raises like `call`."""
        return await self._told(HEALTH)

    async def work(self) -> bytes:
        """What `loom.work_metrics()` says, as JSON text. Raises like `call`."""
        return await self._told(WORK)

    async def _told(self, statement: Statement) -> bytes:
        for last in (False, True):
            try:
                return await self.reads.submit(statement, ())
            except ConnectionLost:
                if last:
                    break
        raise DatabaseUnavailable("connection lost")
