"""User profiles: has a model read what a user said, and merges what it tells.

A bad answer is asked for once more, and then the rules judge, as they do when the provider has
failed for the third time, or three workers came to nothing over it; a provider that cannot serve
just now is waited for.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final
from uuid import UUID

import psycopg
from psycopg.types.json import Jsonb

from loom import model_errors as codes
from loom.logs import without_text
from loom.model_client import Completion, Message, ModelClient, cancelled
from loom.model_errors import Call, CutOff, ModelError, Waiting
from loom.profile.answer import SCHEMA, UnreadableAnswer, read_answer
from loom.profile.model import ProfileDelta, wire_of
from loom.profile.prompt import asked_again, profile_prompt
from loom.worker.handlers import Connection
from loom.worker.lasting_connection import LastingConnection
from loom.worker.statements import value_of

log = logging.getLogger("loom.worker")

KIND: Final = "user_profile"

ANSWERS: Final = 2
"""What a model may say before the rules judge."""

ATTEMPTS: Final = 3
"""Failures, of the provider or of ours, after which the rules judge."""

WRITE_SECONDS: Final = 30.0
"""The last ones of a lease, kept for the write."""

RELEASE_SECONDS: Final = 2.0
"""How long a worker that stops tries to give its lease back; else the lease runs out."""

# Of what came whole but holds no answer: as useless as one that cannot be read.
_NO_ANSWER: Final = frozenset(
    {codes.EMPTY_ANSWER, codes.ANSWER_FILTERED, codes.ANSWER_REFUSED, codes.ANSWER_UNFINISHED}
)

# What cannot be stored, whoever tells it.
_REFUSED: Final = {"LM406": "LIMIT_EXCEEDED", "LM407": "BLACKLISTED"}

_DUE: Final = b"select loom.user_profile_due()"
_CLAIM: Final = b"select loom.user_profile_claim(%s)"
_COMPLETE: Final = b"select loom.user_profile_complete(%s, %s, %s)"
_FAIL: Final = b"select loom.user_profile_fail(%s, %s, %s, %s, %s)"
_USED: Final = b"select loom.work_used(%s, %s, %s, %s, %s, %s)"


@dataclass(frozen=True)
class Task:
    """The signals of one profile, which are ours for a while or until a method ends that. Whoever
    claimed them closes this when done; the connection that it came with stays open."""

    connection: LastingConnection
    org: str
    namespace: str
    lease_id: UUID
    signals: Sequence[str]
    attempt: int
    until: float
    """Of the monotonic clock: no call is paid for that comes too late."""

    @classmethod
    async def claim(cls, connection: Connection) -> Task | None:
        """Those that have waited longest, None when none are to be had now."""
        began = time.monotonic()
        for (org,) in await (await connection.execute(_DUE)).fetchall():
            claimed: Mapping[str, Any] | None = await value_of(connection, _CLAIM, org)
            if claimed is not None:
                lasting = LastingConnection(connection, KIND)
                lasting.lives(began, claimed["seconds_left"])
                return cls(
                    lasting,
                    org,
                    claimed["namespace"],
                    UUID(claimed["lease_id"]),
                    claimed["signals"],
                    claimed["attempt"],
                    began + claimed["seconds_left"] - WRITE_SECONDS,
                )
        return None

    async def complete(self, delta: ProfileDelta | None) -> str:
        """Merge what was told, None for nothing: then the rules judge. What became of it."""
        told = None if delta is None else Jsonb(wire_of(delta))
        try:
            ended = await self.connection.value(_COMPLETE, self.org, self.lease_id, told)
        except psycopg.Error as refusal:
            if refusal.sqlstate not in _REFUSED:
                raise
            await self.fail("refused", _REFUSED[refusal.sqlstate])
            return "refused"
        return str(ended["outcome"])

    async def fail(self, outcome: str, code: str, retry_seconds: int | None = None) -> None:
        """End the lease without a result: failed, waiting, refused or released."""
        await self.connection.value(_FAIL, self.org, self.lease_id, outcome, code, retry_seconds)

    async def used(self, model: str, calls: Sequence[Call]) -> None:
        """Record what calls of a model took."""
        if calls:
            told = Jsonb([asdict(call) for call in calls])
            await self.connection.value(
                _USED, self.org, self.namespace, self.lease_id, KIND, model, told
            )

    async def close(self) -> None:
        """Close what was opened in place of a lost connection."""
        await self.connection.close()


@dataclass(frozen=True)
class UserProfiles:
    """The handler of the kind. ``max_tokens`` is the cap on an answer."""

    model: ModelClient
    max_tokens: int

    async def __call__(self, connection: Connection) -> bool:
        """Learn from the signals of one profile, if any wait; whether there were some."""
        task = await Task.claim(connection)
        if task is None:
            return False
        try:
            await self._learn(task)
        except asyncio.CancelledError:
            await _hurry(task.fail("released", "WORKER_STOPPED"))
            raise
        except Exception as error:
            sqlstate = error.sqlstate if isinstance(error, psycopg.Error) else None
            about = {"kind": KIND, "sqlstate": sqlstate}
            log.error("an update failed", extra=about, exc_info=without_text(error))
            await task.fail("failed", "WORKER_ERROR")
        finally:
            await task.close()
        return True

    async def _learn(self, task: Task) -> None:
        try:
            # Past them when workers died or failed over it: the model is not paid for again.
            delta = await self._asked(task) if task.attempt <= ATTEMPTS else None
        except ModelError as failure:
            if isinstance(failure, Waiting) or task.attempt < ATTEMPTS:
                await task.fail(failure.outcome, failure.code, failure.retry_seconds)
                _tell(failure.outcome, failure.code)
                return
            delta = None
        _tell(await task.complete(delta), None if delta else "RULES")

    async def _asked(self, task: Task) -> ProfileDelta | None:
        """What the model tells, None when it cannot be read; raises the ``ModelError`` of a
        provider that failed."""
        prompt = profile_prompt(task.signals)
        for _ in range(ANSWERS):
            try:
                completion = await self._complete(task, prompt)
                delta = read_answer(completion.text)
            except UnreadableAnswer:
                prompt = asked_again(prompt, completion.text)
            except CutOff:
                return None  # the same request would be cut off again
            except ModelError as failure:
                if failure.code not in _NO_ANSWER:
                    raise
            else:
                delta.source = "llm"
                return delta
        return None

    async def _complete(self, task: Task, prompt: Sequence[Message]) -> Completion:
        """The model's completion. What it cost is recorded, however it ends."""
        began = time.monotonic()
        try:
            completion = await self.model.complete(
                KIND, prompt, SCHEMA, self.max_tokens, task.until - began
            )
        except ModelError as failure:
            await task.used(self.model.model, failure.calls)
            raise
        except asyncio.CancelledError:
            took = round((time.monotonic() - began) * 1000)
            await _hurry(task.used(self.model.model, [cancelled(prompt, took)]))
            raise
        await task.used(self.model.model, completion.calls)
        return completion


async def _hurry(last_word: Awaitable[None]) -> None:
    """What a worker says on its way out, if it can be said in time."""
    with suppress(psycopg.Error, OSError, TimeoutError):
        async with asyncio.timeout(RELEASE_SECONDS):
            await last_word


def _tell(outcome: str, reason: str | None) -> None:
    log.info("update ended", extra={"kind": KIND, "outcome": outcome, "reason": reason})
