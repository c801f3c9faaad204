"""``bot.context``: what the next prompt starts with, as one text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, Unpack

from loom.agent_plane import Plane, ReadScope, RunIds
from loom.client import Answer

SectionName = Literal["working_memory", "profile", "user_profile", "looms", "memories", "decisions"]


class Pack(str):
    """The text of a pack, with the rest of its answer.

    ``stable + tail == pack`` but under ``if_none_match``: while that is current, ``unchanged`` is
    set, the pack is only its tail, and the caller puts the part it kept before it.
    """

    answer: Answer

    @classmethod
    def of(cls, answer: Answer) -> Self:
        """The text of an answer of context.pack."""
        text = cls(answer["text"])
        text.answer = answer
        return text

    @property
    def stable(self) -> str:
        """The start that no query changes; a provider's cache breakpoint belongs behind it."""
        return "" if self.unchanged else self[: self.answer["stable_prefix_chars"]]

    @property
    def tail(self) -> str:
        """What the query found."""
        return str(self) if self.unchanged else self[self.answer["stable_prefix_chars"] :]

    @property
    def stable_hash(self) -> str:
        """SHA-256 of the stable part: what to give as ``if_none_match`` the next time."""
        return str(self.answer["stable_hash"])

    @property
    def unchanged(self) -> bool:
        """Whether the caller's ``if_none_match`` is still current."""
        return bool(self.answer["unchanged"])

    @property
    def tokens(self) -> int:
        """The tokens of the whole pack, as Loom estimates them."""
        return int(self.answer["tokens"])

    @property
    def sections(self) -> list[dict[str, Any]]:
        """Its sections: name, text, tokens, sha256, items, omitted, omitted_count."""
        return list(self.answer["sections"])


class Context(Plane):
    """What an agent is told before its next turn."""

    group = "context"

    async def pack(
        self,
        query: str | None = None,
        *,
        token_budget: int | None = None,
        section_token_budgets: Mapping[SectionName, int] | None = None,
        block_order: Sequence[SectionName] | None = None,
        only_sections: Sequence[SectionName] | None = None,
        session_block: str | None = None,
        labels: Sequence[str] | None = None,
        format: Literal["xml", "markdown"] | None = None,
        include_user_profile: bool | None = None,
        include_looms: Sequence[str] | None = None,
        language: str | None = None,
        read_scope: ReadScope | None = None,
        if_none_match: str | None = None,
        **ids: Unpack[RunIds],
    ) -> Pack:
        """Working memory, profile, and what the query finds, within a budget of tokens."""
        answer = await self._call(
            "pack",
            ids,
            query=query,
            token_budget=token_budget,
            section_token_budgets=section_token_budgets,
            block_order=block_order,
            only_sections=only_sections,
            session_block=session_block,
            labels=labels,
            format=format,
            include_user_profile=include_user_profile,
            include_looms=include_looms,
            language=language,
            read_scope=read_scope,
            if_none_match=if_none_match,
        )
        return Pack.of(answer)
