"""Whether the database is there, is ours, and whether a worker looks after it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

import msgspec

from loom.gateway import DatabaseRefusal, DatabaseUnavailable, Pool
from loom.migrate import Expected

# A worker that has not been heard of for so many of its polls, and some seconds, is not running.
MISSED_POLLS: Final = 3
GRACE_SECONDS: Final = 5.0


class SchemaMismatch(RuntimeError):
    """The database does not have this version's schema, so nothing may be served from it."""


class Worker(msgspec.Struct):
    """A worker as `loom.health()` tells of it."""

    seconds_since: float


class Health(msgspec.Struct):
    """What of `loom.health()` is used here."""

    migration: str | None
    functions_sha256: str | None
    open_mode: bool
    workers: list[Worker]


@dataclass(frozen=True)
class Readiness:
    """The parts of `/v1/ready`. `ready` is what matters to a load balancer."""

    database: str
    schema: str
    worker: str

    @property
    def ready(self) -> bool:
        """Whether operations can be answered now."""
        return self.database == "ok" and self.schema == "ok"

    def checks(self) -> dict[str, str]:
        """The parts, as they are answered."""
        return {"database": self.database, "schema": self.schema, "worker": self.worker}


async def look(pool: Pool, expected: Expected, worker_poll_seconds: float) -> Readiness:
    """Ask the database. Never raises for what is wrong with it."""
    try:
        health = msgspec.json.decode(await pool.health(), type=Health)
    except DatabaseUnavailable as failure:
        if failure.reason == "schema":
            return Readiness("ok", "missing", "unknown")
        return Readiness("unavailable", "unknown", "unknown")
    except DatabaseRefusal:
        return Readiness("unavailable", "unknown", "unknown")
    schema = "ok" if _is_ours(health, expected) else "other"
    return Readiness("ok", schema, _worker(health, worker_poll_seconds))


async def require_schema(pool: Pool, expected: Expected, *, seconds: float = 30.0) -> None:
    """Wait until the database answers, and make sure that it has this version's schema.

    Raises `SchemaMismatch`, or `DatabaseUnavailable` when it has not answered within `seconds`.
    """
    deadline = asyncio.get_running_loop().time() + seconds
    while True:
        try:
            health = msgspec.json.decode(await pool.health(), type=Health)
            break
        except DatabaseUnavailable as failure:
            if failure.reason == "schema":
                raise SchemaMismatch(
                    "the database has no Loom schema that this login may use; run: loom migrate"
                ) from None
            if asyncio.get_running_loop().time() >= deadline:
                raise
    if not _is_ours(health, expected):
        raise SchemaMismatch(
            f"the database is at {health.migration}, this version of Loom at "
            f"{expected.migration}, or their functions differ; run: loom migrate"
        )


def _is_ours(health: Health, expected: Expected) -> bool:
    return (
        health.migration == expected.migration
        and health.functions_sha256 == expected.functions_sha256
    )


def _worker(health: Health, poll_seconds: float) -> str:
    if not health.workers:
        return "none"
    silence = min(worker.seconds_since for worker in health.workers)
    return "silent" if silence > MISSED_POLLS * poll_seconds + GRACE_SECONDS else "running"
