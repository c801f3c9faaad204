"""Packs in tests: calling the operation, and holding every answer to what all of them promise."""

from __future__ import annotations

from typing import Any

from tests.calls import Answer, Connection, operate
from tests.sql.doors import IDENTITY
from tests.sql.texts import sha256

DEPENDENT = {"memories", "decisions"}
"""The sections that the query finds."""


def estimate(text: str) -> int:
    """The tokens a text is taken for, reckoned apart from SQL: by character and its bytes."""
    quarters = sum(2 * len(character.encode()) - 1 for character in text)
    return -(-quarters // 4)


def pack(conn: Connection, /, **request: Any) -> Answer:
    """Runs `context.pack` directly, and checks what holds for every answer."""
    answer = operate(conn, "context.pack", **{**IDENTITY, **request})
    assert answer["unchanged"] or answer["text"] == "\n\n".join(
        section["text"] for section in answer["sections"] if section["text"]
    )
    assert answer["tokens"] <= answer["token_budget"]
    for section in answer["sections"]:
        if "text" in section:
            assert section["sha256"] == sha256(section["text"])
            assert section["tokens"] == estimate(section["text"])
            assert bool(section["text"]) == bool(section["items"])
        assert len(section["omitted"]) == min(section["omitted_count"], 100)
    if not answer["unchanged"]:
        prefix = answer["text"][: answer["stable_prefix_chars"]]
        assert sha256(prefix) == answer["stable_hash"]
        assert answer["tokens"] == estimate(answer["text"])
        assert prefix == "\n\n".join(
            section["text"]
            for section in answer["sections"]
            if section["text"] and section["name"] not in DEPENDENT
        )
    return answer


def part(answer: Answer, name: str) -> Answer:
    """One section of a pack."""
    (found,) = [section for section in answer["sections"] if section["name"] == name]
    return dict(found)


def names(answer: Answer) -> list[str]:
    """The sections of a pack, in order."""
    return [section["name"] for section in answer["sections"]]


def prefix(answer: Answer) -> str:
    """The stable part of a pack's text."""
    return str(answer["text"][: answer["stable_prefix_chars"]])
