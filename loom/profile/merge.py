"""Merging a delta into a profile: in memory what ``loom.user_profile_merge`` is in the database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from loom.profile.model import (
    FORMATS,
    LONGEST_KEY,
    LONGEST_LANGUAGE,
    LONGEST_SUMMARY,
    LONGEST_TOPIC,
    LONGEST_VALUE,
    MOST_FACTS,
    MOST_TOPICS,
    OPS,
    PREFERENCES,
    TRAITS,
    Preferences,
    ProfileDelta,
    ProfileError,
    UserProfile,
)


def merge(profile: UserProfile, delta: ProfileDelta, *, now: str = "") -> UserProfile:
    """The profile with the delta merged in; the very same one when that changes nothing.

    Empty says nothing: only ``forget`` removes a fact, and only an empty list of topics the topics.
    A fact that is changed keeps its place; one that was forgotten and comes back stands last.
    ``now`` becomes ``updated_at``. Raises ``ProfileError``.
    """
    check(delta)
    facts = dict(profile.facts)
    for op in delta.fact_ops:
        if op.op == "forget":
            facts.pop(op.key, None)
        elif op.value:
            facts[op.key] = op.value
    traits = replace(profile.traits, **_opinions(delta.traits))
    wanted = _opinions(delta.preferences)
    preferences = Preferences(
        wanted.get("format", profile.preferences.format),
        wanted.get("language", profile.preferences.language),
        list(profile.preferences.topics) if delta.topics is None else once(delta.topics),
    )
    merged = UserProfile(
        profile.user_id,
        traits=traits,
        preferences=preferences,
        facts=facts,
        summary=delta.summary or profile.summary,
        updated_at=now,
        version=profile.version + 1,
        source=delta.source or profile.source,
    )
    if same_content(merged, profile):
        return profile
    _bounded("facts", len(facts), MOST_FACTS)
    _bounded("topics", len(preferences.topics), MOST_TOPICS)
    return merged


def same_content(one: UserProfile, other: UserProfile) -> bool:
    """Whether two profiles say the same, in the same order."""
    return list(one.facts.items()) == list(other.facts.items()) and (
        one.traits,
        one.preferences,
        one.summary,
    ) == (other.traits, other.preferences, other.summary)


def check(delta: ProfileDelta) -> None:
    """Raise ``ProfileError`` for what no profile takes: unknown operations, names and words, and
    parts over their limits."""
    for op in delta.fact_ops:
        _one_of("op", op.op, OPS)
        if not op.key:
            raise ProfileError("the key of a fact is empty")
        _bounded("key", len(op.key), LONGEST_KEY)
        _bounded("value", len(op.value or ""), LONGEST_VALUE)
    for name, word in delta.traits.items():
        _one_of("trait", name, TRAITS)
        _one_of(name, word or "", ("", *TRAITS[name]))
    for name, word in delta.preferences.items():
        _one_of("preference", name, PREFERENCES)
        if name == "format":
            _one_of(name, word or "", ("", *FORMATS))
        else:
            _bounded(name, len(word or ""), LONGEST_LANGUAGE)
    for topic in delta.topics or ():
        _bounded("topic", len(topic), LONGEST_TOPIC)
    _bounded("summary", len(delta.summary or ""), LONGEST_SUMMARY)


def once(topics: Iterable[str]) -> list[str]:
    """Topics without empty ones, each once."""
    return [topic for topic in dict.fromkeys(topics) if topic]


def _opinions(settings: dict[str, str]) -> dict[str, str]:
    return {name: word for name, word in settings.items() if word}


def _one_of(what: str, word: str, words: Iterable[str]) -> None:
    if word not in words:
        raise ProfileError(f"{what} must be one of {', '.join(filter(None, words))}")


def _bounded(what: str, value: int, limit: int) -> None:
    if value > limit:
        raise ProfileError(f"{what}: {value} is over the limit of {limit}")
