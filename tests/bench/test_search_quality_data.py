"""The questions of the quality set: each has its fact, and is what it says it is."""

from __future__ import annotations

import re
from collections import Counter

from bench.search_quality_data import FACTS, QUESTIONS, Question

# Words that say how a question is asked, not what about.
ASKING = frozenset(
    re.findall(
        r"\w+",
        """
        what which who how when why where are was were the for with and not they their them our us
        her his him she you this that there here from must may should has have had own get many
        long much does did will can""",
    )
)


def content(text: str, language: str) -> set[str]:
    """What of a text full text could find another by: the beginnings of words; of Japanese, pairs
    of characters other than those of grammar."""
    if language == "ja":
        pairs = (text[at : at + 2] for at in range(len(text) - 1))
        return {pair for pair in pairs if re.fullmatch(r"[\u30a0-\u30ff\u3400-\u9fff]{2}", pair)}
    words = re.findall(r"\w{3,}", text.lower())
    return {word[:5] for word in words if word not in ASKING}


def shared(question: Question) -> set[str]:
    fact = FACTS[question.expects]
    return content(question.query, question.language) & content(fact.value, fact.language)


def test_there_are_enough() -> None:
    assert len(FACTS) >= 60
    assert len(QUESTIONS) >= 60
    assert len({question.query for question in QUESTIONS}) == len(QUESTIONS)
    for counted in (FACTS.values(), QUESTIONS):
        languages = Counter(each.language for each in counted)
        assert min(languages["de"], languages["ja"]) >= 8
    reworded = sum(question.reworded for question in QUESTIONS)
    assert reworded >= len(QUESTIONS) / 2


def test_each_question_has_its_fact() -> None:
    for question in QUESTIONS:
        assert question.expects in FACTS, question.query


def test_a_reworded_question_shares_no_word_with_its_fact() -> None:
    for question in QUESTIONS:
        if question.reworded:
            assert shared(question) == set(), question.query


def test_the_others_share_one() -> None:
    for question in QUESTIONS:
        if not question.reworded:
            assert shared(question), question.query
