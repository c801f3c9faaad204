"""Facts whose vectors a real worker has made, by an embedding model that answers by script."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from loom.embedding_client import EmbeddingClient
from loom.worker.handlers import Connection as WorkerConnection
from loom.worker.handlers import Handler
from loom.worker.handlers.embedding import KIND, Embeddings
from loom.worker.runner import Runner
from tests.calls import Answer, Connection, operate
from tests.databases import Clock, Database
from tests.model_endpoint import Answering, ModelEndpoint, Request, Step, by_the_words
from tests.sql.facts import NOON, fact
from tests.worker.test_worker import login

MODEL = "embedder"
DIMENSION = 8
KEY = "sk-of-the-endpoint"


class Ticks:
    """The clock by which a handler rests."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def to(self, now: float) -> Callable[[], None]:
        """What sets it."""

        def change() -> None:
            self.now = now

        return change


@dataclass
class Site:
    """A database with a stopped clock, in which a model is in use and whole, so active."""

    database: Database
    conn: Connection
    clock: Clock
    ticks: Ticks = field(default_factory=Ticks)

    @classmethod
    def of(cls, database: Database, *, model: str | None = MODEL) -> Site:
        conn = database.connect()
        if not progress(conn)["vectors"]:
            pytest.skip("the server has no pgvector")
        clock = Clock(conn)
        clock.set(NOON)
        site = cls(database, conn, clock)
        if model is not None:
            manage(conn, "add", model=model)
            manage(conn, "activate", model=model)
        return site

    def tell(self, key: str, value: Any, user: str = "u1", **more: Any) -> Answer:
        """Write a fact."""
        return fact(self.conn, "set", user_id=user, memory_key=key, value=value, **more)

    def work(
        self,
        endpoint: ModelEndpoint,
        *,
        model: str = MODEL,
        timeout: float = 10,
        then: Sequence[Callable[[], object]] = (),
    ) -> int:
        """A worker that does what is due now, and again after each of `then`; how many batches
        those were."""

        async def connect() -> WorkerConnection:
            return await psycopg.AsyncConnection.connect(login(self.database), autocommit=True)

        async def whole() -> int:
            async with EmbeddingClient(endpoint.url, KEY, model, timeout) as client:
                handlers: dict[str, Handler] = {KIND: Embeddings(client, clock=self.ticks)}
                runner = Runner(handlers, connect, 1)
                done = await runner.sweep()
                for change in then:
                    change()
                    done += await runner.sweep()
                return done

        return asyncio.run(whole())

    def embed_all(self, *, model: str = MODEL, dimension: int = DIMENSION) -> int:
        """Have all vectors made that are due."""
        with ModelEndpoint(answer=by_the_words(dimension)) as endpoint:
            return self.work(endpoint, model=model)

    def embedded(self, model: str = MODEL) -> list[str]:
        """The keys of the facts that have a vector of the text they have now."""
        rows = self.conn.execute(
            "select memory_key::text from loom.memory join loom.embedding using (org, memory_id) "
            "where model = %s and memory.content_sha256 = embedding.content_sha256 order by 1",
            (model,),
        )
        return [key for (key,) in rows]

    def due(self) -> list[tuple[str, int, str | None, float]]:
        """What waits: key, attempts, the last error, and for how many seconds yet."""
        rows = self.conn.execute(
            "select memory_key::text, attempts, last_error::text, "
            "extract(epoch from due_at - loom._now())::float8 "
            "from loom.embedding_due join loom.memory using (org, memory_id) order by 1"
        )
        return rows.fetchall()

    def calls(self) -> list[tuple[str, str, int]]:
        """Purpose, outcome and tokens of the calls that were recorded."""
        rows = self.conn.execute(
            "select purpose::text, outcome::text, prompt_tokens from loom.model_usage "
            "order by at, ctid"
        )
        return rows.fetchall()


def progress(conn: Connection) -> Answer:
    row = conn.execute("select loom.embedding_progress()").fetchone()
    assert row is not None
    return row[0]  # type: ignore[no-any-return]


def manage(conn: Connection, verb: str, **request: Any) -> Answer:
    """Add, activate, retire or drop a model, as an operator does."""
    row = conn.execute(
        f"select loom.embedding_model_{verb}(%s)".encode(), (Jsonb(request),)
    ).fetchone()
    assert row is not None
    return row[0]  # type: ignore[no-any-return]


def meanwhile(change: Callable[[], object], dimension: int = DIMENSION) -> Answering:
    """A model during whose first thought something changes."""
    done = False
    embed = by_the_words(dimension)

    def answer(request: Request) -> Step:
        nonlocal done
        if not done:
            done = True
            change()
        return embed(request)

    return answer


def model_calls(conn: Connection, enabled: bool) -> None:
    operate(conn, "org.set_model_calls", org="acme", enabled=enabled)
