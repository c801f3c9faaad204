"""How many appends to one key are there afterwards, when many writers make them at once.

Each writer adds lines of its own to one text, on a connection of its own, and all start together.
Where a line can only be added by reading the text and writing it back, a writer that read before
another wrote puts the old text back, and the other's line is gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from time import perf_counter
from typing import Any, Final, NamedTuple, Protocol

import psycopg

from bench.peers.functions import connected, function_call
from bench.workloads import ORG

WRITERS: Final = 32
APPENDS: Final = 10

_STALE: Final = "LM201"
_EXISTS: Final = "LM202"


class Writer(Protocol):
    """One of those who write the text."""

    async def append(self, line: str) -> int:
        """Add a line; how many tries it took."""

    async def read(self) -> str:
        """The text as it is."""


Open = Callable[[], AbstractAsyncContextManager[Writer]]
"""A writer on a connection of its own. All of one way write the same text."""


class Kept(NamedTuple):
    """How many of the lines are there afterwards, and what it took."""

    way: str
    kept: int
    of: int
    tries: int
    seconds: float


def line_of(writer: int, n: int) -> str:
    """A writer's n-th line, unlike any other."""
    return f"{writer}.{n}"


def survivors(text: str, writers: int, appends: int) -> int:
    """How many of the lines are in the text; one that is there twice counts once."""
    added = {line_of(writer, n) for writer in range(writers) for n in range(appends)}
    return len(added.intersection(text.split("\n")))


async def count(way: str, open_writer: Open, writers: int, appends: int) -> Kept:
    """Have so many writers add so many lines each, and count."""
    async with AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(open_writer()) for _ in range(writers)]
        began = perf_counter()
        tries = await asyncio.gather(
            *(_append_all(each, number, appends) for number, each in enumerate(opened))
        )
        seconds = perf_counter() - began
        kept = survivors(await opened[0].read(), writers, appends)
    return Kept(way, kept, writers * appends, sum(tries), seconds)


async def _append_all(writer: Writer, number: int, appends: int) -> int:
    return sum([await writer.append(line_of(number, n)) for n in range(appends)])


class BlockWriter:
    """Loom's own: the append is one operation, and the database adds the line."""

    def __init__(self, connection: psycopg.AsyncConnection[Any], user: str) -> None:
        self._block = {"org": ORG, "namespace": "support", "agent": "crowd", "user_id": user}
        self._append = function_call(connection, "working_memory.append")
        self._get = function_call(connection, "working_memory.get")
        self._set = function_call(connection, "working_memory.set")

    async def append(self, line: str) -> int:
        """One statement."""
        await self._append(self._block | {"addition": line})
        return 1

    async def read(self) -> str:
        """The block's text."""
        return str((await self._get(self._block))["content"])


class ComparingWriter(BlockWriter):
    """Reads, and writes on the condition that the text is still what it read; else once more."""

    async def append(self, line: str) -> int:
        """As often as others come between."""
        tries = 0
        while True:
            tries += 1
            read = await self._get(self._block)
            if read["found"]:
                text = f"{read['content']}\n{line}"
                condition: dict[str, Any] = {"if_match_sha256": read["content_sha256"]}
            else:
                text, condition = line, {"if_absent": True}
            try:
                await self._set(self._block | {"content": text} | condition)
            except psycopg.Error as error:
                if error.sqlstate not in (_STALE, _EXISTS):
                    raise
            else:
                return tries


class BlindWriter(BlockWriter):
    """Reads and writes back without a condition."""

    async def append(self, line: str) -> int:
        """Once, whoever comes between."""
        read = await self._get(self._block)
        text = f"{read['content']}\n{line}" if read["found"] else line
        await self._set(self._block | {"content": text})
        return 1


OURS: Final[Mapping[str, type[BlockWriter]]] = {
    "Loom, append": BlockWriter,
    "Loom, get and set if unchanged": ComparingWriter,
    "Loom, get and set blindly": BlindWriter,
}


def ours(conninfo: str) -> dict[str, Open]:
    """Loom's three ways, each with a block of its own."""
    return {way: _opening(conninfo, made, way) for way, made in OURS.items()}


def _opening(conninfo: str, made: type[BlockWriter], user: str) -> Open:
    @asynccontextmanager
    async def open_writer() -> AsyncIterator[Writer]:
        async with connected(conninfo) as connection:
            yield made(connection, user)

    return open_writer
