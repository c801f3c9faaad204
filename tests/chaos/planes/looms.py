"""Looms: bound by all clients at once, with threads and turns that are never written twice."""

from __future__ import annotations

from typing import ClassVar
from uuid import NAMESPACE_URL, uuid5

from tests.chaos.history import Write
from tests.chaos.planes.hand import Act, Hand


class Looms:
    """Bindings, threads, turns, and weavings that are asked for."""

    WEIGHTS: ClassVar = {"bind": 1, "thread": 2, "turn": 2, "weave": 1}

    def __init__(self, hand: Hand) -> None:
        self._hand = hand
        self._bound: dict[str, str] = {}
        self.acts: dict[str, Act] = {
            "bind": self.bind,
            "thread": self.thread,
            "turn": self.turn,
            "weave": self.weave,
        }

    async def bind(self) -> bool:
        """The loom of an interaction, which whoever comes first makes."""
        await self._loom(anew=True)
        return True

    async def thread(self) -> bool:
        """A thread of its own in the shared loom."""
        await self._tell("looms.thread_add", "thread")
        return True

    async def turn(self) -> bool:
        """A turn of its own in the shared loom."""
        await self._tell("looms.activity", "turn")
        return True

    async def weave(self) -> bool:
        """Have the loom woven, some time."""
        body = {"loomId": await self._loom()}
        await self._hand.call("looms.weave", body, f"weave-{self._hand.next()}")
        return True

    async def _tell(self, op: str, kind: str) -> None:
        text = self._hand.next()
        items = self._hand.history.items
        body = {"loomId": await self._loom(), "text": text, "userId": f"u{self._hand.number}"}
        write = self._hand.begin(items, Write(kind, text, None))
        await self._hand.call(op, body, text)
        self._hand.done(items, write, 0)

    async def _loom(self, *, anew: bool = False) -> str:
        scope = str(uuid5(NAMESPACE_URL, f"interaction-{self._hand.round}"))
        if anew or scope not in self._bound:
            body = {"scope": "interaction", "interactionId": scope, "agents": ["writer"]}
            answer = await self._hand.call("looms.bind", body, f"bind-{self._hand.next()}")
            self._bound[scope] = answer["bindings"][0]["loom"]["id"]
            self._hand.history.bound[scope].add(self._bound[scope])
        return self._bound[scope]
