"""Clients that write until told to stop, each write under an idempotency key, and note it all."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import httpx2

from loom.client import Client
from loom.errors import AlreadyExists, StaleWrite
from loom.retry import RetryPolicy
from tests.chaos.history import History, Row, Write

PLACE = {"org": "chaos", "namespace": "main", "agent": "writer"}
CLIENTS = 8

ROUND = 25
"""Writes of a client before it moves on to the next shared blocks: those of all fit into one."""

# A client outlives any restart: the SDK sends the same request again under the same key.
_PATIENT = RetryPolicy(tries=100_000, first_wait=0.02, longest_wait=0.25)
_SECONDS = 15.0


class Workload:
    """Eight writers on one API, and what they wrote and were told."""

    def __init__(self, url: str, seed: int) -> None:
        self.history = History()
        self.kinds: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.acknowledged = 0
        self.retries = 0
        self.longest_silence = 0.0
        self.url = url
        self._seed = seed
        self._stop = asyncio.Event()
        self._answered = asyncio.Event()
        self._last_answer = time.monotonic()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Write during the block; at its end each writer brings its last write to an answer.

        Raises what a writer met that was neither an answer nor worth a retry.
        """
        async with asyncio.TaskGroup() as group:
            for number in range(CLIENTS):
                group.create_task(self._write(number))
            await self.more(CLIENTS)
            try:
                yield
            finally:
                self._stop.set()

    @asynccontextmanager
    async def cut_off(self) -> AsyncIterator[None]:
        """Write during the block; at its end the writers are gone, their last writes unanswered."""
        writers = [asyncio.create_task(self._write(number)) for number in range(CLIENTS)]
        try:
            await self.more(CLIENTS)
            yield
        finally:
            for writer in writers:
                writer.cancel()
            ends = await asyncio.gather(*writers, return_exceptions=True)
        for end in ends:
            if not isinstance(end, asyncio.CancelledError) and end is not None:
                raise end

    async def more(self, count: int, seconds: float = 60.0) -> None:
        """Wait until so many more writes have been answered."""
        target = self.acknowledged + count
        async with asyncio.timeout(seconds):
            while self.acknowledged < target:
                self._answered.clear()
                await self._answered.wait()

    async def _write(self, number: int) -> None:
        random = Random(self._seed * 1000 + number)
        transport = _Counting(self.statuses)
        async with client(self.url, sleep=self._pause, transport=transport) as api:
            writer = _Writer(self, api, number)
            kinds = {
                "append": (writer.append, 4),
                "compare and set": (writer.compare_and_set, 2),
                "batch": (writer.batch, 2),
                "set": (writer.replace, 5),
                "delete": (writer.delete, 2),
                "read": (writer.read, 2),
            }
            names = list(kinds)
            weights = [weight for _, weight in kinds.values()]
            while not self._stop.is_set():
                name = random.choices(names, weights)[0]
                if await kinds[name][0]():
                    self.kinds[name] += 1

    def answered(self) -> None:
        """A write has been acknowledged."""
        self.acknowledged += 1
        now = time.monotonic()
        self.longest_silence = max(self.longest_silence, now - self._last_answer)
        self._last_answer = now
        self._answered.set()

    async def _pause(self, seconds: float) -> None:
        self.retries += 1
        await asyncio.sleep(seconds)


class _Counting(httpx2.AsyncHTTPTransport):
    """The SDK's transport, which notes what was answered: the SDK hides what it sends again."""

    def __init__(self, statuses: Counter[int]) -> None:
        super().__init__()
        self._statuses = statuses

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, note the answer's status."""
        response = await super().handle_async_request(request)
        self._statuses[response.status_code] += 1
        return response


@dataclass
class _Own:
    """A row that one client replaces and deletes, and the operations that do it."""

    name: str
    group: str
    key: str
    text: str
    there: bool = False

    @property
    def body(self) -> dict[str, Any]:
        return {self.key: self.name}


class _Writer:
    """One client, with rows of its own beside the blocks that all share."""

    def __init__(self, workload: Workload, api: Client, number: int) -> None:
        self._workload = workload
        self._history = workload.history
        self._api = api
        self._number = number
        self._written = 0
        self._own = (
            _Own(f"own-{number}", "working_memory", "block_key", "content"),
            _Own(f"memory-{number}", "memory", "memory_key", "value"),
        )

    def _next(self) -> str:
        self._written += 1
        return f"{self._number}-{self._written}"

    @property
    def _shared(self) -> str:
        return f"log-{self._written // ROUND}"

    async def append(self) -> bool:
        """A line at the end of a shared block."""
        text = self._next()
        write = self._begin(self._history.shared, Write(self._shared, text, None))
        body = {"block_key": write.row, "addition": text}
        answer = await self._call("working_memory.append", body, text)
        self._done(self._history.shared, write, answer["version"])
        return True

    async def batch(self) -> bool:
        """A line in each of two shared blocks, both or none."""
        text = self._next()
        blocks = (self._shared, f"{self._shared}-too")
        shared = self._history.shared
        writes = [
            self._begin(shared, Write(block, f"{text}b", None, together=text)) for block in blocks
        ]
        items = [
            {"op": "working_memory.append", "block_key": block, "addition": f"{text}b"}
            for block in blocks
        ]
        answer = await self._call("batch", {"requests": items, "atomic": True}, text)
        for write, result in zip(writes, answer["results"], strict=True):
            self._done(shared, write, result["result"]["version"])
        return True

    async def compare_and_set(self) -> bool:
        """A line at the end of a shared block, by reading it and writing all of it."""
        text = self._next()
        block = self._shared
        found = await self._call("working_memory.get", {"block_key": block})
        lines = f"{found['content']}\n{text}" if found["found"] else text
        condition = (
            {"if_match_sha256": hashlib.sha256(found["content"].encode()).hexdigest()}
            if found["found"]
            else {"if_absent": True}
        )
        write = self._begin(self._history.shared, Write(block, text, None))
        body = {"block_key": block, "content": lines, **condition}
        try:
            answer = await self._call("working_memory.set", body, text)
        except (StaleWrite, AlreadyExists):
            self._history.shared.remove(write)  # another was first: this is no write
            return False
        self._done(self._history.shared, write, answer["version"])
        return True

    async def replace(self) -> bool:
        """Another text in one of the own rows, which take turns."""
        text = self._next()
        own = self._own[self._written % 2]
        writes = self._history.own[own.name]
        write = self._begin(writes, Write(own.name, text, None))
        answer = await self._call(f"{own.group}.set", {**own.body, own.text: text}, text)
        own.there = True
        self._done(writes, write, answer["version"])
        return True

    async def delete(self) -> bool:
        """One of the own rows, if it is there."""
        own = self._own[self._written % 2]
        if not own.there:
            return False
        writes = self._history.own[own.name]
        write = self._begin(writes, Write(own.name, None, None))
        answer = await self._call(f"{own.group}.delete", own.body, self._next())
        own.there = False
        self._done(writes, write, answer["version"])
        return True

    async def read(self) -> bool:
        """A shared block, which must show all that was acknowledged when the reading began."""
        block = self._shared
        told = [write.version or 0 for write in self._history.shared if write.row == block]
        found = await self._call("working_memory.get", {"block_key": block})
        self._history.reads.append((block, found["version"] or 0, max(told, default=0)))
        return True

    async def _call(self, op: str, body: dict[str, Any], key: str | None = None) -> dict[str, Any]:
        return await self._api.call(op, body, idempotency_key=key)

    def _begin(self, writes: list[Write], write: Write) -> Write:
        writes.append(write)
        return write

    def _done(self, writes: list[Write], write: Write, version: int) -> None:
        place = next(n for n in range(len(writes) - 1, -1, -1) if writes[n] is write)
        writes[place] = Write(write.row, write.text, version, write.together)
        self._workload.answered()


def client(
    url: str,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> Client:
    """A client of the SDK that waits for any restart."""
    return Client(
        url, ids=PLACE, retry=_PATIENT, timeout=_SECONDS, sleep=sleep, transport=transport
    )


async def everything(url: str) -> dict[str, Row]:
    """All rows as they are now, tombstones too."""
    found = {}
    async with client(url) as api:
        async for item in _listed(api, "working_memory.list", {"include_deleted": True}):
            block = await api.call("working_memory.get", {"block_key": item["block_key"]})
            found[item["block_key"]] = Row(block.get("content"), block["version"])
        async for item in _listed(api, "memory.list", {"include_deleted": True}):
            named = {"memory_id": item["memory_id"]}
            kept = [each["value"] async for each in _listed(api, "memory.history", named)]
            versions = tuple(reversed(kept))
            found[item["memory_key"]] = Row(item["value"], item["version"], versions)
    return found


async def _listed(api: Client, op: str, body: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """The items of all pages of a list."""
    cursor = None
    while True:
        page = await api.call(op, {**body, "limit": 200, "cursor": cursor})
        for item in page["items"]:
            yield item
        cursor = page["next_cursor"]
        if cursor is None:
            return
