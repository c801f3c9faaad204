"""`docs/operations.md` read back, as a reader takes it in."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_HEADING = re.compile(r"^## ", re.MULTILINE)
_CALLED = re.compile(r"`POST (\S+)` · least role (\w+) · (read|write)s")
_ROW = re.compile(r"^\| `([\w.\[\]]+)`( [*?])? \| ([^|]*) \|", re.MULTILINE)
_CODE = re.compile(r"`(\w+)`")


@dataclass
class Told:
    """What the page tells of one operation. Fields are those at the top of request and answer."""

    path: str
    role: str
    mode: str
    identity: set[str] = field(default_factory=set)
    request: dict[str, str] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    answer: set[str] = field(default_factory=set)
    always: set[str] = field(default_factory=set)
    errors: set[str] = field(default_factory=set)


def operations(text: str) -> dict[str, Told]:
    """The operations of a page, by name."""
    told = {}
    for section in _HEADING.split(text):
        called = _CALLED.search(section)
        if called:
            path, role, mode = called.groups()
            told[section.partition("\n")[0]] = _read(Told(path, role, mode), section)
    return told


def _read(told: Told, section: str) -> Told:
    request, _, answer = section.partition("| Answer |")
    for line in section.splitlines():
        if line.startswith("Identity: "):
            told.identity = set(_CODE.findall(line))
        elif line.startswith("The answer names the identity "):
            told.answer |= set(_CODE.findall(line))
            told.always |= set(_CODE.findall(line))
        elif line.startswith("Errors: "):
            told.errors = set(re.findall(r"\[`([A-Z_]+)`\]", line))
    for name, mark, kind in _top(request):
        told.request[name] = kind
        if mark == " *":
            told.required.add(name)
    for name, mark, _kind in _top(answer):
        told.answer.add(name)
        if mark != " ?":
            told.always.add(name)
    return told


def _top(rows: str) -> list[tuple[str, str, str]]:
    """The rows of a table that are not about what is inside another field."""
    return [row for row in _ROW.findall(rows) if row[0].isidentifier()]
