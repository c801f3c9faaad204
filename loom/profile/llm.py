"""A model as a source."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Protocol

from loom.logs import without_text
from loom.profile.answer import UnreadableAnswer, read_answer
from loom.profile.model import ProfileDelta, Signal, own_texts
from loom.profile.prompt import MOST_SIGNALS, asked_again, profile_prompt
from loom.profile.rules import RuleProfileSource
from loom.profile.source import ProfileProtocol

log = logging.getLogger("loom.profile")


class ChatClient(Protocol):
    """Whatever answers a chat with a text."""

    async def chat(
        self, messages: list[dict[str, Any]], model: str = "", **options: Any
    ) -> str | None:
        """The assistant's next message; None where it said nothing, as some clients have it."""
        ...


class LLMProfileSource:
    """Asks a model, once more when its answer cannot be read, and then ``fallback``: the rules,
    unless another source is given. A call that fails, or takes longer than ``seconds``, is not
    repeated.

    The model reads the last twenty of the user's own messages and nothing that anyone else said.
    ``language`` is what it writes values and summary in.
    """

    name = "llm"

    def __init__(
        self,
        llm: ChatClient,
        *,
        language: str = "en",
        model: str = "",
        max_signals: int = MOST_SIGNALS,
        max_tokens: int = 1024,
        seconds: float = 60.0,
        fallback: ProfileProtocol | None = None,
    ) -> None:
        self._llm = llm
        self._language = language
        self._model = model
        self._max_signals = max(1, min(max_signals, MOST_SIGNALS))
        self._max_tokens = max_tokens
        self._seconds = seconds
        self._fallback = fallback or RuleProfileSource()

    async def extract(self, user_id: str, signals: Sequence[Signal]) -> ProfileDelta:
        """What the model tells of the user by these signals."""
        own = own_texts(signals)
        if not own:
            return ProfileDelta()
        delta = await self._asked(own[-self._max_signals :])
        return delta or await self._fallback.extract(user_id, signals)

    async def _asked(self, own: Sequence[str]) -> ProfileDelta | None:
        prompt = profile_prompt(own, self._language)
        for _ in range(2):
            try:
                async with asyncio.timeout(self._seconds):
                    said = await self._llm.chat(
                        [dict(message) for message in prompt],
                        model=self._model,
                        max_tokens=self._max_tokens,
                    )
            except Exception as error:
                log.error("a model failed", extra={"source": "llm"}, exc_info=without_text(error))
                return None
            answer = said or ""
            try:
                delta = read_answer(answer)
            except UnreadableAnswer as unreadable:
                log.warning("an answer was not read", extra={"reason": str(unreadable)})
                prompt = asked_again(prompt, answer)
            else:
                delta.source = self.name
                return delta
        return None
