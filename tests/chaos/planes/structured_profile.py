"""Structured profiles: facts of each client's own user, of which the worker builds a profile."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from tests.chaos.planes.hand import Act, Hand

SCHEMA: Final = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 80, "description": "Where the user lives."},
        "editor": {"type": "string", "maxLength": 80, "description": "What the user writes in."},
    },
}
PROPERTIES: Final = {"city": "semantic", "editor": "preference"}
"""Each settled by one fact of this type; the preference is folded into a section of text too."""


class StructuredProfile:
    """Facts that change under the builds, and reads of what was built."""

    WEIGHTS: ClassVar = {"fact": 3, "fact deleted": 1, "structured read": 1}

    def __init__(self, hand: Hand) -> None:
        self._hand = hand
        self._user = user_of(hand.number)
        self._there: set[str] = set()
        self.acts: dict[str, Act] = {
            "fact": self.set,
            "fact deleted": self.delete,
            "structured read": self.read,
        }

    async def set(self) -> bool:
        """Another value of a property."""
        name = self._hand.random.choice(list(PROPERTIES))
        text = f"{name}: {self._hand.next()}"
        body = {"value": text, "memory_type": PROPERTIES[name]}
        await self._write(name, text, "memory.set", body)
        self._there.add(name)
        return True

    async def delete(self) -> bool:
        """The fact behind a property."""
        if not self._there:
            return False
        name = self._hand.random.choice(sorted(self._there))
        await self._write(name, None, "memory.delete", {})
        self._there.remove(name)
        return True

    async def read(self) -> bool:
        """The profile as it stands, which a build may be behind."""
        await self._hand.call("profile.structured", {"user_id": self._user})
        return True

    async def _write(self, name: str, text: str | None, op: str, body: dict[str, Any]) -> None:
        row = row_of(self._hand.number, name)
        body = {"user_id": self._user, "memory_key": row, **body}
        await self._hand.write(self._hand.history.own[row], row, text, op, body)


def user_of(number: int) -> str:
    """The user that client speaks of."""
    return f"s{number}"


def row_of(number: int, name: str) -> str:
    """The row of the fact behind a property."""
    return f"{name}-{number}"
