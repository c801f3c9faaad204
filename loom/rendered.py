"""What a render gives: a text, with the rest of the answer."""

from __future__ import annotations

from typing import Any, Self

from loom.client import Answer


class Rendered(str):
    """A rendered text that carries the rest of its answer.

    Under ``if_none_match`` an unchanged render is empty and has ``unchanged`` set.
    """

    answer: Answer

    @classmethod
    def of(cls, answer: Answer) -> Self:
        """The text of a render's answer."""
        text = cls(answer.get("text") or "")
        text.answer = answer
        return text

    @property
    def sha256(self) -> str:
        """The hash to give as ``if_none_match`` the next time."""
        return str(self.answer["sha256"])

    @property
    def unchanged(self) -> bool:
        """Whether the caller's ``if_none_match`` is still current."""
        return bool(self.answer.get("unchanged", False))

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The rendered blocks of working memory: block_key, layer, content_sha256, fill_ratio."""
        return list(self.answer.get("blocks") or [])

    @property
    def sections(self) -> list[dict[str, Any]]:
        """The rendered sections of a profile: label, agent, user_id, session_id, content_sha256."""
        return list(self.answer.get("sections") or [])

    @property
    def omitted(self) -> list[Any]:
        """What was in scope and did not fit (the first 100): keys of blocks, or a section's label
        with its agent, user_id and session_id."""
        return list(self.answer.get("omitted") or [])
