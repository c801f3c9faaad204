"""Reading a model's answer: what is right in it is kept, value by value.

The database stores what comes out of here. It is always a profile of the schema's own properties,
each null or valid, whatever the model wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import re2  # type: ignore[import-untyped]
from jsonschema import Draft202012Validator, FormatChecker, SchemaError, ValidationError
from jsonschema.validators import extend

from loom import model_errors as codes
from loom.model_answer import LARGEST_INTEGER, NO_VALUE, answer_object, named_ids
from loom.model_errors import AnswerError
from loom.worker.prompt import MOST_SOURCES

LONGEST_STRING: Final = 65_536
"""No longer one would fit into the row that the profile is stored in."""

MOST_ITEMS: Final = 50
"""Of an array whose schema has no ``maxItems``."""

_KEYWORDS = frozenset({"type", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum"})

# That of a pattern would be Python's, not RE2's.
_NO_FORMATS: Final = FormatChecker(formats=())


@dataclass(frozen=True)
class Answer:
    """``profile`` has every property of the schema, null where there is no valid value; ``sources``
    by property the ids of the facts that the model named. ``dropped`` counts what was not taken:
    undeclared properties, values and elements that the schema does not allow."""

    profile: dict[str, Any]
    sources: dict[str, list[str]]
    dropped: int


def read_answer(text: str, json_schema: Mapping[str, Any], given: Sequence[str]) -> Answer:
    """Read the answer to a prompt whose facts 1, 2, … had the ids ``given``.

    The text holds exactly one JSON object; a code fence or prose around it does not matter. The
    object is ``{"profile": {…}, "sources": {…}}`` when its "profile" is an object, which no
    property's value can be. Otherwise it is taken for the profile itself, without sources, when it
    is empty or has a declared property. A key that is given twice has its last value.

    A value that its property's schema does not allow becomes null. An array with too many items is
    such a value, as a whole: which of them to leave out is not for us to say. Of any other array
    the elements that are not allowed are left out; it is null when none remains. A whole number
    counts as an integer however it is written, and is stored as one: 3.0 as 3.

    Raises ``AnswerError``, and nothing else, whatever the text.
    """
    answer = answer_object(text)
    properties: Mapping[str, Any] = json_schema["properties"]
    told, named = _taken_apart(answer, properties)
    reading = _Reading()
    profile = {name: reading.value(each, told.get(name)) for name, each in properties.items()}
    undeclared = sum(1 for name in told if name not in properties)
    sources = {
        name: ids
        for name, value in profile.items()
        if value is not None and (ids := named_ids(named.get(name), given, MOST_SOURCES))
    }
    return Answer(profile, sources, reading.dropped + undeclared)


def read_summary(text: str) -> str:
    """Read the answer to a prompt for a fold: one JSON object with a "summary", whose text is what
    counts; more in it does not matter.

    Raises ``AnswerError``, and nothing else, whatever the text.
    """
    summary = answer_object(text).get("summary")
    if not isinstance(summary, str) or not _encodable(summary):
        raise AnswerError(codes.ANSWER_OFF_SCHEMA)
    if not summary.strip():
        raise AnswerError(codes.EMPTY_ANSWER)
    return summary.strip()


def is_readable(json_schema: Mapping[str, Any]) -> bool:
    """Whether answers can be held to a stored schema: it is of the wanted shape, and its patterns
    compile here too."""
    try:
        for each in json_schema["properties"].values():
            for schema in (each, each["items"]) if each["type"] == "array" else (each,):
                Draft202012Validator.check_schema(_held(schema), _NO_FORMATS)
                if "pattern" in schema:
                    re2.compile(schema["pattern"], _options)
    except (KeyError, TypeError, AttributeError, SchemaError, re2.error, UnicodeEncodeError):
        return False
    return bool(json_schema["properties"])


def _taken_apart(
    answer: dict[str, Any], properties: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The profile and the sources of an answer."""
    profile, sources = answer.get("profile"), answer.get("sources")
    if isinstance(profile, dict):
        return profile, sources if isinstance(sources, dict) else {}
    if answer and not any(name in properties for name in answer):
        # An apology as JSON; to take it for a profile would empty the one that is served.
        raise AnswerError(codes.ANSWER_OFF_SCHEMA)
    return answer, {}


class _Reading:
    """Holds values to their schemas and counts what it does not take."""

    def __init__(self) -> None:
        self.dropped = 0

    def value(self, schema: Mapping[str, Any], value: object) -> object:
        """The value as it is stored, or null."""
        if value is None:
            return None
        if schema["type"] == "array":
            return self._array(schema, value)
        if not _allowed(schema, value):
            self.dropped += 1
            return None
        return _stored(schema, value)

    def _array(self, schema: Mapping[str, Any], value: object) -> list[object] | None:
        if not isinstance(value, list) or len(value) > schema.get("maxItems", MOST_ITEMS):
            self.dropped += 1
            return None
        items = schema["items"]
        kept = [_stored(items, element) for element in value if _allowed(items, element)]
        self.dropped += len(value) - len(kept)
        return kept if kept or not value else None


def _allowed(schema: Mapping[str, Any], value: object) -> bool:
    if value is NO_VALUE or isinstance(value, list | dict) or value is None:
        return False
    if isinstance(value, str) and not _storable(value):
        return False
    if schema["type"] == "integer" and isinstance(value, float) and abs(value) > LARGEST_INTEGER:
        return False
    return bool(_Validator(_held(schema)).is_valid(value))


def _held(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Of the schema what a value can be held to: nothing in it can lead elsewhere."""
    return {keyword: bound for keyword, bound in schema.items() if keyword in _KEYWORDS}


def _storable(text: str) -> bool:
    return len(text) <= LONGEST_STRING and _encodable(text)


def _encodable(text: str) -> bool:
    """Whether PostgreSQL can hold it: no U+0000, no half of a surrogate pair."""
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _stored(schema: Mapping[str, Any], value: Any) -> object:
    return int(value) if schema["type"] == "integer" else value


_options = re2.Options()
_options.log_errors = False  # they would go to standard error, pattern and all


def _pattern(
    validator: object, pattern: str, value: object, schema: object
) -> Iterator[ValidationError]:
    """JSON Schema's ``pattern``, found anywhere in the text, in time linear in its length."""
    if not isinstance(value, str):
        return
    try:
        found = re2.compile(pattern, _options).search(value) is not None
    except (re2.error, UnicodeEncodeError):
        found = False  # no text can be held to it
    if not found:
        yield ValidationError("it does not match the pattern")


_Validator = extend(Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]
