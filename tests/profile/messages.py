"""What users say, and what rules are to tell by it: the data of `messages.yaml`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from loom.profile import Signal


@dataclass(frozen=True)
class Case:
    """Signals as `user_profile.update` takes them, and what they are to tell."""

    name: str
    signals: list[dict[str, Any]]
    language: str | None
    traits: dict[str, str]
    facts: dict[str, str]

    @property
    def as_python(self) -> list[Signal]:
        """The same as loom.profile takes them."""
        return [
            Signal("u1", each.get("kind", "message"), each["text"], role=each.get("role", ""))
            for each in self.signals
        ]


def cases() -> list[Case]:
    """All of them."""
    listed = yaml.safe_load(Path(__file__).with_name("messages.yaml").read_text(encoding="utf-8"))
    return [
        Case(
            each["name"],
            each.get("signals") or [{"text": each["text"]}],
            each.get("language"),
            {name: each[name] for name in ("verbosity", "formality") if name in each},
            each.get("facts", {}),
        )
        for each in listed
    ]
