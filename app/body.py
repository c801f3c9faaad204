"""What is wrong with a body that Postgres could not take as JSON.

Runs only after a refusal, on anything a caller may send: one pass, no recursion, no decoding of
numbers. The body is judged as a whole before its texts are: what is not JSON is INVALID_REQUEST,
whatever characters it holds.
"""

from __future__ import annotations

import re
from typing import Final

from loom.app.errors import INVALID_REQUEST, INVALID_TEXT, Refusal

DEEPEST: Final = 64
LONGEST_PATH: Final = 300

# What Postgres' numeric can hold: digits before and after the decimal point.
_WHOLE_DIGITS: Final = 131_072
_FRACTION_DIGITS: Final = 16_383
# An exponent written longer than this is out of range, whatever it says.
_EXPONENT_LENGTH: Final = 10

_SPACE: Final = re.compile(r"[ \t\n\r]*+")
_STRING: Final = re.compile(
    r'"([^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+)"'
)
_NUMBER: Final = re.compile(r"(-?(?:0|[1-9][0-9]*+))(?:\.([0-9]++))?(?:[eE]([+-]?[0-9]++))?")
_WORD: Final = re.compile(r"true|false|null")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)")
_PLAIN_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+")


class _NotJson(Exception):
    """`at` is the position of the first character that does not belong there."""

    def __init__(self, at: int, reason: str = "is not valid JSON") -> None:
        super().__init__(reason)
        self.at = at
        self.reason = reason


def examine(body: bytes) -> Refusal | None:
    """The refusal `body` deserves, or None if nothing is wrong with it as JSON for Postgres."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        return _invalid(f"is not UTF-8 (byte {error.start})")
    scan = _Scan(text)
    try:
        scan.run()
    except _NotJson as error:
        return _invalid(f"{error.reason} (character {error.at})")
    if not text.lstrip(" \t\n\r").startswith("{"):
        return _invalid("must be a JSON object")
    if scan.bad_text is not None:
        hint = "Leave out U+0000 and unpaired surrogates."
        return Refusal(INVALID_TEXT, {"path": scan.bad_text, "hint": hint})
    if scan.bad_number is not None:
        fields = {"field": scan.bad_number, "reason": "is a number out of range"}
        return Refusal(INVALID_REQUEST, fields)
    return None


def _invalid(reason: str) -> Refusal:
    hint = "Send one flat JSON object in UTF-8."
    return Refusal(INVALID_REQUEST, {"field": None, "reason": reason, "hint": hint})


class _Scan:
    """One pass over a JSON text. `bad_text` and `bad_number` are paths of the first of each."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.bad_text: str | None = None
        self.bad_number: str | None = None
        # One entry for each open container: the current key, as it is written, or index.
        self.open: list[str | int] = []

    def run(self) -> None:
        """Read the whole text. Raises `_NotJson`."""
        self._space()
        value_comes = True
        while value_comes or self.open:
            value_comes = self._value() if value_comes else self._after_value()
        self._space()
        if self.at != len(self.text):
            raise _NotJson(self.at)

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _space(self) -> None:
        found = _SPACE.match(self.text, self.at)
        if found is not None:
            self.at = found.end()

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str]:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise _NotJson(self.at)
        self.at = found.end()
        return found

    def _value(self) -> bool:
        """Read a scalar or a container's beginning. Returns whether a value comes next."""
        start = self._peek()
        if start == "{":
            return self._begin("}", "")
        if start == "[":
            return self._begin("]", 0)
        if start == '"':
            self._check_text(self._take(_STRING)[1])
        elif start.isalpha():
            self._take(_WORD)
        else:
            self._check_number(self._take(_NUMBER))
        return False

    def _begin(self, end: str, place: str | int) -> bool:
        if len(self.open) == DEEPEST:
            raise _NotJson(self.at, f"is nested deeper than {DEEPEST}")
        self.at += 1
        self._space()
        if self._peek() == end:
            self.at += 1
            return False
        self.open.append(place)
        if end == "}":
            self._key()
        return True

    def _after_value(self) -> bool:
        """Inside a container: its end, or a comma (and a key). Returns whether a value comes."""
        self._space()
        here = self.open[-1]
        mark = self._peek()
        if mark not in (",", "]" if isinstance(here, int) else "}") or not mark:
            raise _NotJson(self.at)
        self.at += 1
        if mark != ",":
            self.open.pop()
            return False
        self._space()
        if isinstance(here, int):
            self.open[-1] = here + 1
        else:
            self._key()
        return True

    def _key(self) -> None:
        key = self._take(_STRING)[1]
        self.open[-1] = key
        self._check_text(key)
        self._space()
        if self._peek() != ":":
            raise _NotJson(self.at)
        self.at += 1
        self._space()

    def _check_text(self, raw: str) -> None:
        if self.bad_text is None and "\\u" in raw and not _storable(raw):
            self.bad_text = self._path()

    def _check_number(self, found: re.Match[str]) -> None:
        if self.bad_number is not None:
            return
        whole, fraction, exponent = found[1].lstrip("-"), found[2] or "", found[3] or "0"
        if len(exponent) > _EXPONENT_LENGTH:
            self.bad_number = self._path()
            return
        shift = int(exponent)
        digits = (whole + fraction).lstrip("0")
        size = len(digits) - len(fraction) + shift if digits else 0
        if size > _WHOLE_DIGITS or len(fraction) - shift > _FRACTION_DIGITS:
            self.bad_number = self._path()

    def _path(self) -> str:
        path = "$"
        for place in self.open:
            if isinstance(place, int):
                path += f"[{place}]"
            elif _PLAIN_KEY.fullmatch(place):
                path += f".{place}"
            else:
                path += f'["{place}"]'
            if len(path) > LONGEST_PATH:
                return path[:LONGEST_PATH] + "…"
        return path


def _storable(raw: str) -> bool:
    """Whether a JSON string, as it is written, holds neither U+0000 nor half a surrogate pair."""
    high_ends = -1  # where a high surrogate ended that still wants its low one
    for escape in _ESCAPE.finditer(raw):
        unit = int(escape[1], 16) if escape[1] else -1
        follows = escape.start() == high_ends
        if (0xDC00 <= unit <= 0xDFFF) != follows or (high_ends >= 0 and not follows) or unit == 0:
            return False
        high_ends = escape.end() if 0xD800 <= unit <= 0xDBFF else -1
    return high_ends < 0
