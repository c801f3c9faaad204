"""The SQL functions as text: what each may raise, itself or through what it calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from loom.sql_tree import SqlTree

_RAISE = re.compile(r"raise exception using errcode = '(LM\d{3})'(.*?);\n", re.DOTALL)
_DETAIL = re.compile(r"detail = jsonb_build_object\(")
_CALL = re.compile(r"\bloom\.(\w+)\s*\(")


@cache
def bodies() -> dict[str, str]:
    """The text of each function, without line comments and without its own comment."""
    texts = {}
    for script in SqlTree.read().all_functions:
        made = re.split(r"^comment on function", script.text, flags=re.MULTILINE)[0]
        texts[script.name] = re.sub(r"--[^\n]*", "", made)
    return texts


def may_raise(function: str) -> frozenset[str]:
    """The SQLSTATEs that a function can raise, if every path through what it calls is taken."""
    seen: set[str] = set()
    waiting = [function]
    while waiting:
        name = waiting.pop()
        if name not in seen and name in bodies():
            seen.add(name)
            called = _CALL.findall(bodies()[name])
            # It carries out operations of others; what these raise is theirs to list.
            waiting += [each for each in called if name != "_run" or each.startswith("_")]
    return frozenset(
        sqlstate for name in seen for sqlstate, _rest in _RAISE.findall(bodies()[name])
    )


def raised_fields() -> Iterator[tuple[str, str, frozenset[str]]]:
    """Function, SQLSTATE and the names of the fields in DETAIL, for every raise."""
    for function, text in bodies().items():
        for sqlstate, rest in _RAISE.findall(text):
            start = _DETAIL.search(rest)
            arguments = split_arguments(rest[start.end() :]) if start else []
            names = (each.strip() for each in arguments[::2])
            yield function, sqlstate, frozenset(name.strip("'") for name in names if name)


def split_arguments(text: str) -> list[str]:
    """The arguments of a call, from behind its opening parenthesis."""
    found = [""]
    depth = 0
    quoted = False
    for sign in text:
        if sign == "'":
            quoted = not quoted
        elif not quoted:
            depth += (sign in "([") - (sign in ")]")
            if depth < 0:
                break
            if sign == "," and depth == 0:
                found.append("")
                continue
        found[-1] += sign
    return found
