"""What a blacklist refuses: each text, key and tag by itself, in any case, by every door."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import Answer, operate, refused
from tests.sql.doors import DOORS, IDENTITY, wm
from tests.sql.facts import fact, section, value_of

Connection = psycopg.Connection[Any]


def forbid(db: Connection, pattern: str, pattern_type: str = "substring", **more: Any) -> None:
    request = {"namespace": "main", "pattern": pattern, "pattern_type": pattern_type, **more}
    operate(db, "blacklist.add", org="acme", **request)


def hits(db: Connection, value: Any, **fields: Any) -> bool:
    """Whether a set of the value is refused as blacklisted."""
    try:
        with db.transaction():
            fact(db, "set", **{"value": value, **fields})
    except psycopg.Error as error:
        assert error.sqlstate == "LM407", error
        return True
    return False


@pytest.mark.parametrize(
    "value",
    [
        "apple",
        "an apple a day",
        "pineapples",
        ["pear", "apple"],
        {"fruit": "apple"},
        {"apple": "fruit"},
        {"a": [{"b": {"apple pie": None}}]},
        [[[["x", "apple"]]]],
        "line\napple\nline",
    ],
)
def test_a_substring_is_found_in_every_leaf_and_key(db: Connection, value: Any) -> None:
    assert hits(db, value) is False
    forbid(db, "apple", reason="no fruit")
    with refused(db, "LM407") as refusal:
        fact(db, "set", value=value)
    assert refusal.detail == {"reason": "no fruit"}
    assert refusal.hint
    # What was stored before stays, and is refused when it is said again.
    assert value_of(db) == value


@pytest.mark.parametrize("value", ["app le", ["app", "le"], {"app": "le"}, "apple"[::-1], 1, None])
def test_what_does_not_hold_it_goes_through(db: Connection, value: Any) -> None:
    forbid(db, "apple")
    assert hits(db, value) is False


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("apple", "APPLE"),
        ("ApPlE", "aPpLe"),
        ("straße", "STRAßE"),
        ("ärger", "ÄRGER"),
        ("ПАРОЛЬ", "пароль"),
        ("σίσυφος", "ΣΊΣΥΦΟΣ"),
        ("ΟΔΟΣ", "οδος"),
        ("οδος", "ΟΔΟΣΑ"),
        ("kelvin", "\u212aelvin"),
        ("straſse", "STRASSE"),
        ("ǆ", "Ǆ"),
        ("ⅷ", "Ⅷ"),
        ("𐐀𐐁", "𐐨𐐩"),
    ],
)
def test_case_is_unicodes(db: Connection, pattern: str, text: str) -> None:
    forbid(db, pattern)
    assert hits(db, f"x{text}x") is True
    assert hits(db, {text: 1}) is True


@pytest.mark.parametrize(
    ("pattern", "text"), [("äpfel", "ÄPFEL"), ("[ж-и]", "З"), ("[a-z]x", "AX"), ("ΣΑ", "σα")]
)
def test_case_is_unicodes_in_regular_expressions_too(
    db: Connection, pattern: str, text: str
) -> None:
    forbid(db, pattern, "regex")
    assert hits(db, text) is True


@pytest.mark.parametrize(
    "pattern",
    [
        ".",
        "a.c",
        "a*",
        "[ab]",
        "(a|b)",
        "a+",
        "^a",
        "a$",
        "a{2}",
        r"\d",
        "a\\b",
        "?",
        "(?i)x",
        "***=",
    ],
)
def test_a_substring_is_plain_text(db: Connection, pattern: str) -> None:
    forbid(db, pattern)
    assert hits(db, f"x{pattern}x") is True
    assert hits(db, "abc aab 11 b") is False


@pytest.mark.parametrize(
    ("pattern", "hit", "miss"),
    [
        (r"\d{4}[- ]?\d{4}", "no 1234-5678.", "no 1234--5678"),
        (r"pass ?word", "my PassWord", "pass  word"),
        (r"\mgay\M", "he is gay.", "Gaynor"),
        (r"a.c", "a\nc", "ac"),
        (r"colou?r", "COLOR", "colouur"),
        (r"(cat|dog)s?$", "two dogs", "dogs two"),
        (r"[^a]b", "xb", "ab"),
    ],
)
def test_a_regular_expression_is_one(db: Connection, pattern: str, hit: str, miss: str) -> None:
    forbid(db, pattern, "regex")
    assert hits(db, hit) is True
    assert hits(db, miss) is False


@pytest.mark.parametrize("value", ["secret", ["x", "secret", "y"], {"secret": 1}, {"x": "secret"}])
def test_anchors_are_the_edges_of_each_text_by_itself(db: Connection, value: Any) -> None:
    forbid(db, "^secret$", "regex")
    assert hits(db, value) is True


@pytest.mark.parametrize(
    "value", ["secret x", "x secret", "x\nsecret\ny", ["secret x", "x secret"]]
)
def test_anchors_are_nowhere_within_a_text(db: Connection, value: Any) -> None:
    forbid(db, "^secret$", "regex")
    assert hits(db, value) is False


@pytest.mark.parametrize("pattern", ["one.two", r"one\s*two", "one[^x]two", "one\ntwo"])
def test_no_pattern_reaches_from_one_text_into_the_next(db: Connection, pattern: str) -> None:
    forbid(db, pattern, "regex")
    assert hits(db, ["one", "two"]) is False
    assert hits(db, {"one": "two"}) is False
    assert hits(db, "one\ntwo") is True


def test_every_pattern_of_a_scope_counts(db: Connection) -> None:
    for number in range(20):
        forbid(db, f"word{number:02}", "regex" if number % 2 else "substring", reason=f"{number}")
    for number in range(20):
        with refused(db, "LM407") as refusal:
            fact(db, "set", value=f"a WORD{number:02} b")
        assert refusal.detail == {"reason": f"{number}"}


def test_a_pattern_without_a_reason_gives_none(db: Connection) -> None:
    forbid(db, "apple")
    with refused(db, "LM407") as refusal:
        fact(db, "set", value="apple")
    assert refusal.detail == {"reason": None}


def test_the_pattern_itself_is_never_told(db: Connection) -> None:
    forbid(db, "project-xyz")
    with refused(db, "LM407") as refusal:
        fact(db, "set", value="about Project-XYZ")
    told = f"{refusal.message} {refusal.hint} {refusal.detail}".lower()
    assert "xyz" not in told


WRITES: dict[str, tuple[str, Answer]] = {
    "value": ("memory.set", {"memory_key": "k", "value": "apple"}),
    "key": ("memory.set", {"memory_key": "apple", "value": 1}),
    "tag": ("memory.set", {"memory_key": "k", "value": 1, "tags": ["b", "an apple"]}),
    "dry run": ("memory.set", {"memory_key": "k", "value": "apple", "dry_run": True}),
    "label tag": ("memory.label", {"memory_key": "old", "tags": {"add": ["apple"]}}),
    "section": ("profile.set", {"label": "k", "value": "apple"}),
    "label": ("profile.set", {"label": "apple", "value": "x"}),
    "append": ("profile.append", {"label": "k", "addition": "apple"}),
    "replace": ("profile.replace", {"label": "old", "old": "x", "new": "apple"}),
    "block": ("working_memory.set", {"content": "an apple"}),
    "block key": ("working_memory.set", {"content": "x", "block_key": "apple"}),
    "block append": ("working_memory.append", {"addition": "apple"}),
    "block append key": ("working_memory.append", {"addition": "x", "block_key": "apple"}),
    "block replace": ("working_memory.replace", {"old": "x", "new": "apple"}),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("write", WRITES)
def test_every_write_is_held_against_it_by_every_door(
    db: Connection, door: str, write: str
) -> None:
    section(db, "set", label="old", value="x")
    wm(db, "set", content="x")
    forbid(db, "APPLE")
    op, request = WRITES[write]
    with refused(db, "LM407"):
        DOORS[door](db, op, **IDENTITY, **request)
    assert section(db, "render")["text"].count("<section") == 1
    assert wm(db, "get")["content"] == "x"


def test_a_block_that_an_append_or_replace_completes_is_refused(db: Connection) -> None:
    forbid(db, "apple")
    wm(db, "set", content="app")
    with refused(db, "LM407"):
        wm(db, "append", addition="le", separator="")
    with refused(db, "LM407"):
        wm(db, "replace", old="p", new="pple-")
    wm(db, "append", addition="le")
    assert wm(db, "get")["content"] == "app\nle"


@pytest.mark.parametrize(
    ("scope", "place", "held"),
    [
        ("namespace", {}, True),
        ("namespace", {"namespace": "other"}, False),
        ("org", {}, True),
        ("org", {"namespace": "other"}, True),
        ("org", {"org": "else"}, False),
    ],
)
def test_a_pattern_holds_in_its_scope(
    db: Connection, scope: str, place: Answer, held: bool
) -> None:
    forbid(db, "apple", scope=scope)
    assert hits(db, "apple", **place) is held
    assert hits(db, "apple", **place, user_id="u", agent="other") is held


def test_deleting_and_reading_what_was_forbidden_later_go_on(db: Connection) -> None:
    fact(db, "set", value="apple")
    forbid(db, "apple")
    assert value_of(db) == "apple"
    assert fact(db, "pin")["version"] == 2
    assert fact(db, "delete")["found"] is True
