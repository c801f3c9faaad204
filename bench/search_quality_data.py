"""Facts and questions of our own, with which fact answers which question."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_FILE: Final = Path(__file__).parent / "data" / "search_quality.json"


@dataclass(frozen=True)
class Fact:
    """A fact as an agent would note it."""

    language: str
    value: str


@dataclass(frozen=True)
class Question:
    """A question, and the key of its fact. Reworded: they have no telling word in common."""

    query: str
    language: str
    expects: str
    reworded: bool


def _facts(rows: Sequence[Mapping[str, Any]]) -> dict[str, Fact]:
    return {row["key"]: Fact(row["language"], row["value"]) for row in rows}


def _questions(rows: Sequence[Mapping[str, Any]]) -> tuple[Question, ...]:
    return tuple(
        Question(row["query"], row["language"], row["expects"], row["kind"] == "reworded")
        for row in rows
    )


_DATA: Final = json.loads(_FILE.read_text(encoding="utf-8"))
FACTS: Final = _facts(_DATA["facts"])
QUESTIONS: Final = _questions(_DATA["questions"])
