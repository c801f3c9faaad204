"""The words, patterns and headers that profiles go by, read from the files that the database's are
made from, so that both judge alike."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_WORDS = re.compile(r"\('(\w+)', '(\w+)', '([^']*)'\)")
_PATTERN = re.compile(r"\(\d+, '(\w+)', '[^']*', \$\$(.*?)\$\$\)")
_HEADER = re.compile(r"\('(\w+)', '(\w+)', '((?:[^']|'')*)'\)")


@dataclass(frozen=True)
class Rules:
    """Words by kind and language, and patterns with the fact each of them tells."""

    words: Mapping[tuple[str, str], frozenset[str]]
    patterns: tuple[tuple[str, re.Pattern[str]], ...]

    def of_kind(self, kind: str) -> Mapping[str, frozenset[str]]:
        """Words of a kind by language."""
        return {language: words for (each, language), words in self.words.items() if each == kind}


@cache
def rules() -> Rules:
    """What rules judge by."""
    text = _data("profile_rules.sql")
    words = {
        (kind, language): frozenset(listed.split())
        for kind, language, listed in _WORDS.findall(text)
    }
    named = {f"{{{kind}}}": _any_of(words[kind, "en"]) for kind in ("role", "technology")}
    patterns = ((key, _compiled(each, named)) for key, each in _PATTERN.findall(text))
    return Rules(words, tuple(patterns))


@cache
def headers() -> Mapping[tuple[str, str], str]:
    """Section and language to header."""
    found = _HEADER.findall(_data("section_headers.sql"))
    return {(section, language): header.replace("''", "'") for section, language, header in found}


def _data(name: str) -> str:
    return (files("loom.sql") / "data" / name).read_text(encoding="utf-8")


def _any_of(words: frozenset[str]) -> str:
    # The longest first, so that no word hides one that begins with it.
    return f"(?:{'|'.join(map(re.escape, sorted(words, key=lambda word: (-len(word), word))))})"


def _compiled(pattern: str, named: Mapping[str, str]) -> re.Pattern[str]:
    for name, alternation in named.items():
        pattern = pattern.replace(name, alternation)
    return re.compile(pattern, re.IGNORECASE)
