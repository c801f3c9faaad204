"""The one place that calls a model: an OpenAI-compatible endpoint over HTTP.

It repeats nothing. When to try again is for the due rows in the database to say, so that a failure
is paid for once; all that is sent twice is a request whose form the endpoint refused, which no
model has seen.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final, Literal

from loom import model_errors as codes
from loom.model_endpoint import EndpointClient
from loom.model_errors import Call, Failed, ModelError
from loom.model_reply import (
    Reading,
    Reply,
    estimated_tokens,
    read_reply,
    refuses_format,
    unanswered,
    wants_completion_tokens,
)
from loom.settings import Settings

Message = Mapping[str, str]

Format = Literal["json_schema", "json_object_schema", "json_object", "text"]
FORMATS: Final[tuple[Format, ...]] = ("json_schema", "json_object_schema", "json_object", "text")
"""How an answer's format is asked for, the strictest first. Whatever the endpoint makes of it, the
schema is in the prompt too, and our own validator decides."""

MOST_BYTES: Final = 4 * 1024 * 1024
"""Of a reply: many times what the largest cap on an answer lets a model write."""


@dataclass(frozen=True)
class Completion:
    """An answer that came whole, and what it took. ``calls`` are the HTTP calls, refused ones
    included; tokens are those of the last one, ``milliseconds`` of all."""

    text: str
    model: str
    prompt_tokens: int
    completion_tokens: int
    milliseconds: int
    format: Format
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class _Asked:
    """What is asked for, before it takes the form that the endpoint understands."""

    purpose: str
    messages: Sequence[Message]
    json_schema: Mapping[str, Any]
    max_tokens: int


class ModelClient(EndpointClient):
    """A model at an endpoint. ``base_url`` is what ``/chat/completions`` is added to,
    ``timeout_seconds`` the longest that one completion may take, refused formats included.

    What the endpoint refused it is not asked for again: one client lives as long as its process.
    """

    def __init__(
        self, base_url: str, api_key: str | None, model: str, timeout_seconds: float
    ) -> None:
        super().__init__(base_url, api_key, model, timeout_seconds)
        self._format = 0
        self._tokens_field = "max_tokens"

    @property
    def format(self) -> Format:
        """The format that the next completion begins with."""
        return FORMATS[self._format]

    async def complete(
        self,
        purpose: str,
        messages: Sequence[Message],
        json_schema: Mapping[str, Any],
        max_tokens: int,
        seconds: float,
    ) -> Completion:
        """Ask for one answer in the schema's shape, within ``seconds`` and the client's own limit.

        Raises a ``ModelError``, which carries the calls that were made.
        """
        asked = _Asked(purpose, messages, json_schema, max_tokens)
        limit = min(seconds, self.timeout_seconds)
        calls: list[Call] = []
        outcome: Completion | ModelError = Failed(codes.MODEL_TIMEOUT)
        if limit > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(limit):
                    outcome = await self._attempt(asked, calls)
        # Raised here and not where it was met, so that it carries no library's exception along:
        # that would hold the request, with a user's facts and the key.
        if isinstance(outcome, ModelError):
            outcome.calls = tuple(calls)
            raise outcome
        return outcome

    async def _attempt(self, asked: _Asked, calls: list[Call]) -> Completion | ModelError:
        """Call until there is an answer or a failure; a refused format is stepped down from once,
        and the field of the cap exchanged once."""
        stepped = False
        while True:
            level, tokens_field = self._format, self._tokens_field
            sent = _body(asked, self.model, FORMATS[level], tokens_field)
            reply, reading = await self._call(sent, asked, calls)
            if reply is None or reading.failure is None:
                break
            if tokens_field == "max_tokens" and wants_completion_tokens(reply):
                self._tokens_field = "max_completion_tokens"
                calls[-1] = _renamed(calls[-1], codes.TOKEN_FIELD_REFUSED)
            elif level + 1 < len(FORMATS) and refuses_format(reply):
                # Another completion under way may have gone down further.
                self._format = max(self._format, level + 1)
                calls[-1] = _renamed(calls[-1], codes.FORMAT_REFUSED)
                if stepped:
                    return Failed(codes.FORMAT_REFUSED)
                stepped = True
            else:
                break
        if reading.failure is not None:
            return reading.failure
        return Completion(
            text=reading.text,
            model=self.model,
            prompt_tokens=reading.prompt_tokens,
            completion_tokens=reading.completion_tokens,
            milliseconds=sum(call.milliseconds for call in calls),
            format=FORMATS[level],
            calls=tuple(calls),
        )

    async def _call(
        self, body: bytes, asked: _Asked, calls: list[Call]
    ) -> tuple[Reply | None, Reading]:
        """One HTTP call, entered in ``calls`` however it ends."""
        began = time.monotonic()
        characters = _characters(asked.messages)
        # A model that is too slow for this request is so the next time, and is paid for each time.
        reading = unanswered(Failed(codes.MODEL_TIMEOUT), characters)
        reply = None
        try:
            sent = await self._endpoint.post("chat/completions", body, MOST_BYTES)
            if isinstance(sent, ModelError):
                reading = unanswered(sent, characters)
            else:
                reply = sent
                reading = read_reply(reply, characters)
        finally:  # also when the deadline cancels it
            calls.append(
                Call(
                    reading.outcome,
                    reading.prompt_tokens,
                    reading.completion_tokens,
                    round((time.monotonic() - began) * 1000),
                )
            )
        return reply, reading


def cancelled(messages: Sequence[Message], milliseconds: int) -> Call:
    """The entry of a call that whoever asked gave up: its prompt may have been paid for."""
    return Call(codes.CANCELLED, estimated_tokens(_characters(messages)), 0, milliseconds)


def _characters(messages: Sequence[Message]) -> int:
    return sum(len(message["content"]) for message in messages)


def _renamed(call: Call, outcome: str) -> Call:
    return Call(outcome, call.prompt_tokens, call.completion_tokens, call.milliseconds)


def _body(asked: _Asked, model: str, form: Format, tokens_field: str) -> bytes:
    request = {
        "model": model,
        "messages": [dict(message) for message in asked.messages],
        tokens_field: asked.max_tokens,
    }
    response_format = _response_format(form, asked)
    if response_format is not None:
        request["response_format"] = response_format
    return json.dumps(request, allow_nan=False).encode("ascii")


def _response_format(form: Format, asked: _Asked) -> dict[str, Any] | None:
    match form:
        case "json_schema":
            schema = {"name": asked.purpose, "strict": True, "schema": asked.json_schema}
            return {"type": "json_schema", "json_schema": schema}
        case "json_object_schema":
            return {"type": "json_object", "schema": asked.json_schema}
        case "json_object":
            return {"type": "json_object"}
        case "text":
            return None


@asynccontextmanager
async def configured_model(settings: Settings) -> AsyncIterator[ModelClient | None]:
    """The model that the settings name, or None. It is not called for it."""
    if settings.model_at is None:
        yield None
        return
    base_url, name = settings.model_at
    async with ModelClient(
        base_url, settings.model_api_key, name, settings.model_timeout_seconds
    ) as model:
        yield model
