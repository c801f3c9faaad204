"""The worker's side of `loom.work_*`: where there is work, whose, and how a lease ends.

Each method is one statement on a connection in autocommit mode, logged in as ``loom_worker``. Once
something was read the lease outlives that connection.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final
from uuid import UUID

from psycopg.types.json import Jsonb

from loom.model_errors import Call
from loom.worker.handlers import Connection
from loom.worker.lasting_connection import LastingConnection

MOST_ROUNDS: Final = 100
"""Looks for a lease in one go. A claim gives none when it only stamped users with a new revision
of the schema, or someone was writing them just then, and yet there may be one behind them."""

ROUND_SECONDS: Final = 0.01
"""Between two such looks."""

_DUE: Final = b"select org, namespace from loom.work_due(%s)"
_CLAIM: Final = b"select lease_id from loom.work_claim(%s, %s, %s, 1)"
_READ: Final = b"select loom.work_read(%s, %s)"
_USED: Final = b"select loom.work_used(%s, %s, %s, %s, %s, %s)"
_COMPLETE: Final = b"select loom.work_complete(%s, %s, %s, %s)"
_FAIL: Final = b"select loom.work_fail(%s, %s, %s, %s, %s)"
_FAIL_NAMESPACE: Final = b"select loom.work_fail_namespace(%s, %s, %s, %s)"


@dataclass(frozen=True)
class Lease:
    """A user that is ours to build for a while, or until one of these methods ends it. Whoever
    claimed it closes it when done; the connection that it came with stays open."""

    connection: LastingConnection
    org: str
    namespace: str
    kind: str
    lease_id: UUID

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
                    return cls(LastingConnection(connection, kind), org, namespace, kind, row[0])
            await asyncio.sleep(ROUND_SECONDS)
        return None

    async def read(self) -> Mapping[str, Any]:
        """What to build from; ``found`` is False when the lease is over."""
        began = time.monotonic()
        task: Mapping[str, Any] = await self.connection.value(_READ, self.org, self.lease_id)
        if task["found"]:
            self.connection.lives(began, task["seconds_left"])
        return task

    async def used(self, purpose: str, model: str, calls: Sequence[Call]) -> None:
        """Record what calls of a model took; before the lease ends, which knows for whom."""
        told = [asdict(call) for call in calls]
        if told:
            await self.connection.value(
                _USED, self.org, self.namespace, self.lease_id, purpose, model, Jsonb(told)
            )

    async def complete(
        self,
        answer: Mapping[str, Any] | str | None = None,
        sources: Mapping[str, Sequence[str]] | None = None,
    ) -> Mapping[str, Any]:
        """Write what was built, None for nothing known; says what became of it."""
        written = (None if each is None else Jsonb(each) for each in (answer, sources))
        ended: Mapping[str, Any] = await self.connection.value(
            _COMPLETE, self.org, self.lease_id, *written
        )
        return ended

    async def fail(self, outcome: str, code: str, retry_seconds: int | None = None) -> None:
        """End the lease without a result: failed, waiting, cut_off or released."""
        await self.connection.value(_FAIL, self.org, self.lease_id, outcome, code, retry_seconds)

    async def fail_namespace(self, schema_sha256: str) -> None:
        """Say that the namespace's schema cannot be read here."""
        await self.connection.value(
            _FAIL_NAMESPACE, self.org, self.namespace, self.kind, schema_sha256
        )

    async def close(self) -> None:
        """Close what was opened in place of a lost connection."""
        await self.connection.close()
