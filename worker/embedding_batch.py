"""The worker's side of `loom.embedding_*`: texts of one org that are ours to embed for a while.

Each method is one statement on a connection in autocommit mode, logged in as ``loom_worker``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import msgspec

from loom.embedding import PURPOSE, Vector, vector_json
from loom.model_errors import Call
from loom.worker.handlers import Connection
from loom.worker.lasting_connection import LastingConnection
from loom.worker.statements import value_of

MOST_TEXTS: Final = 64

LEASE_SECONDS: Final = 300

MOST_ROUNDS: Final = 100
"""Looks for texts in one go. A claim gives none when all it met go to no provider, or someone was
writing them just then, and yet there may be some behind them."""

ROUND_SECONDS: Final = 0.01
"""Between two such looks."""

_PLACES: Final = b"select loom.embedding_places(%s::jsonb)"
_ADVANCE: Final = b"select loom.embedding_advance(%s::jsonb)"
_CLAIM: Final = b"select loom.embedding_claim(%s::jsonb)"
_STORE: Final = b"select loom.embedding_store(%s::jsonb)"
_FAIL: Final = b"select loom.embedding_fail(%s::jsonb)"


@dataclass(frozen=True)
class EmbeddingBatch:
    """A lease. ``dimension`` is that of the model's vectors so far, None before the first ones.
    Whoever claimed it closes it when done; the connection that it came with stays open."""

    connection: LastingConnection
    org: str
    model: str
    lease_id: str
    dimension: int | None
    items: Sequence[Mapping[str, Any]]

    @classmethod
    async def claim(cls, connection: Connection, model: str) -> EmbeddingBatch | None:
        """Texts of the org that has waited longest for vectors of this model, or None."""
        for _ in range(MOST_ROUNDS):
            places = await _told(connection, _PLACES, model=model)
            if not places["orgs"]:
                return None
            for place in places["orgs"]:
                org, began = place["org"], time.monotonic()
                claimed = await _told(
                    connection,
                    _CLAIM,
                    org=org,
                    model=model,
                    limit=MOST_TEXTS,
                    lease_seconds=LEASE_SECONDS,
                )
                if claimed["items"]:
                    lease_id, dimension = claimed["lease_id"], claimed["dimension"]
                    lasting = LastingConnection(connection, PURPOSE)
                    lasting.lives(began, LEASE_SECONDS)
                    return cls(lasting, org, model, lease_id, dimension, claimed["items"])
            await asyncio.sleep(ROUND_SECONDS)
        return None

    @property
    def texts(self) -> list[str]:
        """What there is to embed."""
        return [item["text"] for item in self.items]

    async def store(self, vectors: Sequence[Vector], calls: Sequence[Call]) -> Mapping[str, Any]:
        """Keep the vectors of the texts that have not changed since; says how many those were."""
        items = [
            {
                "memory_id": item["memory_id"],
                "content_sha256": item["content_sha256"],
                "embedding": msgspec.Raw(vector_json(vector)),
            }
            for item, vector in zip(self.items, vectors, strict=True)
        ]
        return await self._end(_STORE, calls, items=items)

    async def fail(
        self,
        outcome: str,
        code: str,
        calls: Sequence[Call] = (),
        retry_seconds: int | None = None,
    ) -> None:
        """End the lease without vectors: failed, waiting or released."""
        await self._end(_FAIL, calls, outcome=outcome, error=code, retry_seconds=retry_seconds)

    async def _end(
        self, statement: bytes, calls: Sequence[Call], **fields: Any
    ) -> Mapping[str, Any]:
        told = [asdict(call) for call in calls]
        ids = {"org": self.org, "model": self.model, "lease_id": self.lease_id}
        request = _text({**ids, "calls": told or None, **fields})
        answer: Mapping[str, Any] | None = await self.connection.value(statement, request)
        return answer or {}

    async def close(self) -> None:
        """Close what was opened in place of a lost connection."""
        await self.connection.close()


async def advance(connection: Connection) -> Sequence[Mapping[str, Any]]:
    """Go on with the model that is being built; all models, as they stand then."""
    told = await _told(connection, _ADVANCE)
    models: Sequence[Mapping[str, Any]] = told["models"]
    return models


async def _told(connection: Connection, statement: bytes, **request: Any) -> Mapping[str, Any]:
    answer: Mapping[str, Any] | None = await value_of(connection, statement, _text(request))
    return answer or {}


def _text(request: Mapping[str, Any]) -> str:
    given = {name: value for name, value in request.items() if value is not None}
    return msgspec.json.encode(given).decode()
