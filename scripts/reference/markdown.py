"""The few pieces of Markdown that the pages are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

# What is in code marks already, or else a name such as block_key, loom.call or token.mint.
_NAME = re.compile(r"`[^`]*`|\b[a-z][a-z0-9]*(?:[_.][a-z][a-z0-9]*)+\b")
_SIGN = re.compile(r"`[^`]*`|[*<]")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table, as lines; an empty line follows it."""
    yield _row(head)
    yield _row(["---"] * len(head))
    for row in rows:
        yield _row(row)
    yield ""


def code(text: object) -> str:
    """Text as code."""
    return f"`{text}`"


def codes(names: Iterable[str]) -> str:
    """Several names as code, with commas between."""
    return ", ".join(map(code, names))


def link(text: str, page: str = "") -> str:
    """A link to the heading of this text on a page, or on the same one; its text is code."""
    return f"[{code(text)}]({page}#{_anchor(text)})"


def prose(text: str) -> str:
    """Plain text of the product: its names become code, its signs stay what they are."""
    marked = _NAME.sub(lambda match: code(match[0].strip("`")), text)
    return _SIGN.sub(lambda match: match[0] if len(match[0]) > 1 else "\\" + match[0], marked)


def _anchor(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _row(cells: Sequence[str]) -> str:
    shown = (" ".join(cell.split()).replace("|", "\\|") for cell in cells)
    return "| " + " | ".join(shown) + " |"
