"""Reading a model's answer: what is right in it is kept, value by value.

The database stores what comes out of here. It is always a profile of the schema's own properties,
each null or valid, whatever the model wrote.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import re2  # type: ignore[import-untyped]
from jsonschema import Draft202012Validator, FormatChecker, SchemaError, ValidationError
from jsonschema.validators import extend

from loom import model_errors as codes
from loom.model_errors import AnswerError
from loom.worker.prompt import MOST_SOURCES

MOST_CHARACTERS: Final = 1_000_000
"""Of an answer; its cap in tokens allows for far less."""

DEEPEST: Final = 64
"""How far objects and arrays of an answer may nest."""

LONGEST_STRING: Final = 65_536
"""No longer one would fit into the row that the profile is stored in."""

MOST_ITEMS: Final = 50
"""Of an array whose schema has no ``maxItems``."""

LARGEST_INTEGER: Final = 2**53
"""Beyond it not every integer is a number in JavaScript, nor in the JSON of most readers."""

_KEYWORDS = frozenset({"type", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum"})

# That of a pattern would be Python's, not RE2's.
_NO_FORMATS: Final = FormatChecker(formats=())

# Stands for what JSON readers take for a number and none can store.
_NO_VALUE: Final = object()

_TOKENS = re.compile(r"""\\.|["{}\[\]]""", re.DOTALL)
_STEPS: Final = {"{": 1, "[": 1, "}": -1, "]": -1}


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
    answer = _parsed(_the_object(text))
    properties: Mapping[str, Any] = json_schema["properties"]
    told, named = _taken_apart(answer, properties)
    reading = _Reading()
    profile = {name: reading.value(each, told.get(name)) for name, each in properties.items()}
    undeclared = sum(1 for name in told if name not in properties)
    sources = {
        name: ids
        for name, value in profile.items()
        if value is not None and (ids := _ids(named.get(name), given))
    }
    return Answer(profile, sources, reading.dropped + undeclared)


def read_summary(text: str) -> str:
    """Read the answer to a prompt for a fold: one JSON object with a "summary", whose text is what
    counts; more in it does not matter.

    Raises ``AnswerError``, and nothing else, whatever the text.
    """
    summary = _parsed(_the_object(text)).get("summary")
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


def _the_object(text: str) -> str:
    """The text of the one JSON object, in one pass over the answer."""
    if len(text) > MOST_CHARACTERS:
        raise AnswerError(codes.ANSWER_TOO_LONG)
    if not text.strip():
        raise AnswerError(codes.EMPTY_ANSWER)
    found = list(_objects(text))
    if not found:
        raise AnswerError(codes.ANSWER_NOT_OBJECT)
    if len(found) > 1:
        raise AnswerError(codes.ANSWER_NOT_ONE_OBJECT)
    start, end = found[0]
    before, after = text[:start].strip(), text[end:].strip()
    in_array = before.endswith("[") or after.startswith("]")
    if in_array or (before.startswith("[") and after.endswith("]")):
        raise AnswerError(codes.ANSWER_NOT_OBJECT)
    return text[start:end]


def _objects(text: str) -> Iterator[tuple[int, int]]:
    """Where a brace opens that is in no other, and where it closes."""
    depth = start = 0
    quoted = False
    for token in _TOKENS.finditer(text):
        mark = token[0]
        if quoted:
            quoted = mark != '"'
            continue
        if depth == 0:
            if mark != "{":
                continue  # prose
            start = token.start()
        quoted = mark == '"'
        depth += _STEPS.get(mark, 0)
        if depth > DEEPEST:
            raise AnswerError(codes.ANSWER_TOO_DEEP)
        if depth == 0:
            yield start, token.end()
    if depth:
        raise AnswerError(codes.ANSWER_TRUNCATED)


def _integer(digits: str) -> object:
    # The length first: Python refuses to read very long ones.
    number = int(digits) if len(digits) <= 17 else LARGEST_INTEGER + 1
    return number if abs(number) <= LARGEST_INTEGER else _NO_VALUE


def _float(text: str) -> object:
    number = float(text)
    return number if math.isfinite(number) else _NO_VALUE


# Not strict: a line break or a NUL inside a string costs at most that string.
_decoder = json.JSONDecoder(
    strict=False, parse_int=_integer, parse_float=_float, parse_constant=lambda name: _NO_VALUE
)


def _parsed(text: str) -> dict[str, Any]:
    try:
        parsed = _decoder.decode(text)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise AnswerError(codes.ANSWER_NOT_JSON)
    return parsed


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


def _ids(numbers: object, given: Sequence[str]) -> list[str]:
    """The ids of the facts named, each once, as many as a property may have."""
    ids: list[str] = []
    for number in numbers if isinstance(numbers, list) else ():
        if isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= len(given):
            if given[number - 1] not in ids:
                ids.append(given[number - 1])
            if len(ids) == MOST_SOURCES:
                break
    return ids


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
    if value is _NO_VALUE or isinstance(value, list | dict) or value is None:
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
