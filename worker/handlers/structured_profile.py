"""Structured profiles: reads a user's facts, has a model fill the schema, and writes what holds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from loom.worker.answer import read_answer
from loom.worker.handlers import Connection
from loom.worker.leases import Lease
from loom.worker.model import ModelClient
from loom.worker.model_errors import CutOff, Failed, ModelError
from loom.worker.prompt import answer_schema, output_cap, structured_profile_prompt

log = logging.getLogger("loom.worker")

KIND: Final = "structured_profile"

# The lease's last seconds are for the write, so that no call is paid for that comes too late.
WRITE_SECONDS: Final = 30.0

# What a section may hold; an answer over it is as useless the next time.
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
            await lease.fail("released", "WORKER_STOPPED")
            raise
        return True

    async def _build(self, lease: Lease) -> None:
        task = await lease.read()
        if not task["found"]:
            _told("lost", "LEASE_LOST")
        elif not task["sources"]:
            await self._write(lease, None, None)
        elif not task["current"]:
            await lease.fail("released", "SCHEMA_CHANGED")
        elif not task["model_calls"]:
            await lease.fail("released", "MODEL_CALLS_OFF")
        else:
            try:
                profile, sources = await self._asked(lease, task)
            except ModelError as failure:
                await lease.fail(failure.outcome, failure.code, failure.retry_seconds)
                _told(failure.outcome, failure.code)
            else:
                await self._write(lease, profile, sources)

    async def _asked(
        self, lease: Lease, task: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, list[str]]]:
        """The model's answer, held to the schema. Raises a ``ModelError``."""
        schema = task["json_schema"]
        prompt = structured_profile_prompt(schema, task["sources"])
        cap = output_cap(self.base_tokens, task["estimate"], len(schema["properties"]))
        seconds = task["seconds_left"] - WRITE_SECONDS
        try:
            completion = await self.model.complete(
                KIND, prompt.messages, answer_schema(schema), cap, seconds
            )
        except ModelError as failure:
            await lease.used(KIND, self.model.model, failure.calls)
            raise
        await lease.used(KIND, self.model.model, completion.calls)
        answer = read_answer(completion.text, schema, prompt.given)
        if answer.dropped:
            log.info("values dropped", extra={"kind": KIND, "count": answer.dropped})
        return answer.profile, answer.sources

    async def _write(
        self, lease: Lease, profile: dict[str, Any] | None, sources: dict[str, list[str]] | None
    ) -> None:
        try:
            written = await lease.complete(profile, sources)
        except psycopg.Error as error:
            if error.sqlstate != _TOO_LONG:
                await lease.fail(Failed.outcome, "WRITE_FAILED")
                raise
            await lease.fail(CutOff.outcome, "CHAR_LIMIT_EXCEEDED")
            _told(CutOff.outcome, "CHAR_LIMIT_EXCEEDED")
        else:
            _told(written["outcome"], written["reason"])


def _told(outcome: str, reason: str | None) -> None:
    log.info("build ended", extra={"kind": KIND, "outcome": outcome, "reason": reason})
