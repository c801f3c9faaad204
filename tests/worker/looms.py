"""Looms that a real worker weaves, by a model that answers by script."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg

from loom.settings import Settings
from loom.worker.handlers import Connection as WorkerConnection
from loom.worker.handlers.night_weaving import KIND, NightWeaving
from loom.worker.model_clients import ModelClients
from loom.worker.runner import Runner
from tests.calls import Answer, Connection, operate
from tests.databases import Clock, Database
from tests.model_endpoint import ModelEndpoint, Request, Step, completion
from tests.sql.facts import NOON
from tests.sql.loom_doors import PLACE, RUN, add, looms, make
from tests.worker.test_worker import login

KEYS = {"team-a": "sk-of-team-a"}
"""The credentials that the worker knows by name, beside its own."""

QUIET = 10


def operations(*each: Answer) -> Step:
    """An answer of the wanted form."""
    return completion({"operations": list(each)})


def add_(text: str, **more: Any) -> Answer:
    return {"action": "add", "text": text, "turns": [1], "reason": "new", **more}


def revise(thread: int, text: str, **more: Any) -> Answer:
    return {"action": "revise", "thread": thread, "text": text, "turns": [1], **more}


def retire(thread: int) -> Answer:
    return {"action": "retire", "thread": thread, "reason": "of no use"}


def told(request: Request) -> dict[str, list[Answer]]:
    """What the model was given: context, threads and turns."""
    text = request.body["messages"][1]["content"]
    found: dict[str, list[Answer]] = {}
    for name in ("context", "threads", "turns"):
        inner = text.split(f"<{name}>\n", 1)[1].split(f"</{name}>", 1)[0]
        found[name] = [json.loads(line) for line in inner.splitlines()]
    return found


@dataclass
class Loft:
    """A namespace with a loom that weaves at night, in a database with a stopped clock."""

    database: Database
    conn: Connection
    clock: Clock
    loom: str

    @classmethod
    def of(cls, database: Database, **settings: Any) -> Loft:
        conn = database.connect()
        clock = Clock(conn)
        clock.set(NOON)
        loom = make(conn, settings={"nightWeaving": True, "quietMinutes": QUIET, **settings})
        return cls(database, conn, clock, loom)

    def add(self, text: str, **more: Any) -> Answer:
        """A new thread, a moment later, since threads are told in the order of their times."""
        self.clock.advance(milliseconds=1)
        return add(self.conn, self.loom, text, **more)

    def turn(self, text: str = "a turn", loom: str | None = None, **more: Any) -> None:
        """A turn with the loom bound."""
        self.clock.advance(milliseconds=1)
        request = {"loomId": loom or self.loom, "text": text, "processId": RUN, **more}
        looms(self.conn, "activity", **request)

    def night(self, minutes: float = QUIET) -> None:
        """It is quiet for so long."""
        self.clock.advance(minutes=minutes)

    def work(
        self,
        endpoint: ModelEndpoint,
        *,
        workers: int = 1,
        concurrency: int = 1,
        timeout: float = 10,
        keys: Mapping[str, str] = KEYS,
    ) -> int:
        """Workers that each weave what is to be woven now; how many looms they did."""
        settings = Settings(
            model_base_url=endpoint.url,
            model="scripted",
            model_api_key="sk-own",
            model_credentials=keys,
            model_timeout_seconds=timeout,
        )

        async def connect() -> WorkerConnection:
            return await psycopg.AsyncConnection.connect(login(self.database), autocommit=True)

        async def one() -> int:
            async with ModelClients(settings) as models:
                handler = NightWeaving(models.of, 4096, 0.0)
                return await Runner({KIND: handler}, connect, concurrency).sweep()

        async def whole() -> int:
            return sum(await asyncio.gather(*(one() for _ in range(workers))))

        return asyncio.run(whole())

    def weave(self, *steps: Step) -> int:
        """A worker whose model answers so; how many looms it wove."""
        with ModelEndpoint(*steps) as endpoint:
            return self.work(endpoint)

    @property
    def state(self) -> Answer:
        """The loom as it stands."""
        return looms(self.conn, "get", loomId=self.loom)

    @property
    def last(self) -> Answer:
        """Its last weaving with all changes."""
        page = looms(self.conn, "weaving_list", loomId=self.loom)
        return self.weaving(page["items"][0]["id"])

    def weaving(self, weaving_id: str) -> Answer:
        named = {"loomId": self.loom, "weavingId": weaving_id, "readScope": "namespace"}
        return looms(self.conn, "weaving_get", **named)

    def threads(self, **more: Any) -> list[Answer]:
        """Everyone's live threads, oldest first."""
        request = {"loomId": self.loom, "readScope": "namespace", "pageSize": 200, **more}
        items: list[Answer] = looms(self.conn, "thread_list", **request)["items"]
        return items[::-1]

    def texts(self, **more: Any) -> list[str]:
        return sorted(thread["text"] for thread in self.threads(**more))

    def revert(self, weaving_id: str) -> Answer:
        return looms(self.conn, "weaving_revert", loomId=self.loom, weavingId=weaving_id)

    def erase(self, user: str) -> None:
        operate(self.conn, "erasure.request", org=PLACE["org"], user_id=user)
