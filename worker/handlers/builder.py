"""What all kinds that build a section have in common: a lease, the user's facts, one question to
the model, and a write that the database judges. A kind adds what is asked and how the answer reads.
"""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import psycopg

from loom.logs import without_text
from loom.model_client import Completion, ModelClient, cancelled
from loom.model_errors import CutOff, Failed, ModelError
from loom.worker.handlers import Connection
from loom.worker.leases import Lease
from loom.worker.prompt import Prompt

log = logging.getLogger("loom.worker")

WRITE_SECONDS: Final = 30.0
"""The last ones of a lease, kept for the write: no call is paid for that comes too late."""

RELEASE_SECONDS: Final = 2.0
"""How long a worker that stops tries to give its lease back; else the lease runs out."""

RELEASED: Final = "released"

_TOO_LONG: Final = "LM402"

Task = Mapping[str, Any]
"""What ``loom.work_read`` answers."""


@dataclass(frozen=True)
class Question:
    """What the model is asked: the prompt, the shape of an answer and the most tokens of one."""

    prompt: Prompt
    answer_schema: dict[str, Any]
    tokens: int


@dataclass(frozen=True)
class Built:
    """What is to be written, as ``loom.work_complete`` takes it. ``dropped`` counts what of the
    answer is not in it."""

    answer: Mapping[str, Any] | str
    sources: Mapping[str, Sequence[str]] | None = None
    dropped: int = 0


@dataclass(frozen=True)
class Builder(ABC):
    """The handler of a kind. ``base_tokens`` is the purpose's own entry of the output caps."""

    model: ModelClient
    base_tokens: int

    kind: ClassVar[str]
    overtaken: ClassVar[str]
    """The code for a lease that is no longer current."""

    @abstractmethod
    def question(self, task: Task) -> Question:
        """What the model is asked."""

    @abstractmethod
    def built(self, text: str, task: Task, prompt: Prompt) -> Built:
        """What its answer comes to. Raises ``AnswerError`` for one that cannot be read."""

    def readable(self, task: Task) -> bool:
        """Whether answers can be held to the namespace's schema."""
        return True

    async def __call__(self, connection: Connection) -> bool:
        """Build one user's section, if one is due; whether there was one."""
        lease = await Lease.claim(connection, self.kind)
        if lease is None:
            return False
        try:
            await self._build(lease)
        except asyncio.CancelledError:
            await _hurry(_end(lease, RELEASED, "WORKER_STOPPED"))
            raise
        except Exception as error:
            sqlstate = error.sqlstate if isinstance(error, psycopg.Error) else None
            about = {"kind": self.kind, "sqlstate": sqlstate}
            log.error("a build failed", extra=about, exc_info=without_text(error))
            await _end(lease, Failed.outcome, "WORKER_ERROR")
        finally:
            await lease.close()
        return True

    async def _build(self, lease: Lease) -> None:
        task = await lease.read()
        if not task["found"]:
            _tell(lease, "lost", "LEASE_LOST")
        elif not task["sources"]:
            await _write(lease)
        elif not task["current"]:
            await _end(lease, RELEASED, self.overtaken)
        elif not task["model_calls"]:
            await _end(lease, RELEASED, "MODEL_CALLS_OFF")
        elif not self.readable(task):
            await lease.fail_namespace(task["schema_sha256"])
            await _end(lease, RELEASED, "SCHEMA_UNREADABLE")
        else:
            await self._fill_in(lease, task)

    async def _fill_in(self, lease: Lease, task: Task) -> None:
        question = self.question(task)
        if not question.prompt.given:  # every fact is too long to be read
            await _write(lease)
            return
        try:
            completion = await self._ask(lease, task, question)
            built = self.built(completion.text, task, question.prompt)
        except ModelError as failure:
            await _end(lease, failure.outcome, failure.code, failure.retry_seconds)
            return
        if built.dropped:
            log.info("values dropped", extra={"kind": self.kind, "count": built.dropped})
        await _write(lease, built)

    async def _ask(self, lease: Lease, task: Task, question: Question) -> Completion:
        """The model's completion; raises a ``ModelError``. What it cost is recorded either way."""
        began = time.monotonic()
        try:
            completion = await self.model.complete(
                self.kind,
                question.prompt.messages,
                question.answer_schema,
                question.tokens,
                task["seconds_left"] - WRITE_SECONDS,
            )
        except ModelError as failure:
            await lease.used(self.kind, self.model.model, failure.calls)
            raise
        except asyncio.CancelledError:
            milliseconds = round((time.monotonic() - began) * 1000)
            call = cancelled(question.prompt.messages, milliseconds)
            await _hurry(lease.used(self.kind, self.model.model, [call]))
            raise
        await lease.used(self.kind, self.model.model, completion.calls)
        return completion


async def _write(lease: Lease, built: Built | None = None) -> None:
    answer, sources = (built.answer, built.sources) if built else (None, None)
    try:
        written = await lease.complete(answer, sources)
    except psycopg.Error as error:
        if error.sqlstate != _TOO_LONG:
            raise
        # As useless the next time as an answer that was cut off.
        await _end(lease, CutOff.outcome, "CHAR_LIMIT_EXCEEDED")
    else:
        _tell(lease, written["outcome"], written["reason"])


async def _end(lease: Lease, outcome: str, code: str, retry_seconds: int | None = None) -> None:
    """Without a result."""
    await lease.fail(outcome, code, retry_seconds)
    _tell(lease, outcome, code)


async def _hurry(last_word: Awaitable[None]) -> None:
    """What a worker says on its way out, if it can be said in time."""
    with suppress(psycopg.Error, OSError, TimeoutError):
        async with asyncio.timeout(RELEASE_SECONDS):
            await last_word


def _tell(lease: Lease, outcome: str, reason: str | None) -> None:
    log.info("build ended", extra={"kind": lease.kind, "outcome": outcome, "reason": reason})
