"""What an OpenAI-compatible endpoint's HTTP reply means: an answer, or why there is none.

The text of an error decides two things, whether the format was refused and whether another field
for the cap is wanted. Then it is forgotten: it may repeat a user's words.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import httpx2

from loom import model_errors as codes
from loom.model_errors import CutOff, Failed, ModelError, Waiting

LONGEST_RETRY_SECONDS: Final = 21_600
"""The longest wait that a provider is granted: six hours."""

MOST_TOKENS: Final = 2**31 - 1
CHARACTERS_PER_TOKEN: Final = 4
"""For a provider that does not say what a call used: the daily cap has to hold there too."""

_MAY_REFUSE_FORMAT = frozenset({400, 404, 415, 422, 500, 501})
_NAMES_FORMAT = re.compile(
    r"response_?format|json_schema|json_object|\b(?:formats?|schemas?|grammars?)\b", re.IGNORECASE
)

# How OpenAI and llama.cpp name a prompt that the model has no room for.
_NO_ROOM = ("context_length_exceeded", "exceed_context_size_error")

# What of an error's JSON is the provider's own message. Some repeat the whole request elsewhere,
# and that names the format in every refusal.
_TOLD = ("message", "msg", "param", "code", "type", "loc")


@dataclass(frozen=True)
class Reply:
    """An HTTP reply as it came."""

    status: int
    headers: httpx2.Headers
    body: bytes


@dataclass(frozen=True)
class Reading:
    """What a reply says: ``text``, or ``failure``; what it cost either way."""

    text: str = ""
    failure: ModelError | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def outcome(self) -> str:
        """``OK`` or the failure's code."""
        return self.failure.code if self.failure else codes.OK


def read_reply(reply: Reply, prompt_characters: int) -> Reading:
    """Judge a reply. The prompt's length stands in for its tokens where the reply has none."""
    if reply.status != 200:
        return Reading(failure=refusal(reply))
    body = _json(reply.body)
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        return unanswered(Failed(codes.MODEL_BAD_RESPONSE), prompt_characters)
    content = message.get("content")
    text = content if isinstance(content, str) else ""
    usage = body.get("usage")
    return Reading(
        text=text,
        failure=_unusable(choice.get("finish_reason"), message, text),
        prompt_tokens=tokens_used(usage, "prompt_tokens", prompt_characters),
        completion_tokens=tokens_used(usage, "completion_tokens", len(text)),
    )


def unanswered(failure: ModelError, prompt_characters: int) -> Reading:
    """That no usage is known of a call. Where the model may have been at work, the prompt is taken
    as paid for, so that a day's cap is met also by calls that never end. What the model had written
    by then nobody knows: it is left out, and the true cost was more."""
    if isinstance(failure, Waiting):  # turned away, or nobody there
        return Reading(failure=failure)
    return Reading(failure=failure, prompt_tokens=estimated_tokens(prompt_characters))


def estimated_tokens(characters: int) -> int:
    """For what a provider does not say."""
    return -(-characters // CHARACTERS_PER_TOKEN)


def wants_completion_tokens(reply: Reply) -> bool:
    """Whether ``max_tokens`` was refused in favour of ``max_completion_tokens``."""
    return reply.status == 400 and "max_completion_tokens" in error_text(reply)


def refuses_format(reply: Reply) -> bool:
    """Whether the reply turns down the format that was asked for, by name."""
    return (
        reply.status in _MAY_REFUSE_FORMAT and _NAMES_FORMAT.search(error_text(reply)) is not None
    )


def error_text(reply: Reply) -> str:
    """The provider's own words in an error: its message, parameter and code."""
    if "html" in reply.headers.get("Content-Type", ""):
        return ""  # a proxy's page, whose markup speaks of formats
    body = _json(reply.body)
    if body is None:
        return reply.body.decode("utf-8", "replace")
    return "\n".join(_told(body))


def retry_seconds(headers: httpx2.Headers, now: datetime) -> int | None:
    """The whole seconds that ``Retry-After`` asks for, as a number or a date: 1 to six hours."""
    asked = headers.get("Retry-After", "").strip()
    if not asked:
        return None
    try:
        seconds = float(asked) if asked.isascii() else math.nan
    except ValueError:
        seconds = _seconds_until(asked, now)
    if math.isnan(seconds):
        return None
    return math.ceil(min(max(seconds, 1.0), LONGEST_RETRY_SECONDS))


def refusal(reply: Reply) -> ModelError:
    """What a reply that is no answer comes to."""
    status, code = reply.status, _error_code(reply)
    if status == 402 or "insufficient_quota" in code:
        return _waiting(codes.MODEL_QUOTA, reply)
    if status == 429:
        return _waiting(codes.MODEL_RATE_LIMITED, reply)
    if status == 408:
        return _waiting(codes.MODEL_TIMEOUT, reply)
    if status > 501:
        return _waiting(codes.MODEL_UNAVAILABLE, reply)
    if status in (401, 403):
        return Failed(codes.MODEL_AUTH)
    if status == 413 or any(name in code for name in _NO_ROOM):
        return Failed(codes.PROMPT_TOO_LONG)
    if "content_filter" in code:
        return Failed(codes.ANSWER_FILTERED)
    if status == 404:
        return Failed(codes.MODEL_NOT_FOUND)
    if status < 300:
        return Failed(codes.MODEL_BAD_RESPONSE)
    return Failed(codes.MODEL_REDIRECTED if status < 400 else codes.MODEL_ERROR)


def _waiting(code: str, reply: Reply) -> Waiting:
    return Waiting(code, retry_seconds=retry_seconds(reply.headers, datetime.now(UTC)))


def _unusable(finish_reason: object, message: dict[str, Any], text: str) -> ModelError | None:
    # Before the text: a model that thought until its cap has none, and was cut off all the same.
    if finish_reason == "length":
        return CutOff()
    if finish_reason == "content_filter":
        return Failed(codes.ANSWER_FILTERED)
    if finish_reason != "stop":
        return Failed(codes.ANSWER_UNFINISHED)
    if text.strip():
        return None
    return Failed(codes.ANSWER_REFUSED if message.get("refusal") else codes.EMPTY_ANSWER)


def tokens_used(usage: object, name: str, characters: int) -> int:
    """A number of tokens as the reply says it, or else as ``characters`` lets expect."""
    told = usage.get(name) if isinstance(usage, dict) else None
    if isinstance(told, int) and not isinstance(told, bool) and 0 <= told <= MOST_TOKENS:
        return told
    return estimated_tokens(characters)


def _json(body: bytes) -> Any:
    """What the body holds, or None. Half a surrogate pair is let through: who reads the answer
    holds that against the one value it stands in."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _error_code(reply: Reply) -> str:
    body = _json(reply.body)
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return ""
    return f"{error.get('code')} {error.get('type')}"


def _told(body: object) -> Iterator[str]:
    """The messages in an error's JSON: ``error`` or ``detail``, a text, an object or a list."""
    if not isinstance(body, dict):
        return
    for name in ("error", "detail", "errors"):
        each = body.get(name)
        for part in each if isinstance(each, list) else [each]:
            yield from [part] if isinstance(part, str) else _words(part)
    yield from _words(body)


def _words(part: object) -> Iterator[str]:
    if isinstance(part, dict):
        for name in _TOLD:
            told = part.get(name)
            for word in told if isinstance(told, list) else [told]:
                if isinstance(word, str):
                    yield word


def _seconds_until(date: str, now: datetime) -> float:
    try:
        until = parsedate_to_datetime(date)
        return ((until if until.tzinfo else until.replace(tzinfo=UTC)) - now).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return math.nan
