"""`memory.ask`: the database finds what there is to say, a model says it, and names its facts."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from loom.app.ask_prompt import ANSWER_SCHEMA, AskPrompt, ask_prompt, read_ask_answer
from loom.app.auth import Caller
from loom.app.errors import MODEL_UNAVAILABLE, Refusal
from loom.app.model_calls import ModelCalls, Place
from loom.model_client import Completion, ModelClient, cancelled
from loom.model_errors import ModelError

log = logging.getLogger("loom.app")

OPERATION: Final = "memory.ask"
PURPOSE: Final = "ask"


class _Request(msgspec.Struct):
    query: str
    org: str | None = None
    namespace: str | None = None


class _Found(msgspec.Struct):
    items: list[Mapping[str, Any]]
    scratchpad: list[Mapping[str, Any]] = []


class Asking:
    """Makes answers. ``max_tokens`` is the most that one may have; no model, no answer."""

    def __init__(self, model: ModelClient | None, calls: ModelCalls, max_tokens: int) -> None:
        self._model = model
        self._calls = calls
        self._max_tokens = max_tokens

    @property
    def possible(self) -> bool:
        """Whether there is a model that could answer."""
        return self._model is not None

    async def answer(self, caller: Caller, body: bytes, found: bytes) -> bytes:
        """The answer to a request from what the database found for it, which has judged both the
        request and whether a model may be called. Raises `Refusal`."""
        if self._model is None:
            raise Refusal(MODEL_UNAVAILABLE, {"reason": "NO_MODEL"})
        asked = msgspec.json.decode(body, type=_Request)
        told = msgspec.json.decode(found, type=_Found)
        prompt = ask_prompt(asked.query, told.items, told.scratchpad)
        if prompt.empty:
            return msgspec.json.encode({"answer": None, "memory_ids": []})
        place = Place(caller, asked.org, asked.namespace)
        try:
            completion = await self._complete(self._model, place, prompt)
            answer = read_ask_answer(completion.text, prompt.given)
        except ModelError as failure:
            # Not chained: nothing of what was asked and answered is to be in a log.
            raise Refusal(MODEL_UNAVAILABLE, {"reason": failure.code}) from None
        return msgspec.json.encode(answer)

    async def _complete(self, model: ModelClient, place: Place, prompt: AskPrompt) -> Completion:
        """The model's text. What it cost is recorded, however it ends."""
        began = time.monotonic()
        try:
            completion = await model.complete(
                PURPOSE, prompt.messages, ANSWER_SCHEMA, self._max_tokens, model.timeout_seconds
            )
        except ModelError as failure:
            await self._calls.record(place, PURPOSE, model.model, failure.calls)
            raise
        except asyncio.CancelledError:
            # The process stops, and has waited long enough; there is time for a last word.
            call = cancelled(prompt.messages, round((time.monotonic() - began) * 1000))
            await self._calls.record(place, PURPOSE, model.model, [call])
            raise Refusal(MODEL_UNAVAILABLE, {"reason": call.outcome}) from None
        await self._calls.record(place, PURPOSE, model.model, completion.calls)
        return completion
