"""profile.replace: new text for every occurrence of old text in a section."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import refused
from tests.databases import Clock
from tests.sql.facts import LABEL, NOON, changes, each, fact, hash_of, section, value_of
from tests.sql.texts import exactly

Connection = psycopg.Connection[Any]


def text(db: Connection) -> Any:
    return value_of(db, memory_key=LABEL)


def test_every_occurrence_is_replaced_and_counted(db: Connection) -> None:
    first = section(db, "set", value="a b a", char_limit=50)
    receipt = section(db, "replace", old="a", new="c")
    assert receipt == {
        **first,
        "version": 2,
        "version_text": "2",
        "created": False,
        "content_sha256": hash_of("c b c"),
        "replacements": 2,
        "updated_at": receipt["updated_at"],
    }
    assert text(db) == "c b c"
    assert changes(db, memory_key=LABEL) == ["set", "replace"]


@pytest.mark.parametrize(
    ("before", "old", "new", "after", "count"),
    [
        ("aaaa", "aa", "b", "bb", 2),
        ("aaa", "aa", "b", "ba", 1),
        ("one\ntwo\nthree", "one\ntwo", "1", "1\nthree", 1),
        ("a", "a", "", "", 1),
        ("a\r\nb", "\r\n", "\n", "a\nb", 1),
        ("😀e\u0301😀", "😀", "👩‍👩‍👧", "👩‍👩‍👧e\u0301👩‍👩‍👧", 2),
        ("a.b", ".", "\\1", "a\\1b", 1),
        ("a%b_c", "%b_", "'", "a'c", 1),
        (" x ", " ", "", "x", 2),
    ],
)
def test_o10_text_is_plain_and_replaced_from_left_to_right(
    db: Connection, before: str, old: str, new: str, after: str, count: int
) -> None:
    section(db, "set", value=before)
    assert section(db, "replace", old=old, new=new)["replacements"] == count
    assert text(db) == after


def test_a_replacement_by_the_same_is_a_restatement(db: Connection) -> None:
    section(db, "set", value="a")
    receipt = section(db, "replace", old="a", new="a")
    assert (receipt["noop"], receipt["replacements"], receipt["version"]) == (True, 1, 1)


def test_text_that_does_not_stand_there_is_told(db: Connection) -> None:
    section(db, "set", value="Ada lives here")
    for old in ("ada", "lives  here", "here\n", "é"):
        with refused(db, "LM403") as refusal:
            section(db, "replace", old=old, new="x")
        assert refusal.hint


@pytest.mark.parametrize("expected", [1, 3])
def test_another_count_than_expected_is_refused_with_the_count(
    db: Connection, expected: int
) -> None:
    section(db, "set", value="a b a")
    with refused(db, "LM203") as refusal:
        section(db, "replace", old="a", new="c", expected_count=expected)
    assert refusal.detail == {"replacements": 2}
    assert text(db) == "a b a"
    assert section(db, "replace", old="a", new="c", expected_count=2)["replacements"] == 2


@pytest.mark.parametrize("value", [None, 1, True, [], ["a"], {}, {"a": "a"}])
def test_only_in_text_is_replaced(db: Connection, value: Any) -> None:
    section(db, "set", value=value)
    with refused(db, "LM404"):
        section(db, "replace", old="a", new="b")


@pytest.mark.parametrize("state", ["absent", "deleted", "redacted", "expired", "fact"])
def test_where_no_section_is_current_there_is_nothing_to_replace(
    db: Connection, clock: Clock, state: str
) -> None:
    clock.set(NOON)
    if state != "absent":
        memory_type = "semantic" if state == "fact" else "profile"
        row = {"memory_key": LABEL, "memory_type": memory_type}
        fact(db, "set", **row, value="old", ttl_seconds=60)
    if state == "deleted":
        section(db, "delete")
    if state == "redacted":
        fact(db, "redact", memory_key=LABEL, reason="r")
    if state == "expired":
        clock.advance(seconds=60)
    before = fact(db, "get", memory_key=LABEL)
    for condition in ({}, {"if_match_sha256": hash_of("old")}):
        with refused(db, "LM102"):
            section(db, "replace", old="old", new="new", **condition)
    assert fact(db, "get", memory_key=LABEL) == before


def test_o18_a_stale_hash_is_told_before_anything_about_the_text(db: Connection) -> None:
    section(db, "set", value="one")
    for old in ("one", "not there"):
        with refused(db, "LM201") as refusal:
            section(db, "replace", old=old, new="two", if_match_sha256=hash_of("old"))
        assert refusal.detail == {"current_sha256": hash_of("one"), "current_version": 1}
    receipt = section(db, "replace", old="one", new="two", if_match_sha256=hash_of("one"))
    assert receipt["replacements"] == 1


@pytest.mark.parametrize("new", ["\n" * 10, '"' * 10, exactly(20), "\x01" * 3 + "ab"])
def test_o1_o4_a_result_over_the_limit_is_refused_with_its_numbers(
    db: Connection, new: str
) -> None:
    section(db, "set", value="a-a", char_limit=42)
    with refused(db, "LM402") as refusal:
        section(db, "replace", old="a", new=new + "x")
    assert refusal.detail == {"value_length": 45, "char_limit": 42, "overage": 3}
    assert text(db) == "a-a"
    assert section(db, "replace", old="-", new="")["value_length"] == 4


def test_o7_a_full_section_can_be_made_shorter(db: Connection) -> None:
    section(db, "set", value=exactly(8190))
    receipt = section(db, "replace", old="xx", new="x")
    assert (receipt["replacements"], receipt["value_length"]) == (4095, 4097)


def test_a_result_of_gigabytes_is_refused_before_it_is_made(db: Connection) -> None:
    section(db, "set", value=exactly(65_534), char_limit=65_536)
    db.execute("set local statement_timeout = '5s'")
    with refused(db, "LM402") as refusal:
        section(db, "replace", old="x", new=exactly(900_000))
    assert refusal.detail["value_length"] == 65_534 * 900_000 + 2


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        *each("old", None, "", 1, ["a"]),
        *each("new", None, 1, {}),
        *each("expected_count", 0, -1, 1_000_001, 1.5, "1", True),
    ],
)
def test_o11_a_field_of_another_kind_is_refused_by_name(
    db: Connection, field: str, wrong: Any
) -> None:
    section(db, "set", value="a")
    with refused(db, "LM001") as refusal:
        section(db, "replace", **{"old": "a", "new": "b", field: wrong})
    assert refusal.detail["field"] == field
