"""Reading what a model tells of a user: what is right in it is kept, value by value.

The answer holds exactly one JSON object; prose or a code fence around it does not matter. A value
that a profile does not take (a word that a trait has not, an operation that there is not, a text
that is too long or cannot be stored) is left out, and the others count.
"""

from __future__ import annotations

import json
from typing import Any, Final

from loom.profile.merge import once
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
    TRAITS,
    FactOp,
    ProfileDelta,
)

LONGEST_ANSWER: Final = 200_000
_PARTS: Final = frozenset({"facts", "traits", "preferences", "summary"})

SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "facts": {
            "type": "array",
            "maxItems": 50,
            "items": {
                "type": "object",
                "properties": {
                    "op": {"type": "string", "enum": list(OPS)},
                    "key": {"type": "string", "maxLength": LONGEST_KEY},
                    "value": {"type": ["string", "null"], "maxLength": LONGEST_VALUE},
                },
                "required": ["op", "key", "value"],
                "additionalProperties": False,
            },
        },
        "traits": {
            "type": "object",
            "properties": {
                name: {"type": ["string", "null"], "enum": [*words, None]}
                for name, words in TRAITS.items()
            },
            "required": list(TRAITS),
            "additionalProperties": False,
        },
        "preferences": {
            "type": "object",
            "properties": {
                "format": {"type": ["string", "null"], "enum": [*FORMATS, None]},
                "language": {"type": ["string", "null"], "maxLength": LONGEST_LANGUAGE},
                "topics": {
                    "type": ["array", "null"],
                    "maxItems": MOST_TOPICS,
                    "items": {"type": "string", "maxLength": LONGEST_TOPIC},
                },
            },
            "required": ["format", "language", "topics"],
            "additionalProperties": False,
        },
        "summary": {"type": ["string", "null"], "maxLength": LONGEST_SUMMARY},
    },
    "required": ["facts", "traits", "preferences", "summary"],
    "additionalProperties": False,
}
"""The shape that a model is asked for. Null says nothing: strict modes want every field."""


class UnreadableAnswer(ValueError):
    """An answer that is not exactly one JSON object of the wanted kind."""


def read_answer(text: str) -> ProfileDelta:
    """The delta that a model's answer tells. Raises ``UnreadableAnswer``, whatever the text."""
    answer = _the_object(text)
    if not _PARTS & answer.keys():
        raise UnreadableAnswer("none of the wanted fields")
    traits, preferences = _object(answer.get("traits")), _object(answer.get("preferences"))
    delta = ProfileDelta(fact_ops=_ops(answer.get("facts")))
    for name, words in TRAITS.items():
        if traits.get(name) in words:
            delta.traits[name] = traits[name]
    if preferences.get("format") in FORMATS:
        delta.preferences["format"] = preferences["format"]
    language = _text(preferences.get("language"), LONGEST_LANGUAGE)
    if language:
        delta.preferences["language"] = language
    delta.topics = _topics(preferences.get("topics"))
    delta.summary = _text(answer.get("summary"), LONGEST_SUMMARY)
    return delta


def _the_object(text: str) -> dict[str, Any]:
    if len(text) > LONGEST_ANSWER:
        raise UnreadableAnswer("too long")
    start = text.find("{")
    if start < 0 or text[:start].rstrip().endswith("["):
        raise UnreadableAnswer("no object")
    try:
        # Not strict: a line break inside a text costs nothing.
        answer, end = json.JSONDecoder(strict=False).raw_decode(text, start)
    except (ValueError, RecursionError):
        raise UnreadableAnswer("no JSON") from None
    if "{" in text[end:]:
        raise UnreadableAnswer("several objects")
    return _object(answer)


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _ops(listed: object) -> list[FactOp]:
    ops = []
    for each in listed if isinstance(listed, list) else ():
        said = _object(each)
        op, key = said.get("op"), _text(said.get("key"), LONGEST_KEY)
        value = "" if op == "forget" else _text(said.get("value"), LONGEST_VALUE)
        if op in OPS and key and (value or op == "forget"):
            ops.append(FactOp(op, key, value))
    return ops[:MOST_FACTS]


def _topics(listed: object) -> list[str] | None:
    if not isinstance(listed, list):
        return None
    topics = once(_text(each, LONGEST_TOPIC) for each in listed)
    # Of a list in which nothing can be used nobody meant to clear the topics.
    return topics[:MOST_TOPICS] if topics or not listed else None


def _text(value: object, longest: int) -> str:
    """A text that can be stored, else an empty one."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18:
        value = str(value)
    if not isinstance(value, str) or "\0" in value:
        return ""
    value = value.strip()
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return ""
    return value if len(value) <= longest else ""
