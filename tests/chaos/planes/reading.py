"""What agents ask for at each turn: renders, searches and packs, over all planes."""

from __future__ import annotations

from typing import ClassVar

from tests.chaos.planes.hand import Act, Hand


class Reading:
    """Reads that must be answered; what they show is changing all the time."""

    WEIGHTS: ClassVar = {"pack": 2, "search": 1, "render": 1}

    def __init__(self, hand: Hand) -> None:
        self._hand = hand
        self.acts: dict[str, Act] = {
            "pack": self.pack,
            "search": self.search,
            "render": self.render,
        }

    async def pack(self) -> bool:
        """All that the client's own user is told."""
        body = {"user_id": f"told-{self._hand.number}", "query": "who am I", "token_budget": 2000}
        await self._hand.call("context.pack", body)
        return True

    async def search(self) -> bool:
        """Facts and sections by a word of another client."""
        word = f"w{self._hand.random.randrange(16)}x{max(1, self._hand.written)}"
        await self._hand.call("search.query", {"query": word})
        return True

    async def render(self) -> bool:
        """Blocks as text for a prompt."""
        await self._hand.call("working_memory.render", {})
        return True
