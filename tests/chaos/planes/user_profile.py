"""Profiles of what users say: deltas of many on one profile and of one on its own, and signals that
wait for the worker and its model."""

from __future__ import annotations

from typing import ClassVar

from tests.chaos.history import Write
from tests.chaos.planes.hand import ROUND, Act, Hand


class UserProfile:
    """Each shared delta adds a fact of its own; each own delta changes one fact."""

    WEIGHTS: ClassVar = {"shared delta": 2, "delta": 2, "signal": 2}

    def __init__(self, hand: Hand) -> None:
        self._hand = hand
        self.acts: dict[str, Act] = {
            "shared delta": self.add,
            "delta": self.update,
            "signal": self.hear,
        }

    async def add(self) -> bool:
        """A fact of its own in a profile that all clients add to."""
        text = self._hand.next()
        # A profile holds 200 facts at most: those of all clients' rounds must fit into one.
        user = f"facts-{self._hand.round}-{self._hand.number % 4}"
        body = {"user_id": user, "delta": fact(text, text)}
        await self._hand.write(self._hand.history.shared, user, text, "user_profile.apply", body)
        return True

    async def update(self) -> bool:
        """Another value of the one fact of the own profile."""
        text, user = self._hand.next(), f"told-{self._hand.number}"
        body = {"user_id": user, "delta": fact("name", text)}
        await self._hand.write(self._hand.history.own[user], user, text, "user_profile.apply", body)
        return True

    async def hear(self) -> bool:
        """A signal, now and then told twice: its id keeps it from being merged again."""
        # A name to the rules too, which judge where the model's answer is cut off.
        text = self._hand.next().capitalize()
        user = f"heard-{self._hand.number}-{self._hand.round}"
        writes = self._hand.history.latest[user]
        write = self._hand.begin(writes, Write(user, text, None))
        signals = [{"id": text, "text": f"Call me {text}."}]
        body = {"user_id": user, "signals": signals, "source": "llm"}
        for _ in range(self._hand.random.choice([1, 1, 2])):
            await self._hand.patient.call("user_profile.update", body)
        self._hand.done(writes, write, 0)
        return True


def fact(key: str, value: str) -> dict[str, object]:
    """A delta of one fact."""
    return {"fact_ops": [{"op": "update", "key": key, "value": value}]}


assert ROUND * 4 <= 200  # the facts that one profile can hold
