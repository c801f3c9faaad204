"""How the work that the API leaves to workers goes on, as `loom.work_metrics()` tells of it."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from loom.gateway import DatabaseRefusal, DatabaseUnavailable, Pool

# Longer than it takes; a page of numbers is not worth a long wait for a database that is down.
ASK_SECONDS: Final = 2.0


class Kind(msgspec.Struct):
    """A kind of work. Seconds are null where there is nothing, or was nothing yet."""

    due: int
    oldest_due_seconds: float | None
    under_way: bool
    claims: int
    last_claim_seconds: float | None
    last_end_seconds: float | None
    builds: dict[str, int]


class Work(msgspec.Struct):
    """What of `loom.work_metrics()` is used here."""

    kinds: dict[str, Kind]
    model_tokens: dict[str, int]

    @classmethod
    async def ask(cls, pool: Pool) -> Work | None:
        """Ask the database; None when it does not answer."""
        try:
            async with asyncio.timeout(ASK_SECONDS):
                return msgspec.json.decode(await pool.work(), type=cls)
        except (DatabaseUnavailable, DatabaseRefusal, TimeoutError):
            return None


NO_WORK: Final = Work({}, {})
