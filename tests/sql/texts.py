"""Texts that tests write, and readers of what a render makes of them."""

from __future__ import annotations

import hashlib
import re
from xml.etree import ElementTree

FAMILY = "👩‍👩‍👧‍👦"
"""One picture on the screen, seven code points."""

UNITS = {
    "ascii": "x",
    "emoji": "😀",
    "zwj family": FAMILY,
    "cjk": "漢字",
    "combining marks": "e\u0301\u0323",
    "flags": "🇩🇪",
}
"""What long texts are made of: scripts in which bytes, code points and pictures differ."""

_NOT_IN_XML = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|$)")


def exactly(length: int, unit: str = "x") -> str:
    """A text of so many code points, made of the unit."""
    return (unit * (length // len(unit) + 1))[:length]


def sha256(text: str) -> str:
    """The hash that operations answer: of the UTF-8 bytes, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def as_xml_carries(text: str) -> str:
    """The text with U+FFFD for each character that XML 1.0 cannot carry."""
    return _NOT_IN_XML.sub("\ufffd", text)


def xml_blocks(text: str) -> list[tuple[str, str]]:
    """Key and text of each block of an XML render, as an XML parser reads them."""
    root = ElementTree.fromstring(f"<all>{text}</all>")
    assert not (root.text or ""), "text before the first block"
    between = [element.tail or "" for element in root]
    assert between == ["\n"] * (len(between) - 1) + [""] * bool(between)
    for element in root:
        assert (element.tag, list(element.attrib), len(element)) == ("working-memory", ["block"], 0)
    return [(element.attrib["block"], element.text or "") for element in root]


def markdown_blocks(text: str) -> list[tuple[str, str]]:
    """Heading and fenced text of each block of a Markdown render, by CommonMark's rules.

    Raises AssertionError where something else than heading, fence and blank lines stands outside.
    """
    lines = [line for line in _LINE.findall(text) if line]
    blocks: list[tuple[str, str]] = []
    while lines:
        line = lines.pop(0)
        if not line.strip():
            continue
        heading = re.fullmatch(r"## ?([^\r\n]*)\n", line)
        assert heading, f"not a heading: {line!r}"
        assert lines.pop(0) == "\n"
        fence = re.fullmatch(r"(`{3,})\n", lines.pop(0))
        assert fence, "no fence under the heading"
        closing = re.compile(rf" {{0,3}}`{{{len(fence[1])},}}[ \t]*[\r\n]*")
        inside: list[str] = []
        while not closing.fullmatch(lines[0]):
            inside.append(lines.pop(0))
        lines.pop(0)
        blocks.append((heading[1], "".join(inside).removesuffix("\n")))
    return blocks
