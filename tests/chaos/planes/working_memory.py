"""Blocks: logs that all clients add to, and one block of each client's own."""

from __future__ import annotations

import hashlib
from typing import Any, ClassVar

from loom.errors import AlreadyExists, StaleWrite
from tests.chaos.history import Write
from tests.chaos.planes.hand import Act, Hand


class WorkingMemory:
    """Appends, compare-and-set, plain sets and deletions."""

    WEIGHTS: ClassVar = {"append": 4, "compare and set": 2, "set": 3, "delete": 1, "read": 2}

    def __init__(self, hand: Hand) -> None:
        self._hand = hand
        self._own = f"own-{hand.number}"
        self._there = False
        self.acts: dict[str, Act] = {
            "append": self.append,
            "compare and set": self.compare_and_set,
            "set": self.replace,
            "delete": self.delete,
            "read": self.read,
        }

    @property
    def _log(self) -> str:
        return f"log-{self._hand.round}"

    async def append(self) -> bool:
        """A line at the end of a shared block."""
        text, block = self._hand.next(), self._log
        body = {"block_key": block, "addition": text}
        await self._hand.write(
            self._hand.history.shared, block, text, "working_memory.append", body
        )
        return True

    async def compare_and_set(self) -> bool:
        """A line at the end of a shared block, by reading it and writing all of it."""
        text, block = self._hand.next(), self._log
        shared = self._hand.history.shared
        found = await self._hand.call("working_memory.get", {"block_key": block})
        body = {"block_key": block, "content": text, "if_absent": True}
        if found["found"]:
            body = {
                "block_key": block,
                "content": f"{found['content']}\n{text}",
                "if_match_sha256": sha256(found["content"]),
            }
        write = self._hand.begin(shared, Write(block, text, None))
        try:
            answer = await self._hand.call("working_memory.set", body, text)
        except (StaleWrite, AlreadyExists):
            shared.remove(write)  # another was first: this is no write
            return False
        self._hand.done(shared, write, answer["version"])
        return True

    async def replace(self) -> bool:
        """Another text in the own block."""
        text = self._hand.next()
        await self._write_own(text, "working_memory.set", {"content": text})
        self._there = True
        return True

    async def delete(self) -> bool:
        """The own block, if it is there."""
        if self._there:
            await self._write_own(None, "working_memory.delete", {})
            self._there = False
            return True
        return False

    async def read(self) -> bool:
        """A shared block, which must show all that was acknowledged when the reading began."""
        history, block = self._hand.history, self._log
        told = [write.version or 0 for write in history.shared if write.row == block]
        found = await self._hand.call("working_memory.get", {"block_key": block})
        history.reads.append((block, found["version"] or 0, max(told, default=0)))
        return True

    async def _write_own(self, text: str | None, op: str, body: dict[str, Any]) -> None:
        writes = self._hand.history.own[self._own]
        await self._hand.write(writes, self._own, text, op, {"block_key": self._own, **body})


def sha256(text: str) -> str:
    """The hash that a text is known by."""
    return hashlib.sha256(text.encode()).hexdigest()
