"""Night weaving: gives a model a loom's threads and what its agents did since, and has the database
carry out what the model would add, revise or retire."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import psycopg

from loom import model_errors as codes
from loom.logs import without_text
from loom.model_client import Completion, ModelClient, cancelled
from loom.model_errors import Failed, ModelError, Waiting
from loom.worker.handlers import Connection
from loom.worker.weaving import answer_schema, read_operations, weaving_messages
from loom.worker.weaving_leases import WeavingLease

log = logging.getLogger("loom.worker")

KIND: Final = "night_weaving"

WRITE_SECONDS: Final = 30.0
"""The last ones of a lease, kept for the write."""

RELEASE_SECONDS: Final = 2.0
"""How long a worker that stops tries to give its lease back; else the lease runs out."""

OF_ONE_PROMPT: Final = frozenset(
    {
        codes.PROMPT_TOO_LONG,
        codes.CUT_OFF,
        codes.EMPTY_ANSWER,
        codes.ANSWER_FILTERED,
        codes.ANSWER_REFUSED,
        codes.ANSWER_UNFINISHED,
        codes.ANSWER_TOO_LONG,
        codes.ANSWER_TOO_DEEP,
        codes.ANSWER_TRUNCATED,
        codes.ANSWER_NOT_JSON,
        codes.ANSWER_NOT_OBJECT,
        codes.ANSWER_NOT_ONE_OBJECT,
        codes.ANSWER_OFF_SCHEMA,
    }
)
"""Failures that come of what one user's turns say: they keep nobody else from being woven."""

ModelOf = Callable[[str, str | None, str | None], ModelClient]
"""The client for an org's name of credentials and a model, each None for the worker's own. Raises
``Failed`` for credentials that the settings do not name."""


class NightWeaving:
    """The handler. ``base_tokens`` caps an answer, ``interval_seconds`` is the time between two
    looks for what is due by the clock, while there is nothing."""

    def __init__(self, model_of: ModelOf, base_tokens: int, interval_seconds: float) -> None:
        self._model_of = model_of
        self._base_tokens = base_tokens
        self._interval_seconds = interval_seconds
        self._next_night = 0.0

    async def __call__(self, connection: Connection) -> bool:
        """Weave one loom, if one is to be woven; whether there was one."""
        now = time.monotonic()
        night = now >= self._next_night
        lease = await WeavingLease.claim(connection, KIND, night=night)
        if lease is None:
            if night:
                self._next_night = now + self._interval_seconds
            return False
        try:
            await self._weave(lease)
        except asyncio.CancelledError:
            await _hurry(_end(lease, "released", "WORKER_STOPPED"))
            raise
        except Exception as error:
            sqlstate = error.sqlstate if isinstance(error, psycopg.Error) else None
            about = {"kind": KIND, "sqlstate": sqlstate}
            log.error("a weaving failed", extra=about, exc_info=without_text(error))
            await _end(lease, Failed.outcome, "WORKER_ERROR")
        finally:
            await lease.close()
        return True

    async def _weave(self, lease: WeavingLease) -> None:
        failed: dict[str, ModelError] = {}
        try:
            for part in lease.parts:
                # The shared part takes the turns for consolidated: not while an own one lacks them.
                if part["user_id"] in failed:
                    continue
                try:
                    if not await self._part(lease, part):
                        return
                except ModelError as failure:
                    if failure.code not in OF_ONE_PROMPT:
                        raise
                    failed[part["user_id"]] = failure
            if failed:
                raise next(iter(failed.values()))
        except ModelError as failure:
            # An answer that was cut off would be again: it waits like any other failure.
            outcome = "waiting" if isinstance(failure, Waiting) else Failed.outcome
            await _end(lease, outcome, failure.code, failure.retry_seconds)
        else:
            await _end(lease, "done")

    async def _part(self, lease: WeavingLease, part: Mapping[str, str]) -> bool:
        """Weave one part; False when the lease is over. Raises a ``ModelError``."""
        given = await lease.read(part)
        if not given["found"]:
            _tell("lost", "LEASE_LOST")
            return False
        if not given["turns"] and not given["threads"]:
            await lease.apply(part, [])  # erased since the claim
            return True
        if not given["model_calls"]:
            raise Waiting("MODEL_CALLS_OFF")
        model = self._model_of(lease.org, lease.credentials, lease.model)
        messages = weaving_messages(given, part["agent"])
        seconds = given["seconds_left"] - WRITE_SECONDS
        completion = await self._ask(lease, model, messages, seconds)
        operations = read_operations(completion.text)
        # Lost: its user was erased meanwhile. Nothing of it is written, and the others go on.
        outcome = await lease.apply(part, operations)
        if outcome != "applied":
            _tell(outcome, "OVERTAKEN")
        return True

    async def _ask(
        self,
        lease: WeavingLease,
        model: ModelClient,
        messages: Sequence[Mapping[str, Any]],
        seconds: float,
    ) -> Completion:
        """The model's completion. What it cost is recorded either way."""
        began = time.monotonic()
        try:
            completion = await model.complete(
                KIND, messages, answer_schema(), self._base_tokens, seconds
            )
        except ModelError as failure:
            await lease.used(model.model, failure.calls)
            raise
        except asyncio.CancelledError:
            call = cancelled(messages, round((time.monotonic() - began) * 1000))
            await _hurry(lease.used(model.model, [call]))
            raise
        await lease.used(model.model, completion.calls)
        return completion


async def _end(
    lease: WeavingLease, outcome: str, code: str | None = None, retry_seconds: int | None = None
) -> None:
    await lease.finish(outcome, code, retry_seconds)
    _tell(outcome, code)


async def _hurry(last_word: Awaitable[None]) -> None:
    """What a worker says on its way out, if it can be said in time."""
    with suppress(psycopg.Error, OSError, TimeoutError):
        async with asyncio.timeout(RELEASE_SECONDS):
            await last_word


def _tell(outcome: str, reason: str | None) -> None:
    log.info("weaving ended", extra={"kind": KIND, "outcome": outcome, "reason": reason})
