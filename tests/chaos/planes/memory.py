"""Facts: one row of each client's own, of which every version is kept."""

from __future__ import annotations

from typing import Any, ClassVar

from tests.chaos.history import Write
from tests.chaos.planes.hand import Act, Hand


class Memory:
    """Sets, deletions, restorations, and searches that must find what was last written."""

    WEIGHTS: ClassVar = {"set": 4, "delete": 1, "restore": 1, "search": 2}

    def __init__(self, hand: Hand) -> None:
        self._hand = hand
        self._key = f"fact-{hand.number}"
        self._text: str | None = None
        self._deleted: str | None = None
        self.acts: dict[str, Act] = {
            "set": self.set,
            "delete": self.delete,
            "restore": self.restore,
            "search": self.search,
        }

    async def set(self) -> bool:
        """Another text in the own row."""
        text = self._hand.next()
        await self._write(text, "memory.set", {"value": text})
        self._text, self._deleted = text, None
        return True

    async def delete(self) -> bool:
        """The own row, if it is there."""
        if self._text is None:
            return False
        await self._write(None, "memory.delete", {})
        self._text, self._deleted = None, self._text
        return True

    async def restore(self) -> bool:
        """The own row, if it is deleted."""
        if self._deleted is None:
            return False
        self._text, self._deleted = self._deleted, None
        await self._write(self._text, "memory.restore", {})
        return True

    async def search(self) -> bool:
        """By the one word of the own row: a write is found at once, and a deletion gone at once."""
        writes = self._hand.history.own[self._key]
        if not writes:
            return False
        word = self._text or self._deleted
        found = await self._hand.call("memory.search", {"query": word})
        seen = [item["version"] for item in found["items"] if item["memory_key"] == self._key]
        told = writes[-1].version or 0
        if self._text is None:
            self._hand.history.reads += [(f"search of {self._key}", 0, told) for _ in seen]
        else:
            least = (f"search of {self._key}", max(seen, default=0), told)
            self._hand.history.reads.append(least)
        return True

    async def _write(self, text: str | None, op: str, body: dict[str, Any]) -> None:
        writes = self._hand.history.own[self._key]
        # A restored text was there before: each write has a key of its own all the same.
        write = self._hand.begin(writes, Write(self._key, text, None))
        key = f"{op}-{self._hand.next()}"
        answer = await self._hand.call(op, {"memory_key": self._key, **body}, key)
        self._hand.done(writes, write, answer["version"])
