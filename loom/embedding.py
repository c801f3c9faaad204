"""What makes embeddings of texts: the shape that every provider has, and which one is configured.

A model's name is stored with its vectors, and only vectors of one name are compared. So a name
means one model, wherever it runs.
"""

from __future__ import annotations

from array import array
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from loom.model_errors import Call
from loom.settings import Settings, SettingsError

PURPOSE: Final = "embedding"
"""Of a call that makes embeddings, where usage is recorded."""

LOCAL_PREFIX: Final = "local:"

Vector: TypeAlias = "array[float]"
"""Of single precision ("f"), which is what the database keeps."""


def vector_json(vector: Vector) -> bytes:
    """A vector as a JSON list: nine digits are what a number of single precision has."""
    return b"[%b]" % ",".join([f"{number:.9g}" for number in vector]).encode()


@dataclass(frozen=True)
class Embedded:
    """A vector for each text, in the order of the texts, and the calls that it took."""

    vectors: tuple[Vector, ...]
    calls: tuple[Call, ...]


class Embedder(Protocol):
    """A model that makes vectors of texts. Its vectors all have one length."""

    model: str

    async def embed(self, texts: Sequence[str], seconds: float) -> Embedded:
        """A vector for each of the texts, within ``seconds``.

        Raises a ``ModelError``, which carries the calls that were made.
        """
        ...


@asynccontextmanager
async def configured_embedder(settings: Settings) -> AsyncIterator[Embedder | None]:
    """The embedder that the settings name, or None. No model is called for it.

    Raises ``SettingsError`` for a local model that cannot be had.
    """
    model = settings.embedding_model
    if model is None:
        yield None
        return
    if model.startswith(LOCAL_PREFIX):
        # Imported only now: the package may not be there, and is not needed without it.
        from loom.embedding_local import LocalEmbedder

        with LocalEmbedder(model) as local:
            yield local
        return
    if settings.embedding_base_url is None:
        raise SettingsError(
            "LOOM_EMBEDDING_BASE_URL",
            f"is not set, and LOOM_EMBEDDING_MODEL names no local model ({LOCAL_PREFIX}…)",
        )
    from loom.embedding_client import EmbeddingClient

    async with EmbeddingClient(
        settings.embedding_base_url,
        settings.embedding_api_key,
        model,
        settings.model_timeout_seconds,
    ) as client:
        yield client
