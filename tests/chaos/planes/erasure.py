"""Users that are written in every plane and then erased."""

from __future__ import annotations

from typing import ClassVar

from tests.chaos.planes.hand import Act, Hand
from tests.chaos.planes.user_profile import fact


class Erasure:
    """One user after another, each erased while builds for it may be under way."""

    WEIGHTS: ClassVar = {"erasure": 2}

    def __init__(self, hand: Hand) -> None:
        self._hand = hand
        self.acts: dict[str, Act] = {"erasure": self.erase}

    async def erase(self) -> bool:
        """A user from the first write to the last."""
        text = self._hand.next()
        user = f"erased-{text}"
        retries = self._hand.retries
        for number, (op, body) in enumerate(self._planes(text)):
            await self._hand.call(op, {**body, "user_id": user}, f"{number}-{text}")
        # A request that was sent twice may still be on its way, and be carried out after the
        # erasure, which forgets its key: then it is new data.
        alone = self._hand.retries == retries
        await self._hand.call("erasure.request", {"user_id": user}, f"erasure-{text}")
        if alone:
            self._hand.history.erased.append(user)
        return True

    def _planes(self, text: str) -> list[tuple[str, dict[str, object]]]:
        signals = [{"id": text, "text": f"Call me {text}."}]
        return [
            ("working_memory.set", {"content": text}),
            ("memory.set", {"memory_key": "city", "value": f"city: {text}"}),
            ("profile.set", {"label": "persona", "value": text}),
            ("user_profile.apply", {"delta": fact("name", text)}),
            ("user_profile.update", {"signals": signals, "source": "llm"}),
        ]
