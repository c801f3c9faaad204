"""Canonical JSON (RFC 8785) written anew in Python, to hold the database's to it.

Numbers are told as the int or Decimal that a JSON text writes; a decimal counts as the double
nearest to it, an integer must be one that a double holds or that a double prints as.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}


class NotADouble(ValueError):
    """A number that no double stands for; its argument is the path."""


def parse(text: str) -> Any:
    """A JSON text as Python values that keep numbers exact."""
    return json.loads(text, parse_float=Decimal)


def canonical(value: Any, path: str = "$.value") -> str:
    """The canonical text of a value. Raises NotADouble with the path of a number it cannot hold."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int | float | Decimal):
        return number(value, path)
    if isinstance(value, list):
        parts = [canonical(item, f"{path}[{place}]") for place, item in enumerate(value)]
        return f"[{','.join(parts)}]"
    assert isinstance(value, dict)
    names = sorted(value, key=lambda name: name.encode("utf-16-be"))
    members = [_string(name) + ":" + canonical(value[name], f"{path}.{name}") for name in names]
    return f"{{{','.join(members)}}}"


def number(value: int | float | Decimal, path: str = "$.value") -> str:
    """A number as ECMAScript's `Number.prototype.toString` prints the double it stands for."""
    double = _double(value)
    if double is None:
        raise NotADouble(path)
    if double == 0:
        return "0"
    sign, tuple_of_digits, exponent = Decimal(repr(double)).normalize().as_tuple()
    assert isinstance(exponent, int)
    digits = "".join(map(str, tuple_of_digits))
    point = len(digits) + exponent  # where the point stands, counted from the first digit
    return "-" * sign + _laid_out(digits, point)


def _laid_out(digits: str, point: int) -> str:
    if len(digits) <= point <= 21:
        return digits.ljust(point, "0")
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{point - 1:+d}"


def _double(value: int | float | Decimal) -> float | None:
    """The double a number stands for, or None."""
    if isinstance(value, float):
        return value
    whole = value == value.to_integral_value() if isinstance(value, Decimal) else True
    try:
        # By way of text, since only that reads a decimal of any length as the nearest double.
        double = float(str(value))
    except OverflowError:
        return None
    if double in (float("inf"), float("-inf")):
        return None
    if whole and double not in (value, 0) and Decimal(repr(double)) != value:
        return None
    return double


def _string(text: str) -> str:
    escaped = (
        _ESCAPES.get(char) or (f"\\u{ord(char):04x}" if char < " " else char) for char in text
    )
    return f'"{"".join(escaped)}"'
