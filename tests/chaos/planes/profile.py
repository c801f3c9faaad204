"""Profile sections: logs that all clients add to, a section of each client's own, and batches."""

from __future__ import annotations

from typing import ClassVar

from tests.chaos.history import Write
from tests.chaos.planes.hand import Act, Hand


class Profile:
    """Appends, plain sets and deletions; batches over sections and blocks."""

    WEIGHTS: ClassVar = {"append": 2, "set": 2, "delete": 1, "batch": 2}

    def __init__(self, hand: Hand) -> None:
        self._hand = hand
        self._own = f"section-{hand.number}"
        self._there = False
        self.acts: dict[str, Act] = {
            "append": self.append,
            "set": self.set,
            "delete": self.delete,
            "batch": self.batch,
        }

    @property
    def _log(self) -> str:
        return f"section-log-{self._hand.round}"

    async def append(self) -> bool:
        """A line at the end of a shared section."""
        text, label = self._hand.next(), self._log
        body = {"label": label, "addition": text}
        await self._hand.write(self._hand.history.shared, label, text, "profile.append", body)
        return True

    async def set(self) -> bool:
        """Another text in the own section."""
        text = self._hand.next()
        body = {"label": self._own, "value": text}
        writes = self._hand.history.own[self._own]
        await self._hand.write(writes, self._own, text, "profile.set", body)
        self._there = True
        return True

    async def delete(self) -> bool:
        """The own section, if it is there."""
        if not self._there:
            return False
        writes = self._hand.history.own[self._own]
        await self._hand.write(writes, self._own, None, "profile.delete", {"label": self._own})
        self._there = False
        return True

    async def batch(self) -> bool:
        """A line in each of two shared blocks and in a section: all or none."""
        text, number = f"{self._hand.next()}b", self._hand.round
        shared = self._hand.history.shared
        rows = (f"log-{number}", f"log-{number}-too", self._log)
        writes = [self._hand.begin(shared, Write(row, text, None, together=text)) for row in rows]
        items = [
            {"op": "working_memory.append", "block_key": row, "addition": text} for row in rows[:2]
        ]
        items.append({"op": "profile.append", "label": self._log, "addition": text})
        answer = await self._hand.call("batch", {"requests": items, "atomic": True}, text)
        for write, result in zip(writes, answer["results"], strict=True):
            self._hand.done(shared, write, result["result"]["version"])
        return True
