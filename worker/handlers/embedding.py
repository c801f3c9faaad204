"""Embeddings: sends texts that are due to the embedding model, and keeps the vectors that it makes
of them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

import psycopg

from loom import model_errors as codes
from loom.embedding import PURPOSE, Embedded, Embedder
from loom.logs import without_text
from loom.model_errors import CANCELLED, Call, Failed, ModelError, Waiting
from loom.worker.embedding_batch import LEASE_SECONDS, EmbeddingBatch, advance
from loom.worker.handlers import Connection

log = logging.getLogger("loom.worker")

KIND: Final = PURPOSE

WRITE_SECONDS: Final = 30.0
"""The last ones of a lease, kept for the write: no call is paid for that comes too late."""

RELEASE_SECONDS: Final = 2.0
"""How long a worker that stops tries to give its lease back; else the lease runs out."""

REST_SECONDS: Final = 60
LONGEST_REST_SECONDS: Final = 300
"""How long the model is left alone after failures. The texts' own waits are in the database; these
keep a provider that is down from being asked about each text in turn."""

RELEASED: Final = "released"

# Of the provider or of our settings, whatever the text: no text may be given up for it.
_NO_TEXTS_FAULT: Final = frozenset(
    {
        codes.MODEL_AUTH,
        codes.MODEL_NOT_FOUND,
        codes.MODEL_REDIRECTED,
        codes.EMBEDDINGS_OTHER_SIZE,
    }
)


class Embeddings:
    """The handler of the kind, with one model."""

    def __init__(self, embedder: Embedder, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._embedder = embedder
        self._clock = clock
        self._failures = 0
        self._rests_until = 0.0
        # How many texts were listed for the model when we last looked.
        self._listed: int | None = None

    async def __call__(self, connection: Connection) -> bool:
        """Embed one batch, if texts are due; whether there were some."""
        if self._clock() < self._rests_until:
            return False
        batch = await self._claim(connection)
        if batch is None:
            return False
        try:
            await self._embed(batch)
        except Exception as error:
            sqlstate = error.sqlstate if isinstance(error, psycopg.Error) else None
            about = {"kind": KIND, "sqlstate": sqlstate}
            log.error("embedding failed", extra=about, exc_info=without_text(error))
            self._failed(None)
            await batch.fail(Failed.outcome, "WORKER_ERROR")
        finally:
            await batch.close()
        return True

    async def _claim(self, connection: Connection) -> EmbeddingBatch | None:
        """A batch. When nothing is due, the next texts from before the model was added are listed;
        when all of them have a vector it becomes the active one."""
        model = self._embedder.model
        while (batch := await EmbeddingBatch.claim(connection, model)) is None:
            models = {each["model"]: each for each in await advance(connection)}
            ours = models.get(model)
            if ours is None or ours["listed"] == self._listed:
                return None
            self._listed = ours["listed"]
        return batch

    async def _embed(self, batch: EmbeddingBatch) -> None:
        try:
            embedded = await self._vectors(batch)
        except ModelError as failure:
            await self._give_up(batch, failure)
            return
        self._failures = 0
        stored = await batch.store(embedded.vectors, embedded.calls)
        _tell("stored", None, stored["stored"])

    async def _vectors(self, batch: EmbeddingBatch) -> Embedded:
        """The texts' vectors. Raises a ``ModelError``."""
        began = time.monotonic()
        try:
            embedded = await self._embedder.embed(batch.texts, LEASE_SECONDS - WRITE_SECONDS)
        except asyncio.CancelledError:
            call = Call(CANCELLED, 0, 0, round((time.monotonic() - began) * 1000))
            await _hurry(batch.fail(RELEASED, "WORKER_STOPPED", [call]))
            raise
        if batch.dimension not in (None, len(embedded.vectors[0])):
            # Another model behind the same name: its vectors mean nothing beside the stored ones.
            failure = Failed(codes.EMBEDDINGS_OTHER_SIZE)
            failure.calls = embedded.calls
            raise failure
        return embedded

    async def _give_up(self, batch: EmbeddingBatch, failure: ModelError) -> None:
        retry = failure.retry_seconds
        outcome: str = failure.outcome
        if failure.code in _NO_TEXTS_FAULT:
            outcome, retry = Waiting.outcome, LONGEST_REST_SECONDS
        self._failed(retry if outcome == Waiting.outcome else None, waits=outcome != Failed.outcome)
        await batch.fail(outcome, failure.code, failure.calls, retry)
        _tell(outcome, failure.code, len(batch.items))

    def _failed(self, retry_seconds: int | None, *, waits: bool = False) -> None:
        """Leave the model alone for a while: at once when it said so or is not there; after a
        second failure in a row otherwise, since one may have been the text's."""
        self._failures += 1
        seconds = 0.0
        if waits:
            seconds = min(retry_seconds or REST_SECONDS, LONGEST_REST_SECONDS)
        elif self._failures > 1:
            seconds = min(2.0**self._failures, LONGEST_REST_SECONDS)
        self._rests_until = self._clock() + seconds


async def _hurry(last_word: Awaitable[None]) -> None:
    """What a worker says on its way out, if it can be said in time."""
    with suppress(psycopg.Error, OSError, TimeoutError):
        async with asyncio.timeout(RELEASE_SECONDS):
            await last_word


def _tell(outcome: str, reason: str | None, count: int) -> None:
    about = {"kind": KIND, "outcome": outcome, "reason": reason, "count": count}
    log.info("texts embedded" if reason is None else "texts not embedded", extra=about)
