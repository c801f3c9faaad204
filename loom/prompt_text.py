"""How data stands in a prompt, so that nothing in it can be taken for anything else."""

from __future__ import annotations

import json
from typing import Final

# What could end a line or a tag, or turn the order of what is displayed, is written as JSON
# escapes; so is half a surrogate pair, which has no UTF-8 form.
_ESCAPED: Final = {
    number: f"\\u{number:04x}"
    for first, last in (
        ("<", "<"),
        (">", ">"),
        ("\x7f", "\x9f"),
        ("\u2028", "\u202e"),
        ("\u2066", "\u2069"),
        ("\ud800", "\udfff"),
        ("\ufeff", "\ufeff"),
    )
    for number in range(ord(first), ord(last) + 1)
}


def data_line(value: object) -> str:
    """JSON on one line that nothing inside it can end. What is escaped can only stand in a string:
    JSON's own signs are none of it."""
    return json.dumps(value, ensure_ascii=False).translate(_ESCAPED)
