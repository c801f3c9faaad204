"""What an endpoint's reply to a request for embeddings means: vectors, or why there are none."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from loom import model_errors as codes
from loom.embedding import Vector
from loom.model_errors import Failed, ModelError, Waiting
from loom.model_reply import Reply, estimated_tokens, refusal, tokens_used

MOST_DIMENSIONS: Final = 16_000
"""The longest vector that the database can keep."""


class _Item(msgspec.Struct):
    index: int
    embedding: list[float]


class _Body(msgspec.Struct):
    data: list[_Item]
    usage: Any = None


@dataclass(frozen=True)
class EmbeddingReading:
    """What a reply says: the texts' ``vectors``, or ``failure``; what it cost either way."""

    vectors: tuple[Vector, ...] = ()
    failure: ModelError | None = None
    prompt_tokens: int = 0

    @property
    def outcome(self) -> str:
        """``OK`` or the failure's code."""
        return self.failure.code if self.failure else codes.OK


def read_embeddings(reply: Reply, texts: int, characters: int) -> EmbeddingReading:
    """Judge a reply to a request with so many texts of so many characters together."""
    if reply.status != 200:
        return EmbeddingReading(failure=refusal(reply))
    try:
        body = msgspec.json.decode(reply.body, type=_Body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return unanswered(Failed(codes.MODEL_BAD_RESPONSE), characters)
    used = tokens_used(body.usage, "prompt_tokens", characters)
    if sorted(item.index for item in body.data) != list(range(texts)):
        return EmbeddingReading(failure=Failed(codes.EMBEDDINGS_MISCOUNTED), prompt_tokens=used)
    items = sorted(body.data, key=lambda item: item.index)
    vectors = tuple(array("f", item.embedding) for item in items)
    return EmbeddingReading(vectors, unusable(vectors), used)


def unanswered(failure: ModelError, characters: int) -> EmbeddingReading:
    """That no usage is known of a call. As with a chat model, texts that may have been worked on
    are taken as paid for, so that a day's cap is met also by calls that never end."""
    used = 0 if isinstance(failure, Waiting) else estimated_tokens(characters)
    return EmbeddingReading(failure=failure, prompt_tokens=used)


def unusable(vectors: tuple[Vector, ...]) -> Failed | None:
    """What makes vectors useless for a comparison by angle."""
    lengths = {len(vector) for vector in vectors}
    if len(lengths) != 1 or not 1 <= lengths.pop() <= MOST_DIMENSIONS:
        return Failed(codes.EMBEDDINGS_UNEQUAL)
    # Of single precision, so a sum cannot overflow, and keeps what is not finite.
    if not all(math.isfinite(sum(vector)) and any(vector) for vector in vectors):
        return Failed(codes.EMBEDDINGS_NOT_FINITE)
    return None
