"""Users whose structured profiles and folds a real worker builds, by a model that answers by
script."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg

from loom.model_client import ModelClient
from loom.worker.handlers import Connection as WorkerConnection
from loom.worker.handlers import Handler
from loom.worker.handlers.profile_consolidation import ProfileFolds
from loom.worker.handlers.structured_profile import StructuredProfiles
from loom.worker.main import Worker
from loom.worker.runner import Runner
from tests.calls import Answer, Connection
from tests.databases import Clock, Database
from tests.model_endpoint import ModelEndpoint, Request, Step, by_the_facts, summary
from tests.sql.facts import NOON, fact
from tests.sql.structured_profile.building import (
    FOLD,
    KIND,
    explained,
    served,
    set_schema,
    settings,
)
from tests.worker.test_worker import login

MODEL = "scripted"
KEY = "sk-of-the-endpoint"

PROPERTIES: Answer = {
    "name": {"type": "string", "description": "What to call them", "maxLength": 20},
    "plan": {"type": "string", "description": "What they pay for", "enum": ["free", "pro"]},
    "visits": {"type": "integer", "description": "How often they came"},
    "score": {"type": "number", "description": "How content they are", "minimum": 0},
    "langs": {
        "type": "array",
        "items": {"type": "string", "pattern": "^[a-z]{2}$"},
        "maxItems": 3,
        "description": "What they speak",
    },
}
NULLS = dict.fromkeys(PROPERTIES)


@dataclass
class Site:
    """A namespace with a schema, in a database with a stopped clock."""

    database: Database
    conn: Connection
    clock: Clock

    @classmethod
    def of(cls, database: Database) -> Site:
        conn = database.connect()
        clock = Clock(conn)
        clock.set(NOON)
        set_schema(conn, PROPERTIES)
        return cls(database, conn, clock)

    @classmethod
    def of_folds(cls, database: Database) -> Site:
        """A database in which folds are switched on, and there is no schema."""
        conn = database.connect()
        clock = Clock(conn)
        clock.set(NOON)
        settings(conn, FOLD, enabled=True)
        return cls(database, conn, clock)

    def tell(self, key: str, value: Any, user: str = "u1", **more: Any) -> Answer:
        """Write a fact."""
        return fact(self.conn, "set", user_id=user, memory_key=key, value=value, **more)

    def prefer(self, key: str, value: Any, user: str = "u1", **more: Any) -> Answer:
        """Write a preference."""
        return self.tell(key, value, user, **{"memory_type": "preference", **more})

    def fold_first(self) -> Answer:
        """A fold of user u1's that is written; then another fact, and its cooldown is over."""
        self.prefer("drink", "tea")
        with ModelEndpoint(summary("Likes tea.")) as endpoint:
            assert self.work(endpoint) == 1
        before = self.folded()
        assert (before["value"], before["version"]) == ("Likes tea.", 1)
        self.prefer("drink", "coffee")
        self.clock.advance(hours=1)
        return before

    def folded(self, user: str = "u1") -> Answer:
        """The section that was folded for a user, as `memory.get` reads it."""
        row = {"user_id": user, "memory_key": "consolidated_profile", "agent": "-"}
        return fact(self.conn, "get", **row)

    def forget(self, key: str, user: str = "u1") -> None:
        fact(self.conn, "delete", user_id=user, memory_key=key)

    def work(
        self,
        endpoint: ModelEndpoint,
        *,
        timeout: float = 10,
        concurrency: int = 1,
        workers: int = 1,
    ) -> int:
        """Workers that each do what is due now, beside each other; how many pieces they did."""

        async def connect() -> WorkerConnection:
            return await psycopg.AsyncConnection.connect(login(self.database), autocommit=True)

        async def one() -> int:
            async with ModelClient(endpoint.url, KEY, MODEL, timeout) as model:
                return await Runner(handlers(model), connect, concurrency).sweep()

        async def whole() -> int:
            return sum(await asyncio.gather(*(one() for _ in range(workers))))

        return asyncio.run(whole())

    def build_first(self) -> Answer:
        """A profile that is served, of user u1; then another fact, and its cooldown is over."""
        self.tell("name", "Sam")
        with ModelEndpoint(answer=by_the_facts) as endpoint:
            assert self.work(endpoint) == 1
        before = served(self.conn)
        assert (before["status"], before["profile"]) == ("ready", {**NULLS, "name": "Sam"})
        self.tell("name", "Ada")
        self.clock.advance(hours=1)
        return before

    def explained(self, user: str = "u1") -> Answer:
        return explained(self.conn, user)

    def calls(self) -> list[tuple[str, str]]:
        """User and outcome of each call of a model that was recorded, the first one first."""
        rows = self.conn.execute(
            "select user_id::text, outcome::text from loom.model_usage order by at, ctid"
        )
        return rows.fetchall()


def worker(
    database: Database, model: ModelClient, *, concurrency: int = 1, poll_seconds: float = 3600
) -> Worker:
    """A worker that builds with a model."""
    return Worker(
        login(database),
        poll_seconds=poll_seconds,
        concurrency=concurrency,
        handlers=handlers(model),
    )


def handlers(model: ModelClient) -> dict[str, Handler]:
    """What a worker with this model can do."""
    return {KIND: StructuredProfiles(model, 32), FOLD: ProfileFolds(model, 1024)}


def meanwhile(change: Callable[[], object]) -> Callable[[Request], Step]:
    """A model during whose first thought something changes; it knows only what it was told."""
    done = False

    def answer(request: Request) -> Step:
        nonlocal done
        if not done:
            done = True
            change()
        return by_the_facts(request)

    return answer


def leases(conn: psycopg.Connection[Any]) -> int:
    """How many users somebody has leased."""
    row = conn.execute("select count(*) from loom.build where lease_id is not null").fetchone()
    assert row is not None
    return int(row[0])
