"""Structured profiles: reads a user's facts, has a model fill the schema, and writes what holds."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from loom.logs import without_text
from loom.worker.answer import is_readable, read_answer
from loom.worker.handlers import Connection
from loom.worker.leases import Lease
from loom.worker.model import Completion, ModelClient
from loom.worker.model_errors import CANCELLED, Call, CutOff, Failed, ModelError
from loom.worker.prompt import Prompt, answer_schema, output_cap, structured_profile_prompt

log = logging.getLogger("loom.worker")

KIND: Final = "structured_profile"

WRITE_SECONDS: Final = 30.0
"""The last ones of a lease, kept for the write: no call is paid for that comes too late."""

RELEASE_SECONDS: Final = 2.0
"""How long a worker that stops tries to give its lease back; else the lease runs out."""

RELEASED: Final = "released"

_TOO_LONG: Final = "LM402"


@dataclass(frozen=True)
class StructuredProfiles:
    """The handler of the kind. ``base_tokens`` is the purpose's own part of the output cap."""

    model: ModelClient
    base_tokens: int

    async def __call__(self, connection: Connection) -> bool:
        """Build one user's profile, if one is due; whether there was one."""
        lease = await Lease.claim(connection, KIND)
        if lease is None:
            return False
        try:
            await self._build(lease)
        except asyncio.CancelledError:
            await _hurry(_end(lease, RELEASED, "WORKER_STOPPED"))
            raise
        except Exception as error:
            sqlstate = error.sqlstate if isinstance(error, psycopg.Error) else None
            about = {"kind": KIND, "sqlstate": sqlstate}
            log.error("a build failed", extra=about, exc_info=without_text(error))
            await _end(lease, Failed.outcome, "WORKER_ERROR")
        return True

    async def _build(self, lease: Lease) -> None:
        task = await lease.read()
        if not task["found"]:
            _tell("lost", "LEASE_LOST")
        elif not task["sources"]:
            await _write(lease)
        elif not task["current"]:
            await _end(lease, RELEASED, "SCHEMA_CHANGED")
        elif not task["model_calls"]:
            await _end(lease, RELEASED, "MODEL_CALLS_OFF")
        elif not is_readable(task["json_schema"]):
            await lease.fail_namespace(task["schema_sha256"])
            await _end(lease, RELEASED, "SCHEMA_UNREADABLE")
        else:
            await self._fill_in(lease, task)

    async def _fill_in(self, lease: Lease, task: Mapping[str, Any]) -> None:
        schema = task["json_schema"]
        prompt = structured_profile_prompt(schema, task["sources"])
        if not prompt.given:  # every fact is too long to be read
            await _write(lease)
            return
        try:
            completion = await self._ask(lease, task, prompt)
            answer = read_answer(completion.text, schema, prompt.given)
        except ModelError as failure:
            await _end(lease, failure.outcome, failure.code, failure.retry_seconds)
            return
        if answer.dropped:
            log.info("values dropped", extra={"kind": KIND, "count": answer.dropped})
        await _write(lease, answer.profile, answer.sources)

    async def _ask(self, lease: Lease, task: Mapping[str, Any], prompt: Prompt) -> Completion:
        """The model's completion; raises a ``ModelError``. What it cost is recorded either way."""
        schema = task["json_schema"]
        cap = output_cap(self.base_tokens, task["estimate"], len(schema["properties"]))
        began = time.monotonic()
        try:
            completion = await self.model.complete(
                KIND,
                prompt.messages,
                answer_schema(schema),
                cap,
                task["seconds_left"] - WRITE_SECONDS,
            )
        except ModelError as failure:
            await lease.used(KIND, self.model.model, failure.calls)
            raise
        except asyncio.CancelledError:
            call = Call(CANCELLED, 0, 0, round((time.monotonic() - began) * 1000))
            await _hurry(lease.used(KIND, self.model.model, [call]))
            raise
        await lease.used(KIND, self.model.model, completion.calls)
        return completion


async def _write(
    lease: Lease,
    profile: Mapping[str, Any] | None = None,
    sources: Mapping[str, Sequence[str]] | None = None,
) -> None:
    try:
        written = await lease.complete(profile, sources)
    except psycopg.Error as error:
        if error.sqlstate != _TOO_LONG:
            raise
        # As useless the next time as an answer that was cut off.
        await _end(lease, CutOff.outcome, "CHAR_LIMIT_EXCEEDED")
    else:
        _tell(written["outcome"], written["reason"])


async def _end(lease: Lease, outcome: str, code: str, retry_seconds: int | None = None) -> None:
    """Without a result."""
    await lease.fail(outcome, code, retry_seconds)
    _tell(outcome, code)


async def _hurry(last_word: Awaitable[None]) -> None:
    """What a worker says on its way out, if it can be said in time."""
    with suppress(psycopg.Error, OSError, TimeoutError):
        async with asyncio.timeout(RELEASE_SECONDS):
            await last_word


def _tell(outcome: str, reason: str | None) -> None:
    log.info("build ended", extra={"kind": KIND, "outcome": outcome, "reason": reason})
