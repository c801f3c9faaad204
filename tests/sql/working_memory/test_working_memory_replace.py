"""working_memory.replace: every occurrence of a text, exactly, in one write."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import refused
from tests.sql.doors import as_service, batch, wm
from tests.sql.texts import FAMILY, exactly, sha256

Connection = psycopg.Connection[Any]


@pytest.mark.parametrize(
    ("content", "old", "new", "result", "count"),
    [
        ("a b a", "a", "c", "c b c", 2),
        ("one\ntwo\nthree", "one\ntwo", "1\n2", "1\n2\nthree", 1),
        ("a\r\nb\nc", "\r\nb", "", "a\nc", 1),
        ("aaaaa", "aa", "b", "bba", 2),
        ("ababa", "aba", "x", "xba", 1),
        ("aa", "a", "aa", "aaaa", 2),
        ("a b  c", " ", "_", "a_b__c", 3),
        ("a\n\n\nb", "\n\n", "\n", "a\n\nb", 1),
        ("a\tb", "\t", "\\t", "a\\tb", 1),
        ("x.y*z", ".y*", r"\1&", r"x\1&z", 1),
        ("50% off_now", "%", "_", "50_ off_now", 1),
        ("Case case", "case", "x", "Case x", 1),
        (f"a{FAMILY}b", "👩", "x", "ax\u200dx\u200d👧\u200d👦b", 2),
        ("e\u0301e", "e", "a", "a\u0301a", 2),
        ("漢字漢字", "漢", "汉", "汉字汉字", 2),
        ("whole", "whole", "", "", 1),
    ],
)
def test_o10_o11_every_occurrence_is_replaced_from_left_to_right(
    db: Connection, content: str, old: str, new: str, result: str, count: int
) -> None:
    wm(db, "set", content=content)
    receipt = wm(db, "replace", old=old, new=new)
    assert wm(db, "get")["content"] == result
    assert receipt["replacements"] == count
    assert (receipt["version"], receipt["value_length"]) == (2, len(result))
    assert (receipt["content_sha256"], receipt["created"]) == (sha256(result), False)


def test_o10_a_composed_letter_is_not_its_decomposed_twin(db: Connection) -> None:
    wm(db, "set", content="caf\u00e9")
    with refused(db, "LM403"):
        wm(db, "replace", old="cafe\u0301", new="x")


@pytest.mark.parametrize("new", [{}, {"new": None}], ids=["missing", "null"])
def test_o10_a_missing_new_text_is_refused_and_never_written(
    db: Connection, new: dict[str, None]
) -> None:
    wm(db, "set", content="abc")
    with refused(db, "LM001") as refusal:
        wm(db, "replace", old="b", **new)
    assert refusal.detail == {"field": "new", "reason": "is required"}
    assert wm(db, "get")["content"] == "abc"


@pytest.mark.parametrize("old", ["", None], ids=["empty", "null"])
def test_o11_an_empty_old_text_is_refused(db: Connection, old: str | None) -> None:
    wm(db, "set", content="abc")
    with refused(db, "LM001") as refusal:
        wm(db, "replace", old=old, new="x")
    assert refusal.detail["field"] == "old"


@pytest.mark.parametrize("old", [" ", "\n", "\t \n", "\u00a0", "\u2003"])
def test_o11_white_space_matches_itself_and_nothing_else(db: Connection, old: str) -> None:
    wm(db, "set", content="abc")
    with refused(db, "LM403") as refusal:
        wm(db, "replace", old=old, new="x")
    assert refusal.detail == {}
    wm(db, "set", content=f"a{old}b{old}")
    assert wm(db, "replace", old=old, new="-")["replacements"] == 2


def test_a_text_that_is_not_there_is_refused(db: Connection) -> None:
    wm(db, "set", content="abc")
    with refused(db, "LM403") as refusal:
        wm(db, "replace", old="abcd", new="x", expected_count=1)
    assert refusal.hint
    assert wm(db, "get")["version"] == 1


def test_an_expected_count_that_is_met_lets_the_write_through(db: Connection) -> None:
    wm(db, "set", content="a a a")
    assert wm(db, "replace", old="a", new="b", expected_count=3)["replacements"] == 3


@pytest.mark.parametrize("expected", [1, 2, 4, 1_000_000])
def test_an_expected_count_that_is_not_met_is_refused(db: Connection, expected: int) -> None:
    wm(db, "set", content="a a a")
    with refused(db, "LM203") as refusal:
        wm(db, "replace", old="a", new="b", expected_count=expected)
    assert refusal.detail == {"replacements": 3}
    assert wm(db, "get")["content"] == "a a a"


@pytest.mark.parametrize("deleted", [False, True], ids=["absent", "tombstone"])
@pytest.mark.parametrize("condition", [{}, {"if_match_sha256": sha256("abc")}])
def test_there_must_be_a_live_block_whatever_the_hash_says(
    db: Connection, deleted: bool, condition: dict[str, str]
) -> None:
    if deleted:
        wm(db, "set", content="abc")
        wm(db, "delete")
    with refused(db, "LM101"):
        wm(db, "replace", old="a", new="b", **condition)


def test_o1_o11_the_result_is_checked_before_the_write(db: Connection) -> None:
    wm(db, "set", content="a-a-a", char_limit=8)
    with refused(db, "LM401") as refusal:
        wm(db, "replace", old="a", new="bbb")
    assert refusal.detail == {"value_length": 11, "char_limit": 8, "overage": 3}
    assert wm(db, "get")["content"] == "a-a-a"
    assert wm(db, "replace", old="a", new="bb")["fill_ratio"] == 1


def test_a_growth_beyond_four_billion_characters_is_refused_with_its_numbers(
    db: Connection,
) -> None:
    wm(db, "set", content=exactly(16384), char_limit=16384)
    with refused(db, "LM401") as refusal:
        wm(db, "replace", old="x", new=exactly(300_000))
    length = 16384 * 300_000
    assert length > 2**32
    assert refusal.detail == {
        "value_length": length,
        "char_limit": 16384,
        "overage": length - 16384,
    }


def test_o7_a_full_block_can_always_shrink(db: Connection) -> None:
    wm(db, "set", content=exactly(20, "ab"), char_limit=20)
    assert wm(db, "replace", old="ab", new="c")["value_length"] == 10
    assert wm(db, "replace", old="c", new="d")["value_length"] == 10


def test_o7_several_edits_are_one_write_in_an_atomic_batch(db: Connection) -> None:
    wm(db, "set", content="one two", block_key="plan")
    edit = {"op": "working_memory.replace", "org": "acme", "namespace": "main", "agent": "coder"}
    with refused(db, "LM403"):
        batch(
            db,
            {**edit, "block_key": "plan", "old": "one", "new": "1"},
            {**edit, "block_key": "plan", "old": "three", "new": "3"},
            atomic=True,
        )
    assert wm(db, "get", block_key="plan")["content"] == "one two"
    batch(
        db,
        {**edit, "block_key": "plan", "old": "one", "new": "1"},
        {**edit, "block_key": "plan", "old": "two", "new": "2"},
        atomic=True,
    )
    assert wm(db, "get", block_key="plan")["content"] == "1 2"


def test_o18_a_stale_hash_is_told_before_the_text_is_looked_for(db: Connection) -> None:
    first = wm(db, "set", content="abc")
    wm(db, "set", content="abd")
    with refused(db, "LM201") as refusal:
        wm(db, "replace", old="zzz", new="x", if_match_sha256=first["content_sha256"])
    assert refusal.detail == {"current_sha256": sha256("abd"), "current_version": 2}
    assert wm(db, "replace", old="d", new="e", if_match_sha256=sha256("abd"))["version"] == 3


def test_a_read_only_block_is_locked_to_writers(services: Connection) -> None:
    wm(services, "set", content="abc", read_only=True)
    block = {"org": "acme", "namespace": "main", "agent": "coder", "old": "b", "new": "x"}
    with refused(services, "LM205") as refusal:
        as_service(services, "loom_test_writer", "working_memory.replace", **block)
    assert refusal.detail == {"reason": "read_only", "until": None}
    as_service(services, "loom_test_admin", "working_memory.replace", **block)
    assert wm(services, "get")["content"] == "axc"


def test_o9_a_replace_keeps_limit_description_and_read_only(db: Connection) -> None:
    wm(db, "set", content="one", char_limit=50, description="d", read_only=True)
    wm(db, "replace", old="one", new="two")
    got = wm(db, "get")
    assert (got["char_limit"], got["description"], got["read_only"]) == (50, "d", True)
