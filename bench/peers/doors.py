"""The doors of a client that has the peers' too."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

from psycopg.conninfo import make_conninfo

from bench.doors import Call, Doors, Places
from bench.peers import langgraph_store
from bench.peers.functions import AsyncCall, connected, function_call
from bench.peers.workloads import PACK
from bench.workloads import Request, Workload

ASYNC_DOORS: Final = "fghi"
_T = TypeVar("_T")

PEER_DATABASE: Final = "langgraph"

_RAW: Final = Path(__file__).parents[1] / "raw"
_RENDERS: Final = ("working_memory_render", "profile_render")


def peer_conninfo(places: Places) -> str:
    """The peers' database, on the same server and for the same login."""
    return make_conninfo(places.conninfo, dbname=PEER_DATABASE)


class PeerDoors(Doors):
    """One client's connections, LangGraph's among them, opened when they are first needed."""

    seeding: ClassVar[str] = "abe"

    def __init__(self, places: Places) -> None:
        super().__init__(places)
        self.places = places
        self._stack = ExitStack()
        self._runner = self._stack.enter_context(asyncio.Runner())
        self._store: Any = None
        self._async: dict[tuple[str, int], Any] = {}
        self._async_stack = AsyncExitStack()
        self._stack.callback(lambda: self.await_(self._async_stack.aclose()))

    def call(self, door: str, workload: Workload) -> Call:
        """What does a workload's request through a door and returns the answer."""
        if door == "e":
            return self._stored(workload)
        if door == "a" and workload.op == PACK.op:
            return self._rendered()
        return super().call(door, workload)

    def async_calls(self, door: str, workload: Workload, tasks: int) -> Sequence[AsyncCall]:
        """The same for so many tasks of one process."""
        if (door, tasks) not in self._async:
            self._async[door, tasks] = self.await_(self._open(door, tasks))
        opened = self._async[door, tasks]
        if door == "i":
            return [function_call(connection, workload.op) for connection in opened]
        # One store for all tasks of a process: it sends what they ask in one tick together.
        return [langgraph_store.async_call(opened, workload.op)] * tasks

    def await_(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine on the client's own loop, where its connections live."""
        return self._runner.run(coroutine)

    def data(self, door: str) -> str:
        """Whose data a door leads to."""
        return "langgraph" if door in "efgh" else super().data(door)

    def close(self) -> None:
        """End all connections."""
        self._stack.close()
        super().close()

    def _stored(self, workload: Workload) -> Call:
        if self._store is None:
            conninfo = peer_conninfo(self.places)
            self._store = self._stack.enter_context(langgraph_store.opened(conninfo))
        return langgraph_store.call(self._store, workload.op)

    def _rendered(self) -> Call:
        """A pack by hand: blocks, then sections, each rendered by the server."""
        statements = [(_RAW / f"{name}.sql").read_bytes() for name in _RENDERS]

        def call(request: Request) -> Any:
            return [self._cursor.execute(each, request).fetchall() for each in statements]

        return call

    async def _open(self, door: str, tasks: int) -> Any:
        enter = self._async_stack.enter_async_context
        if door == "i":
            return [await enter(connected(self.places.conninfo)) for _ in range(tasks)]
        return await enter(langgraph_store.opened_async(peer_conninfo(self.places), door))
