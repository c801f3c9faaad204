"""The worker's side of `loom.weaving_*`: which loom is to be woven, and how its lease ends.

Each method is one statement on a connection in autocommit mode, logged in as ``loom_worker``. Once
something was read the lease outlives that connection.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final
from uuid import UUID

from psycopg.types.json import Jsonb

from loom.model_errors import Call
from loom.worker.handlers import Connection
from loom.worker.lasting_connection import LastingConnection

MOST_LOOMS: Final = 20
"""Looked up at a time. Another worker may be faster with each of them."""

MOST_ROUNDS: Final = 5
"""Such look-ups in one go, where others were faster with all that were found."""

_DUE: Final = b"select org, loom_id from loom.weaving_due(%s, %s)"
_CLAIM: Final = b"select loom.weaving_claim(%s, %s)"
_READ: Final = b"select loom.weaving_read(%s, %s, %s, %s)"
_APPLY: Final = b"select loom.weaving_apply(%s, %s, %s, %s, %s)"
_USED: Final = b"select loom.weaving_used(%s, %s, %s, %s)"
_FINISH: Final = b"select loom.weaving_finish(%s, %s, %s, %s, %s)"


@dataclass(frozen=True)
class WeavingLease:
    """A loom that is ours to weave for a while, or until ``finish``. Whoever claimed it closes it
    when done; the connection that it came with stays open."""

    connection: LastingConnection
    org: str
    lease_id: UUID
    credentials: str | None
    model: str | None
    parts: Sequence[Mapping[str, str]]

    @classmethod
    async def claim(cls, connection: Connection, kind: str, *, night: bool) -> WeavingLease | None:
        """The lease of a loom that somebody asked to be woven, or at ``night`` of one that is due;
        None when none is to be had now."""
        for _ in range(MOST_ROUNDS):
            due = await (await connection.execute(_DUE, (MOST_LOOMS, night))).fetchall()
            for org, loom_id in due:
                row = await (await connection.execute(_CLAIM, (org, loom_id))).fetchone()
                claimed: Mapping[str, Any] = row[0] if row else {"found": False}
                if claimed["found"]:
                    return cls(
                        LastingConnection(connection, kind),
                        org,
                        UUID(claimed["lease_id"]),
                        claimed["credentials"],
                        claimed["model"],
                        claimed["parts"],
                    )
            if len(due) < MOST_LOOMS:
                break
        return None

    async def read(self, part: Mapping[str, str]) -> Mapping[str, Any]:
        """What the model is given of one part; ``found`` is False when the lease is over."""
        began = time.monotonic()
        given: Mapping[str, Any] = await self.connection.value(_READ, *self._of(part))
        if given["found"]:
            self.connection.lives(began, given["seconds_left"])
        return given

    async def apply(self, part: Mapping[str, str], operations: Sequence[Mapping[str, Any]]) -> str:
        """Carry out what the model answered for a part; ``applied`` or ``lost``."""
        told = Jsonb(list(operations))
        answer: Mapping[str, str] = await self.connection.value(_APPLY, *self._of(part), told)
        return answer["outcome"]

    async def used(self, model: str, calls: Sequence[Call]) -> None:
        """Record what calls of a model took."""
        told = [asdict(call) for call in calls]
        if told:
            await self.connection.value(_USED, self.org, self.lease_id, model, Jsonb(told))

    async def finish(
        self, outcome: str, code: str | None = None, retry_seconds: int | None = None
    ) -> None:
        """End the lease: done, failed, waiting or released."""
        await self.connection.value(_FINISH, self.org, self.lease_id, outcome, code, retry_seconds)

    async def close(self) -> None:
        """Close what was opened in place of a lost connection."""
        await self.connection.close()

    def _of(self, part: Mapping[str, str]) -> tuple[object, ...]:
        return self.org, self.lease_id, part["user_id"], part["agent"]
