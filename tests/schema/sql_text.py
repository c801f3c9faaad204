"""Looking at SQL text without reading its comments and strings as code."""

from __future__ import annotations

import re
from collections.abc import Iterator

_NOISE = re.compile(
    r"--[^\n]*"  # comment to the end of the line
    r"|/\*.*?\*/"  # block comment
    r"|\b[eE]'(?:[^'\\]|\\.|'')*'"  # string with escapes
    r"|'(?:[^']|'')*'",  # string
    re.DOTALL,
)


def without_comments(text: str) -> str:
    """The text with comments blanked out; strings stay, lines keep their numbers."""
    return _NOISE.sub(lambda match: match[0] if "'" in match[0][:2] else _blank(match[0]), text)


def code_of(text: str) -> str:
    """The text with comments blanked out and every string emptied; lines keep their numbers.

    Bodies between dollar quotes are code.
    """
    return _NOISE.sub(lambda match: _blank(match[0]), text)


def statements_of(code: str) -> list[str]:
    """The pieces between semicolons."""
    return code.split(";")


def arguments_of(code: str, function: str) -> Iterator[list[str]]:
    """The arguments of every call of a function, split at the commas of its own level."""
    for call in re.finditer(rf"\b{function}\s*\(", code):
        depth, start, found = 1, call.end(), []
        for position in range(call.end(), len(code)):
            character = code[position]
            depth += (character in "([") - (character in ")]")
            if depth == 0 or (depth == 1 and character == ","):
                found.append(code[start:position].strip())
                start = position + 1
            if depth == 0:
                break
        yield found


def _blank(text: str) -> str:
    kept = "''" if text.endswith("'") else " "
    return kept + "\n" * text.count("\n")
