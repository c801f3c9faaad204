"""Structured profiles: facts of each client's own users, of which the worker builds profiles."""

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

USERS: Final = 3
"""Of each client: while one waits for the lease of a killed worker, others are built."""


class StructuredProfile:
    """Facts that change under the builds, and reads of what was built."""

    WEIGHTS: ClassVar = {"fact": 3, "fact deleted": 1, "structured read": 1}

    def __init__(self, hand: Hand) -> None:
        self._hand = hand
        self._there: set[str] = set()
        self.acts: dict[str, Act] = {
            "fact": self.set,
            "fact deleted": self.delete,
            "structured read": self.read,
        }

    async def set(self) -> bool:
        """Another value of a property of a user."""
        name, user = self._hand.random.choice(list(PROPERTIES)), self._user()
        row = row_of(user, name)
        text = f"{name}: {self._hand.next()}"
        body = {"value": text, "memory_type": PROPERTIES[name]}
        await self._write(user, row, text, "memory.set", body)
        self._there.add(row)
        return True

    async def delete(self) -> bool:
        """The fact behind a property, if it is there."""
        name, user = self._hand.random.choice(list(PROPERTIES)), self._user()
        row = row_of(user, name)
        if row not in self._there:
            return False
        await self._write(user, row, None, "memory.delete", {})
        self._there.remove(row)
        return True

    async def read(self) -> bool:
        """A profile as it stands, which a build may be behind."""
        await self._hand.call("profile.structured", {"user_id": self._user()})
        return True

    def _user(self) -> str:
        return self._hand.random.choice(users_of(self._hand.number))

    async def _write(
        self, user: str, row: str, text: str | None, op: str, body: dict[str, Any]
    ) -> None:
        writes = self._hand.history.own[row]
        await self._hand.write(writes, row, text, op, {"user_id": user, "memory_key": row, **body})


def users_of(client: int) -> list[str]:
    """The users that a client speaks of."""
    return [f"s{client}.{number}" for number in range(USERS)]


def row_of(user: str, name: str) -> str:
    """The row of the fact behind a property."""
    return f"{name} of {user}"
