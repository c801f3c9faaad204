"""profile.append: text at the end of a section, inside the database."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import operate, refused
from tests.databases import Clock
from tests.sql.facts import LABEL, NOON, changes, fact, hash_of, section, value_of
from tests.sql.texts import exactly

Connection = psycopg.Connection[Any]


def test_o20_each_append_adds_to_what_is_there(db: Connection) -> None:
    section(db, "set", value="one", char_limit=100)
    receipt = section(db, "append", addition="two")
    assert value_of(db, memory_key=LABEL) == "one\ntwo"
    assert (receipt["version"], receipt["char_limit"], receipt["created"]) == (2, 100, False)
    assert receipt["content_sha256"] == hash_of("one\ntwo")
    assert receipt["value_length"] == len('"one\\ntwo"')
    section(db, "append", addition="three", separator=" & ")
    section(db, "append", addition="", separator="")
    assert value_of(db, memory_key=LABEL) == "one\ntwo & three"


def test_an_append_of_nothing_is_a_restatement(db: Connection) -> None:
    section(db, "set", value="one")
    assert section(db, "append", addition="", separator="")["noop"] is True
    assert changes(db, memory_key=LABEL) == ["set"]


def test_a_missing_section_is_made_without_separator(db: Connection) -> None:
    receipt = section(db, "append", addition="first", separator="---")
    assert (receipt["created"], receipt["version"], receipt["char_limit"]) == (True, 1, 8192)
    assert value_of(db, memory_key=LABEL) == "first"
    assert fact(db, "get", memory_key=LABEL)["memory_type"] == "profile"
    assert changes(db, memory_key=LABEL) == ["append"]


@pytest.mark.parametrize("how", ["deleted", "expired", "redacted"])
def test_a_section_that_ended_is_made_anew(db: Connection, clock: Clock, how: str) -> None:
    clock.set(NOON)
    fact(db, "set", memory_key=LABEL, value="old", memory_type="profile", ttl_seconds=60)
    if how == "deleted":
        section(db, "delete")
    if how == "redacted":
        fact(db, "redact", memory_key=LABEL, reason="r")
    clock.advance(seconds=61)
    receipt = section(db, "append", addition="new")
    assert receipt["created"] is True
    assert value_of(db, memory_key=LABEL) == "new"


@pytest.mark.parametrize("value", [None, 1, True, [], ["text"], {}, {"a": "text"}])
def test_only_text_is_appended_to(db: Connection, value: Any) -> None:
    section(db, "set", value=value)
    with refused(db, "LM404") as refusal:
        section(db, "append", addition="x")
    assert refusal.detail == {}
    assert refusal.hint
    assert fact(db, "get", memory_key=LABEL)["value"] == value


def test_o18_an_append_can_depend_on_the_current_hash(db: Connection) -> None:
    first = section(db, "set", value="one")
    section(db, "append", addition="two", if_match_sha256=first["content_sha256"])
    with refused(db, "LM201") as refusal:
        section(db, "append", addition="three", if_match_sha256=first["content_sha256"])
    assert refusal.detail == {"current_sha256": hash_of("one\ntwo"), "current_version": 2}
    with refused(db, "LM201") as refusal:
        section(db, "append", label="none", addition="x", if_match_sha256=hash_of(""))
    assert refusal.detail == {"current_sha256": None, "current_version": None}
    assert fact(db, "get", memory_key="none")["found"] is False


def test_o1_o4_an_append_over_the_limit_is_refused_with_its_numbers(db: Connection) -> None:
    section(db, "set", value=exactly(10), char_limit=20)
    with refused(db, "LM402") as refusal:
        section(db, "append", addition="\n" * 5)
    # Ten letters, the separator and five newlines, which are two characters each, and the quotes.
    assert refusal.detail == {"value_length": 24, "char_limit": 20, "overage": 4}
    assert value_of(db, memory_key=LABEL) == exactly(10)
    assert section(db, "append", addition="\n" * 3)["fill_ratio"] == 1


def test_an_append_keeps_what_was_said_about_the_section_but_its_dates(db: Connection) -> None:
    about = {"tags": ["t"], "confidence": 0.5, "sensitivity": "high", "source_trace": "c:1"}
    dates = {"valid_at": "2026-01-01T00:00:00Z", "valid_to": "2027-01-01T00:00:00Z"}
    fact(db, "set", memory_key=LABEL, value="x", memory_type="profile", **about, **dates)
    section(db, "append", addition="y")
    got = fact(db, "get", memory_key=LABEL)
    assert {name: got[name] for name in about} == about
    assert (got["valid_at"], got["valid_to"]) == (None, None)


def test_a_fact_of_that_key_becomes_the_section_and_loses_nothing(db: Connection) -> None:
    fact(db, "set", memory_key=LABEL, value="fact")
    section(db, "append", addition="more")
    got = fact(db, "get", memory_key=LABEL)
    assert (got["value"], got["memory_type"]) == ("fact\nmore", "profile")


@pytest.mark.parametrize("text", ["\r\n", "\u2028", "'", "\\n", "%s", "$1", "&amp;", "\x01"])
def test_text_is_added_as_it_is(db: Connection, text: str) -> None:
    section(db, "set", value=text)
    section(db, "append", addition=text, separator=text)
    assert value_of(db, memory_key=LABEL) == text * 3


@pytest.mark.parametrize(
    ("field", "wrong"), [("addition", None), ("addition", 1), ("separator", 1)]
)
def test_addition_and_separator_are_texts(db: Connection, field: str, wrong: Any) -> None:
    with refused(db, "LM001") as refusal:
        section(db, "append", **{"addition": "x", field: wrong})
    assert refusal.detail["field"] == field


def test_a_blacklisted_result_is_refused_though_its_parts_are_not(db: Connection) -> None:
    operate(db, "blacklist.add", org="acme", namespace="main", pattern="pineapple")
    section(db, "set", value="pine")
    with refused(db, "LM407"):
        section(db, "append", addition="apple", separator="")
    section(db, "append", addition="apple")
