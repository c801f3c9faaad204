"""Embeddings from an OpenAI-compatible endpoint. Like the model's client it repeats nothing: when
to try again is for the due rows in the database to say."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from loom import model_errors as codes
from loom.embedding import Embedded, Vector
from loom.embedding_reply import EmbeddingReading, read_embeddings, unanswered, unusable
from loom.model_endpoint import EndpointClient
from loom.model_errors import Call, Failed, ModelError

MOST_TEXTS: Final = 32
"""In one request; what the most sparing of the usual servers takes."""

MOST_BYTES: Final = 16 * 1024 * 1024
"""Of a reply: 32 vectors of 16,000 numbers as JSON come to less."""


class EmbeddingClient(EndpointClient):
    """An embedding model at an endpoint. ``base_url`` is what ``/embeddings`` is added to,
    ``timeout_seconds`` the longest that one ``embed`` may take."""

    async def embed(self, texts: Sequence[str], seconds: float) -> Embedded:
        """A vector for each of the texts, within ``seconds`` and the client's own limit; by as
        many requests, one after the other, as their number needs.

        Raises a ``ModelError``, which carries the calls that were made.
        """
        limit = min(seconds, self.timeout_seconds)
        calls: list[Call] = []
        outcome: tuple[Vector, ...] | ModelError = Failed(codes.MODEL_TIMEOUT)
        if limit > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(limit):
                    outcome = await self._attempt(texts, calls)
        # Raised here and not where it was met, so that it carries no library's exception along:
        # that would hold the request, with users' texts and the key.
        if isinstance(outcome, ModelError):
            outcome.calls = tuple(calls)
            raise outcome
        return Embedded(outcome, tuple(calls))

    async def _attempt(
        self, texts: Sequence[str], calls: list[Call]
    ) -> tuple[Vector, ...] | ModelError:
        vectors: tuple[Vector, ...] = ()
        for start in range(0, len(texts), MOST_TEXTS):
            reading = await self._call(texts[start : start + MOST_TEXTS], calls)
            if reading.failure is not None:
                return reading.failure
            vectors += reading.vectors
        return (vectors and unusable(vectors)) or vectors

    async def _call(self, texts: Sequence[str], calls: list[Call]) -> EmbeddingReading:
        """One HTTP call, entered in ``calls`` however it ends."""
        began = time.monotonic()
        characters = sum(map(len, texts))
        reading = unanswered(Failed(codes.MODEL_TIMEOUT), characters)
        try:
            sent = await self._endpoint.post("embeddings", self._body(texts), MOST_BYTES)
            if isinstance(sent, ModelError):
                reading = unanswered(sent, characters)
            else:
                reading = read_embeddings(sent, len(texts), characters)
        finally:  # also when the deadline cancels it
            milliseconds = round((time.monotonic() - began) * 1000)
            calls.append(Call(reading.outcome, reading.prompt_tokens, 0, milliseconds))
        return reading

    def _body(self, texts: Sequence[str]) -> bytes:
        # The format is said, since a client library of some servers' makes base64 the default.
        request = {"model": self.model, "input": list(texts), "encoding_format": "float"}
        return json.dumps(request, allow_nan=False).encode("ascii")
