"""Rules that judge by what a user writes, and how; no model is called.

In Python what ``loom._user_profile_rules`` is in the database, by the same words and patterns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from loom.profile.model import FactOp, ProfileDelta, Signal, own_texts
from loom.profile.reference import rules

_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_INLINE = re.compile(r"`[^`\n]*`")
_QUOTED_LINE = re.compile(r"(^|\n)[ \t]*>[^\n]*")
# U+001F is what the database puts between messages.
_LINE_END = re.compile(r"([\n\x1f])")
_OPENING = re.compile('["“«„]')
_CLOSING = {
    '"': re.compile('"'),
    "“": re.compile("”"),
    "«": re.compile("»"),
    "„": re.compile("[“”]"),
}
_WORD_ENDS = re.compile(r"(?:(?![\u0300-\u036f])[\W_])+")
_KANA = re.compile(r"[\u3041-\u30ff]")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_CYRILLIC = re.compile(r"[а-яё]")
_NOT_RUSSIAN = re.compile(r"[іїєґўІЇЄҐЎ]")
_ENUMERATION = re.compile(r", and |, | and | & |/", re.IGNORECASE)
_SPACE = re.compile(r"[ \t\r\n]+")


class RuleProfileSource:
    """Verbosity by length, language by script and common words, formality by markers, and facts
    that are told in English in the first person."""

    name = "rules"

    async def extract(self, user_id: str, signals: Sequence[Signal]) -> ProfileDelta:
        """What the user's own signals tell."""
        return judge(own_texts(signals))


def judge(own: Sequence[str]) -> ProfileDelta:
    """What rules tell by a user's own messages."""
    texts = [text for text in map(prose, own) if text]
    if not texts:
        return ProfileDelta()
    whole = "\n".join(texts)
    words = words_of(whole)
    language = _language(whole, words)
    traits = {"verbosity": _verbosity(texts), "formality": _formality(words, language)}
    return ProfileDelta(
        fact_ops=_facts(texts),
        traits={name: word for name, word in traits.items() if word},
        preferences={"language": language} if language else {},
        source=RuleProfileSource.name,
    )


def prose(text: str) -> str:
    """Of a message the user's own prose: without code and without quoted lines."""
    without_code = _INLINE.sub(" ", _FENCED.sub(" ", text))
    return _QUOTED_LINE.sub(r"\1", without_code).strip(" \t\r\n")


def words_of(text: str) -> list[str]:
    """The words of a text in lower case."""
    return [word for word in _WORD_ENDS.split(text.lower()) if word]


def _verbosity(texts: Sequence[str]) -> str:
    length = sum(map(len, texts))
    if length < 40 * len(texts):
        return "concise"
    return "balanced" if length < 160 * len(texts) else "detailed"


def _language(text: str, words: Sequence[str]) -> str:
    # One scale for all: a common word, a word in Cyrillic letters, two characters of Chinese or
    # Japanese. Counted in halves.
    points: Counter[str] = Counter()
    for language, common in rules().of_kind("common").items():
        points[language] = 2 * sum(word in common for word in words)
    if not _NOT_RUSSIAN.search(text):
        points["ru"] = 2 * sum(bool(_CYRILLIC.search(word)) for word in words)
    kana, han = len(_KANA.findall(text)), len(_HAN.findall(text))
    points["ja" if kana else "zh"] = kana + han
    (first, most), (_, second) = points.most_common(2)
    return first if most > second else ""


def _formality(words: Sequence[str], language: str) -> str:
    said = set(words)
    casual, formal = (len(said & _marks(kind, language)) for kind in ("casual", "formal"))
    if casual == formal:
        return ""
    return "casual" if casual > formal else "formal"


def _marks(kind: str, language: str) -> frozenset[str]:
    # Of the language that is spoken: what is casual in one is a plain word of another.
    by_language = rules().of_kind(kind)
    if language:
        return by_language.get(language, frozenset())
    return frozenset().union(*by_language.values())


def _facts(texts: Sequence[str]) -> list[FactOp]:
    spoken = ["".join(map(_without_speech, _LINE_END.split(text))) for text in texts]
    ops = []
    for key, pattern in rules().patterns:
        found = [
            _SPACE.sub(" ", match[2].strip(" \t\r\n"))
            for text in spoken
            for match in pattern.finditer(text)
            if not match[1]
        ]
        if key == "tech_stack":
            value = _technologies(found)
        elif key == "name":
            value = _name(found)
        else:
            value = found[-1] if found else ""
        if value:
            ops.append(FactOp("add", key, value))
    return ops


def _without_speech(line: str) -> str:
    """A line without what stands in quotation marks: somebody else may have said it. One pass: one
    expression for all would read the rest of the line for each mark that is never closed."""
    kept: list[str] = []
    at = 0
    unclosed: set[str] = set()
    for opening in _OPENING.finditer(line):
        mark = opening[0]
        if opening.start() < at or mark in unclosed:
            continue
        closing = _CLOSING[mark].search(line, opening.end())
        if closing is None:
            unclosed.add(mark)
            continue
        kept += (line[at : opening.start()], " ")
        at = closing.end()
    return "".join([*kept, line[at:]])


def _technologies(found: Sequence[str]) -> str:
    named: dict[str, str] = {}
    for technology in _ENUMERATION.split(", ".join(found)):
        if technology:
            named.setdefault(technology.lower(), technology)
    return ", ".join(named.values())


def _name(found: Sequence[str]) -> str:
    no_name = rules().words["no_name", "en"]
    for words in reversed(found):
        capitals = []
        for word in words.split(" "):
            if not word[:1].isupper():
                break
            capitals.append(word)
        name = " ".join(capitals)
        if name and no_name.isdisjoint(words_of(name)):
            return name
    return ""
