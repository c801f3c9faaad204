"""The vector of a search's query, which the API has made before the database searches.

A search never fails for want of one: without an embedding model, without vectors to compare with,
or when the model is slow or down, it goes by text alone, and the answer's `legs` say so. The
database is asked before a text leaves, so a caller it would refuse costs no call, and an org that
switched calls off has none made.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Final

import msgspec

from loom import model_errors as codes
from loom.app.auth import Caller
from loom.app.errors import Refusal
from loom.app.model_calls import ModelCalls, Place
from loom.embedding import Embedder, Vector, vector_json
from loom.gateway import DatabaseRefusal, DatabaseUnavailable
from loom.model_errors import ModelError

log = logging.getLogger("loom.app")

PURPOSE: Final = "query_embedding"

OPERATIONS: Final = frozenset({"memory.search", "search.query", "memory.ask", "context.pack"})
"""Those with a `query` that is searched for."""

QUERY_SECONDS: Final = 2.0
"""The longest that a search waits for its vector."""

REST_SECONDS: Final = 10.0
LONGEST_REST_SECONDS: Final = 300.0
"""How long a model that failed is left alone, so that not every search waits in vain."""

MOST_KEPT: Final = 256
MOST_CHARACTERS: Final = 2000

SEARCHED: Final = frozenset({"memories", "decisions"})
"""The sections of a pack that its query finds."""

OUTCOMES: Final = ("made", "kept", "none", "held", "resting", "failed")
"""Made by the model; kept from before; no vectors to compare with; calls switched off or the day's
tokens used up; the model failed a moment ago; it failed now, or the database did not say."""


class _Request(msgspec.Struct):
    query: str | None = None
    query_embedding: object = None
    org: str | None = None
    namespace: str | None = None
    only_sections: list[str] | None = None


_request = msgspec.json.Decoder(_Request).decode


class QueryEmbeddings:
    """Adds vectors to requests, and remembers the last ones. ``counts`` has the outcomes."""

    def __init__(
        self,
        embedder: Embedder | None,
        calls: ModelCalls,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.counts: Counter[str] = Counter()
        self._embedder = embedder
        self._calls = calls
        self._clock = clock
        self._rests_until = 0.0
        # By org too: how fast an answer comes is not to tell what another org asked.
        self._kept: OrderedDict[tuple[bytes | None, str | None, str], bytes] = OrderedDict()

    async def added(self, caller: Caller, body: bytes) -> bytes:
        """The request with its query's vector, or as it was. Never raises."""
        if self._embedder is None:
            return body
        try:
            asked = _request(body)
        except (msgspec.MsgspecError, RecursionError):
            return body  # the database says what is wrong with it
        query = asked.query
        if query is None or not query.strip() or len(query) > MOST_CHARACTERS:
            return body
        if asked.query_embedding is not None:
            return body
        if asked.only_sections is not None and SEARCHED.isdisjoint(asked.only_sections):
            return body  # a pack that leaves out what is found
        place = Place(caller, asked.org, asked.namespace)
        outcome, embedding = await self._embedding(self._embedder, place, query)
        self.counts[outcome] += 1
        if embedding is None:
            return body
        # A JSON object with a member in it, so a comma and another one may stand before its end.
        return b'%b,"query_embedding":%b}' % (body.rstrip()[:-1], embedding)

    def forget(self) -> None:
        """Forget every vector, and make none for a while: the database cannot use them."""
        self._kept.clear()
        self._rest(codes.EMBEDDINGS_OTHER_SIZE, REST_SECONDS)

    async def _embedding(
        self, embedder: Embedder, place: Place, query: str
    ) -> tuple[str, bytes | None]:
        key = (place.caller.org, place.org, query)
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return "kept", kept
        if self._clock() < self._rests_until:
            return "resting", None
        try:
            admission = await self._calls.admit(place, embedder.model)
        except (DatabaseRefusal, DatabaseUnavailable):
            return "failed", None  # the operation itself meets it too, and answers it
        if admission.stop is not None:
            return "held", None
        if not admission.embedded:
            return "none", None
        try:
            embedded = await embedder.embed([query], QUERY_SECONDS)
        except ModelError as failure:
            self._rest(failure.code, max(REST_SECONDS, failure.retry_seconds or 0))
            await self._calls.record(place, PURPOSE, embedder.model, failure.calls)
            return "failed", None
        await self._calls.record(place, PURPOSE, embedder.model, embedded.calls)
        made = _json(embedder.model, embedded.vectors[0])
        self._kept[key] = made
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return "made", made

    def _rest(self, reason: str, seconds: float) -> None:
        seconds = min(seconds, LONGEST_REST_SECONDS)
        self._rests_until = self._clock() + seconds
        about = {"reason": reason, "seconds": seconds}
        log.warning("no embeddings of queries for a while; searches go by text", extra=about)


def refused(refusal: Refusal) -> bool:
    """Whether a request was refused for its query's vector."""
    return str(refusal.fields.get("field", "")).startswith("query_embedding")


def _json(model: str, vector: Vector) -> bytes:
    return msgspec.json.encode({"model": model, "vector": msgspec.Raw(vector_json(vector))})
