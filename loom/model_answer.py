"""The JSON object that a model was asked for, found in the text that it wrote."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from loom import model_errors as codes
from loom.model_errors import AnswerError

MOST_CHARACTERS: Final = 1_000_000
"""Of an answer; its cap in tokens allows for far less."""

DEEPEST: Final = 64
"""How far objects and arrays of an answer may nest."""

LARGEST_INTEGER: Final = 2**53
"""Beyond it not every integer is a number in JavaScript, nor in the JSON of most readers."""

NO_VALUE: Final = object()
"""Stands for what JSON readers take for a number and none can store."""

_TOKENS = re.compile(r"""\\.|["{}\[\]]""", re.DOTALL)
_STEPS: Final = {"{": 1, "[": 1, "}": -1, "]": -1}


def answer_object(text: str) -> dict[str, Any]:
    """The one JSON object in an answer; a code fence or prose around it does not matter. A key that
    is given twice has its last value.

    Raises ``AnswerError``, and nothing else, whatever the text.
    """
    return _parsed(_the_object(text))


def named_ids(numbers: object, given: Sequence[str], most: int) -> list[str]:
    """The ids of the facts that an answer names by number, each once, ``most`` at most: the fact
    with number n is ``given[n - 1]``."""
    ids: list[str] = []
    for number in numbers if isinstance(numbers, list) else ():
        if isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= len(given):
            if given[number - 1] not in ids:
                ids.append(given[number - 1])
            if len(ids) == most:
                break
    return ids


def _the_object(text: str) -> str:
    """The text of the object, in one pass over the answer."""
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
    return number if abs(number) <= LARGEST_INTEGER else NO_VALUE


def _float(text: str) -> object:
    number = float(text)
    return number if math.isfinite(number) else NO_VALUE


# Not strict: a line break or a NUL inside a string costs at most that string.
_decoder = json.JSONDecoder(
    strict=False, parse_int=_integer, parse_float=_float, parse_constant=lambda name: NO_VALUE
)


def _parsed(text: str) -> dict[str, Any]:
    try:
        parsed = _decoder.decode(text)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise AnswerError(codes.ANSWER_NOT_JSON)
    return parsed
