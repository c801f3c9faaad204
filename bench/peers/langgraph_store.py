"""LangGraph's stores on PostgreSQL, doing the requests of our workloads.

A block is an item: its owner is the namespace, and its text is in an object, since values are
objects. The stores are set up as their documentation shows: `from_conn_string`, which makes
autocommit connections that prepare statements at once; with one connection, or a pool of the size
of its example, or a pipeline. No index and no time to live, so a put is one upsert and a get reads.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Any, Final

from langgraph.store.base import PutOp  # type: ignore[import-not-found]
from langgraph.store.postgres import PostgresStore  # type: ignore[import-not-found]
from langgraph.store.postgres.aio import AsyncPostgresStore  # type: ignore[import-not-found]

from bench.doors import Call
from bench.peers.functions import AsyncCall
from bench.peers.survivors import Open, Writer
from bench.workloads import ORG, Request

SET_UPS: Final[dict[str, dict[str, Any]]] = {
    "f": {},
    "g": {"pool_config": {"min_size": 5, "max_size": 20}},
    "h": {"pipeline": True},
}


def opened(conninfo: str) -> AbstractContextManager[Any]:
    """A PostgresStore on a connection of its own."""
    store: AbstractContextManager[Any] = PostgresStore.from_conn_string(conninfo)
    return store


@asynccontextmanager
async def opened_async(conninfo: str, door: str = "f") -> AsyncIterator[Any]:
    """An AsyncPostgresStore, set up in the way that the door stands for."""
    async with AsyncPostgresStore.from_conn_string(conninfo, **SET_UPS[door]) as store:
        yield store


def prepare(conninfo: str) -> None:
    """Make the store's tables."""
    with opened(conninfo) as store:
        store.setup()


def call(store: Any, op: str) -> Call:
    """What does a request of an operation of ours."""
    calls: dict[str, Call] = {
        "working_memory.set": lambda request: store.put(*_item(request)),
        "working_memory.get": lambda request: store.get(*_place(request)),
        "batch": lambda request: store.batch(_puts(request)),
    }
    return calls[op]


def async_call(store: Any, op: str) -> AsyncCall:
    """The same, awaited."""
    calls: dict[str, AsyncCall] = {
        "working_memory.set": lambda request: store.aput(*_item(request)),
        "working_memory.get": lambda request: store.aget(*_place(request)),
        "batch": lambda request: store.abatch(_puts(request)),
    }
    return calls[op]


def _place(request: Request) -> tuple[tuple[str, ...], str]:
    owner = tuple(request[name] for name in ("org", "namespace", "agent", "user_id"))
    return owner, request["block_key"]


def _item(request: Request) -> tuple[tuple[str, ...], str, dict[str, str]]:
    return *_place(request), {"text": request["content"]}


def _puts(request: Request) -> list[Any]:
    return [PutOp(*_item(item)) for item in request["requests"]]


class StoreWriter:
    """Adds a line the only way the store has: it neither appends nor compares."""

    _PLACE: Final = (ORG, "support", "crowd", "everyone"), "log"

    def __init__(self, store: Any) -> None:
        self._store = store

    async def append(self, line: str) -> int:
        """Read and write back."""
        item = await self._store.aget(*self._PLACE)
        text = f"{item.value['text']}\n{line}" if item else line
        await self._store.aput(*self._PLACE, {"text": text})
        return 1

    async def read(self) -> str:
        """The item's text."""
        return str((await self._store.aget(*self._PLACE)).value["text"])


def writers(conninfo: str) -> dict[str, Open]:
    """Its one way; each writer has a store of its own, as writers on several machines have."""

    @asynccontextmanager
    async def open_writer() -> AsyncIterator[Writer]:
        async with opened_async(conninfo) as store:
            yield StoreWriter(store)

    return {"LangGraph, get and put": open_writer}
