"""Whether the database is there, is ours, and whether the work in it goes on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

import msgspec

from loom.app.work import NO_WORK, Kind, Work
from loom.gateway import DatabaseRefusal, DatabaseUnavailable, Pool
from loom.migrate import Expected

# A worker that has not been heard of for so many of its polls, and some seconds, is not running.
MISSED_POLLS: Final = 3
GRACE_SECONDS: Final = 5.0
# Work that was to be had for so many polls, and these seconds, with nothing claimed, has stalled.
IDLE_POLLS: Final = 2

# Searches can do without: a provider that is down, or a model that no worker has, is not to take
# the API out of service. Its metrics tell.
_DONE_WITHOUT: Final = frozenset({"embedding"})


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
    model: str

    @property
    def ready(self) -> bool:
        """Whether operations can be answered now, and what they leave to a worker gets done."""
        return self.database == "ok" and self.schema == "ok" and self.worker != "stalled"

    def checks(self) -> dict[str, str]:
        """The parts, as they are answered."""
        return {
            "database": self.database,
            "schema": self.schema,
            "worker": self.worker,
            "model": self.model,
        }


async def look(
    pool: Pool, expected: Expected, worker_poll_seconds: float, *, has_model: bool
) -> Readiness:
    """Ask the database. Never raises for what is wrong with it."""
    model = "configured" if has_model else "not configured"
    try:
        health = msgspec.json.decode(await pool.health(), type=Health)
    except DatabaseUnavailable as failure:
        if failure.reason == "schema":
            return Readiness("ok", "missing", "unknown", model)
        return Readiness("unavailable", "unknown", "unknown", model)
    except DatabaseRefusal:
        return Readiness("unavailable", "unknown", "unknown", model)
    if not _is_ours(health, expected):
        return Readiness("ok", "other", _heard(health, worker_poll_seconds), model)
    # Without a model all there is to do waits for one.
    work = await Work.ask(pool) if has_model else None
    return Readiness("ok", "ok", _worker(health, work or NO_WORK, worker_poll_seconds), model)


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


def _worker(health: Health, work: Work, poll_seconds: float) -> str:
    heard = _heard(health, poll_seconds)
    longest = IDLE_POLLS * poll_seconds + GRACE_SECONDS
    for name, kind in work.kinds.items():
        if name in _DONE_WITHOUT:
            continue
        # Who is at a build may have no hand free for another.
        busy = kind.under_way and heard == "running"
        if not busy and _idle_seconds(kind) > longest:
            return "stalled"
    return heard


def _idle_seconds(kind: Kind) -> float:
    """For how long there was work to claim, and nothing was claimed or ended."""
    if kind.oldest_due_seconds is None:
        return 0.0
    since = (kind.oldest_due_seconds, kind.last_claim_seconds, kind.last_end_seconds)
    return min(seconds for seconds in since if seconds is not None)


def _heard(health: Health, poll_seconds: float) -> str:
    if not health.workers:
        return "none"
    silence = min(worker.seconds_since for worker in health.workers)
    return "silent" if silence > MISSED_POLLS * poll_seconds + GRACE_SECONDS else "running"
