"""What a profile, a signal and a delta are, and their form on the wire.

In Python what is not known is an empty text; on the wire it is null. Facts keep their order: a dict
here, a list of ``{"key", "value"}`` there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

_LENGTHS = ("concise", "balanced", "detailed")
TRAITS: Final[Mapping[str, tuple[str, ...]]] = {
    "style": _LENGTHS,
    "expertise": ("beginner", "intermediate", "expert"),
    "verbosity": _LENGTHS,
    "formality": ("casual", "neutral", "formal"),
}
"""Each trait with the words it may have, in the order in which a profile shows them."""

FORMATS: Final = ("bullets", "narrative", "code_heavy", "mixed")
PREFERENCES: Final = ("format", "language")
OPS: Final = ("add", "update", "forget")

MOST_FACTS: Final = 200
MOST_TOPICS: Final = 50
LONGEST_KEY: Final = 80
LONGEST_VALUE: Final = 2000
LONGEST_TOPIC: Final = 200
LONGEST_LANGUAGE: Final = 35
LONGEST_SUMMARY: Final = 4000


class ProfileError(ValueError):
    """A delta or a profile that cannot be stored, and why."""


@dataclass
class Traits:
    """How a user communicates; empty where nothing is known."""

    style: str = ""
    expertise: str = ""
    verbosity: str = ""
    formality: str = ""


@dataclass
class Preferences:
    """How a user wants answers; empty where nothing is known."""

    format: str = ""
    language: str = ""
    topics: list[str] = field(default_factory=list)


@dataclass
class UserProfile:
    """What is known of a user; ``facts`` in the order in which they were first added."""

    user_id: str
    traits: Traits = field(default_factory=Traits)
    preferences: Preferences = field(default_factory=Preferences)
    facts: dict[str, str] = field(default_factory=dict)
    summary: str = ""
    updated_at: str = ""
    version: int = 0
    source: str = ""


@dataclass
class Signal:
    """Something that was said or done. The user's own words, which alone tell of the user, are of
    kind ``message``, with role ``user`` or none, and of kind ``feedback``. With an ``id`` it is
    merged once."""

    user_id: str
    kind: str
    text: str
    role: str = ""
    ts: str = ""
    meta: dict[str, Any] = field(default_factory=dict)
    id: str = ""


@dataclass
class FactOp:
    """One operation on a fact: ``add`` and ``update``, which are the same, or ``forget``."""

    op: str
    key: str
    value: str = ""


@dataclass
class ProfileDelta:
    """What one look at signals told. Empty says nothing; ``topics`` None keeps, a list replaces."""

    fact_ops: list[FactOp] = field(default_factory=list)
    traits: dict[str, str] = field(default_factory=dict)
    preferences: dict[str, str] = field(default_factory=dict)
    topics: list[str] | None = None
    summary: str = ""
    source: str = ""


def own_texts(signals: Sequence[Signal]) -> list[str]:
    """What the user said themselves; tools, assistants and surroundings create no fact."""
    return [
        signal.text
        for signal in signals
        if (signal.kind in ("message", "") and signal.role in ("user", ""))
        or signal.kind == "feedback"
    ]


def profile_of(user_id: str, answer: Mapping[str, Any]) -> UserProfile:
    """The profile of an answer of ``user_profile.*``."""
    content = answer["profile"]
    preferences = content["preferences"]
    return UserProfile(
        user_id,
        traits=Traits(**{name: content["traits"][name] or "" for name in TRAITS}),
        preferences=Preferences(
            preferences["format"] or "", preferences["language"] or "", list(preferences["topics"])
        ),
        facts={fact["key"]: fact["value"] for fact in content["facts"]},
        summary=content["summary"],
        updated_at=answer["updated_at"] or "",
        version=answer["version"],
        source=answer["source"] or "",
    )


def content_of(profile: UserProfile) -> dict[str, Any]:
    """A profile's content as ``user_profile.put`` takes it."""
    return {
        "facts": [{"key": key, "value": value} for key, value in profile.facts.items()],
        "traits": {name: getattr(profile.traits, name) or None for name in TRAITS},
        "preferences": {
            "format": profile.preferences.format or None,
            "language": profile.preferences.language or None,
            "topics": list(profile.preferences.topics),
        },
        "summary": profile.summary,
    }


def wire_of(delta: ProfileDelta) -> dict[str, Any]:
    """A delta as ``user_profile.apply`` takes it."""
    return {
        "fact_ops": [{"op": op.op, "key": op.key, "value": op.value} for op in delta.fact_ops],
        "traits": dict(delta.traits),
        "preferences": dict(delta.preferences),
        "topics": delta.topics,
        "summary": delta.summary,
        "source": delta.source,
    }
