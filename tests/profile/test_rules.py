"""The rules in Python and in the database: both tell what the messages' data says, and the same of
any other text."""

from __future__ import annotations

import asyncio
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loom.profile import ProfileDelta, RuleProfileSource
from loom.profile.model import wire_of
from loom.profile.reference import headers, rules
from loom.profile.rules import judge
from tests.calls import Answer, Connection, operate
from tests.profile.messages import Case, cases

CASES = {case.name: case for case in cases()}

LANGUAGES = {"en", "de", "ru", "fr", "es", "ja", "zh"}


def in_sql(conn: Connection, own: list[str]) -> Answer:
    """What the database's rules tell of a user's own messages."""
    row = conn.execute("select loom._user_profile_rules(%s)", (own,)).fetchone()
    assert row is not None
    return _plain(row[0])


def _plain(delta: Answer) -> Answer:
    """A delta without what says nothing."""
    parts = {
        name: {key: word for key, word in (delta.get(name) or {}).items() if word}
        for name in ("traits", "preferences")
    }
    ops = [(op["op"], op["key"], op["value"]) for op in delta.get("fact_ops") or []]
    return {**parts, "fact_ops": ops}


def test_the_data_has_eighty_messages_in_seven_languages() -> None:
    assert len(CASES) == len(cases()) >= 80
    assert {case.language for case in CASES.values()} - {None} == LANGUAGES


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_messages_tell_in_python_what_the_data_says(case: Case) -> None:
    delta = asyncio.run(RuleProfileSource().extract("u1", case.as_python))
    assert delta.preferences.get("language") == case.language
    assert delta.traits == case.traits
    facts = {op.key: op.value for op in delta.fact_ops}
    assert facts == case.facts


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_messages_tell_in_sql_what_the_data_says(db: Connection, case: Case) -> None:
    place = {"org": "acme", "namespace": "main", "user_id": "u1"}
    profile = operate(db, "user_profile.update", **place, signals=case.signals)["profile"]
    assert profile["preferences"]["language"] == case.language
    told = {name: word for name, word in profile["traits"].items() if word is not None}
    assert told == case.traits
    assert {fact["key"]: fact["value"] for fact in profile["facts"]} == case.facts


_WORDS = st.sampled_from(
    [
        *("I'm a", "I am a", "I’m an", "I work as a", "I write", "I use", "I also use", "Call me"),
        *("my name is", "My name's", "my time zone is", "if", "don't", "never", "and", ", ", ". "),
        *("Python", "C++", "C", ".NET", "Node.js", "developer", "senior", "data engineer", "of"),
        *(
            "Sam",
            "O'Brien",
            "Élodie",
            "sam",
            "Europe/Berlin",
            "UTC+2",
            "CET",
            "\n",
            "> ",
            "`",
            "```",
        ),
        *('"', "“", "”", "«", "»", "привет", "ОК", "здравствуйте", "the", "hey", "der", "yo"),
        *("la", "```"),
        *("日本", "かな", "é", "e\u0301", "ß", "_", "👩‍👩‍👧", "\t", "/", "I", "i", "a", "'", "-"),
    ]
)
_TEXTS = st.lists(st.lists(_WORDS, max_size=14).map(" ".join), min_size=1, max_size=3)


@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(own=_TEXTS)
def test_both_tell_the_same_of_any_text(db: Connection, own: list[str]) -> None:
    assert in_sql(db, own) == _plain(wire_of(judge(own)))


@pytest.mark.parametrize("mark", ["“", "„", "«", "„“", "“„", '"«'])
def test_marks_that_are_never_closed_are_read_in_one_pass(db: Connection, mark: str) -> None:
    own = [f"{mark * (20_000 // len(mark))}\nCall me Sam. “Call me Max.”"]
    assert in_sql(db, own) == _plain(wire_of(judge(own)))
    assert ("name", "Sam") in [(op.key, op.value) for op in judge(own).fact_ops]


def test_without_own_words_nothing_is_told() -> None:
    assert judge([]) == ProfileDelta()
    assert judge([" \n", "```\ncode\n```"]) == ProfileDelta()


def test_python_reads_the_words_patterns_and_headers_of_the_database(db: Connection) -> None:
    rows = db.execute("select kind, language, word from loom.profile_word").fetchall()
    in_python = {
        (kind, language, word)
        for (kind, language), words in rules().words.items()
        for word in words
    }
    assert set(rows) == in_python
    keys = db.execute("select fact_key from loom.profile_pattern order by place").fetchall()
    assert [key for (key,) in keys] == [key for key, _ in rules().patterns]
    shown = db.execute("select section, language, header from loom.section_header").fetchall()
    assert {(section, language): header for section, language, header in shown} == headers()
    assert {language for _, language in headers()} == LANGUAGES


def test_no_pattern_looks_back_for_more_than_a_character() -> None:
    # Of a whole word looked back for, PostgreSQL begins at the start of the text for every match: a
    # few long messages of "I use c, I use c, ..." then take minutes, behind the user's lock.
    for key, pattern in rules().patterns:
        looks_back = re.findall(r"\(\?<[!=](\[[^]]*\]|.)(.)", pattern.pattern)
        assert [end for _, end in looks_back] == [")"] * len(looks_back), key
        assert pattern.groups == 2, key
