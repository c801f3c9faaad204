"""memory.history: every version of a row, newest first, and where each value is kept."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.calls import operate, refused
from tests.databases import Clock
from tests.sql.doors import IDENTITY, pages_of
from tests.sql.facts import KEY, NOON, changes, fact, hash_of, history, section

Connection = psycopg.Connection[Any]


def kept(db: Connection) -> list[tuple[int, int | None, bool]]:
    """Of every version: its number, the version that has its value, and whether it has it here."""
    return db.execute(
        "select version, value_version, value is not null from loom.memory_version order by version"
    ).fetchall()


def test_a_version_tells_what_was_said_when_and_by_whom(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    fact(db, "set", value={"a": 1}, tags=["t"], confidence=0.5, ttl_seconds=60, source_trace="c:1")
    clock.advance(seconds=1)
    fact(db, "lock", reason="held", ttl_seconds=5)
    page = fact(db, "history")
    assert page["found"] is True
    assert page["memory_id"] == fact(db, "get")["memory_id"]
    assert page["next_cursor"] is None
    locked, first = page["items"]
    actor = first["actor"]
    assert actor.startswith("operator:")
    assert first == {
        "version": 1,
        "version_text": "1",
        "change": "set",
        "value": {"a": 1},
        "content_sha256": hash_of({"a": 1}),
        "value_length": 7,
        "char_limit": 262144,
        "memory_type": "semantic",
        "tags": ["t"],
        "confidence": 0.5,
        "source_class": "stated",
        "source_trace": "c:1",
        "valid_at": None,
        "valid_to": None,
        "expires_at": "2026-03-01T12:01:00.000000Z",
        "pinned": False,
        "sensitivity": "normal",
        "lock": None,
        "recorded_at": "2026-03-01T12:00:00.000000Z",
        "changed_at": "2026-03-01T12:00:00.000000Z",
        "written_by": actor,
        "actor": actor,
        "redacted_at": None,
    }
    assert locked == {
        **first,
        "version": 2,
        "version_text": "2",
        "change": "lock",
        "lock": {
            "mode": "read_only",
            "reason": "held",
            "until": "2026-03-01T12:00:06.000000Z",
        },
        "recorded_at": "2026-03-01T12:00:01.000000Z",
        "changed_at": "2026-03-01T12:00:01.000000Z",
    }


def test_every_kind_of_change_is_a_version(db: Connection) -> None:
    fact(db, "set", value="one", memory_key="persona", memory_type="profile")
    section(db, "append", addition="two")
    section(db, "replace", old="two", new="three")
    named = {"memory_key": "persona"}
    for verb in ("pin", "unpin", "lock", "unlock"):
        fact(db, verb, **named, **({"reason": "r"} if verb == "lock" else {}))
    fact(db, "label", **named, tags={"add": ["t"]})
    fact(db, "delete", **named)
    fact(db, "restore", **named)
    fact(db, "revert", **named, version=1)
    fact(db, "redact", **named, reason="r")
    assert changes(db, **named) == [
        *("set", "append", "replace", "pin", "unpin", "lock", "unlock"),
        *("label", "delete", "restore", "revert", "redact"),
    ]


def test_o9_a_deleted_row_keeps_its_history_and_says_when_it_ended(
    db: Connection, clock: Clock
) -> None:
    clock.set(NOON)
    fact(db, "set", value="one")
    clock.advance(seconds=1)
    fact(db, "delete")
    clock.advance(seconds=1)
    fact(db, "set", value="two")
    versions = history(db)
    assert [(version["change"], version["value"]) for version in versions] == [
        ("set", "one"),
        ("delete", None),
        ("set", "two"),
    ]
    assert versions[1]["recorded_at"] == "2026-03-01T12:00:01.000000Z"
    assert versions[1]["content_sha256"] is versions[1]["value_length"] is None


def test_what_was_redacted_is_in_history_without_its_text(db: Connection) -> None:
    fact(db, "set", value="one", tags=["t"], source_trace="c:1")
    fact(db, "set", value="two")
    fact(db, "redact", reason="r")
    versions = history(db)
    assert [version["change"] for version in versions] == ["set", "set", "redact"]
    for version in versions:
        for gone in ("value", "content_sha256", "value_length", "source_trace"):
            assert version[gone] is None
        assert version["tags"] == []
        assert version["redacted_at"] is not None


def test_a_value_is_kept_once_where_only_metadata_changed(db: Connection) -> None:
    fact(db, "set", value="one")
    fact(db, "set", value="one", tags=["t"])
    fact(db, "pin")
    fact(db, "label", sensitivity="high")
    fact(db, "lock", reason="r", mode="no_delete")
    fact(db, "set", value="two", pinned=False)
    fact(db, "unlock")
    fact(db, "set", value="one")
    fact(db, "set", value="one", memory_type="decision")
    assert kept(db) == [
        *[(1, 1, True), (2, 1, False), (3, 1, False), (4, 1, False), (5, 1, False)],
        *[(6, 6, True), (7, 6, False), (8, 8, True), (9, 8, False)],
    ]
    assert [version["value"] for version in history(db)] == ["one"] * 5 + ["two"] * 2 + ["one"] * 2
    lengths = {(version["content_sha256"], version["value_length"]) for version in history(db)}
    assert lengths == {(hash_of("one"), 5), (hash_of("two"), 5)}


def test_a_tombstone_keeps_nothing_and_points_at_nothing(db: Connection) -> None:
    fact(db, "set", value="one")
    fact(db, "delete")
    fact(db, "restore")
    fact(db, "pin")
    assert kept(db)[1] == (2, None, False)
    assert [version["value"] for version in history(db)] == ["one", None, "one", "one"]


def test_a_json_null_is_a_value_like_any_other(db: Connection) -> None:
    fact(db, "set", value=None)
    fact(db, "pin")
    assert kept(db) == [(1, 1, True), (2, 1, False)]
    assert [version["content_sha256"] for version in history(db)] == [hash_of(None)] * 2


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 200])
def test_pages_show_each_version_once(db: Connection, limit: int) -> None:
    for number in range(7):
        fact(db, "set", value=number)
    listed = [
        [item["value"] for item in page["items"]]
        for page in pages_of(db, "memory.history", **IDENTITY, memory_key=KEY, limit=limit)
    ]
    assert [value for page in listed for value in page] == list(reversed(range(7)))
    assert [len(page) for page in listed[:-1]] == [limit] * (len(listed) - 1)
    assert listed[-1]


def test_o34_a_page_ends_where_its_values_come_to_a_megabyte(db: Connection) -> None:
    for number in range(12):
        fact(db, "set", value=f"{number:02}" + "x" * 199_996)
    request = {**IDENTITY, "memory_key": KEY, "limit": 200}
    sizes = [len(page["items"]) for page in pages_of(db, "memory.history", **request)]
    assert sizes == [5, 5, 2]


def test_a_cursor_is_a_version_that_need_not_be_there(db: Connection) -> None:
    for number in range(3):
        fact(db, "set", value=number)
    for cursor, shown in {
        "2": [1],
        "0003": [2, 1],
        "4": [3, 2, 1],
        "1": [],
        "0": [],
        "9" * 18: [3, 2, 1],
    }.items():
        assert [item["version"] for item in fact(db, "history", cursor=cursor)["items"]] == shown


@pytest.mark.parametrize(
    "cursor", ["", "-1", "1.5", "x", "9" * 19, "1\n", " 1", "1' or true --", "١", "9" * 100_000, 2]
)
def test_any_other_cursor_is_refused(db: Connection, cursor: Any) -> None:
    with refused(db, "LM001") as refusal:
        fact(db, "history", cursor=cursor)
    assert refusal.detail["field"] == "cursor"


def test_nothing_there_is_an_answer(db: Connection) -> None:
    nothing: dict[str, Any] = {"found": False, "memory_id": None, "items": [], "next_cursor": None}
    assert fact(db, "history") == nothing
    assert fact(db, "history", memory_id=str(uuid4())) == nothing


def test_a_request_names_either_key_or_id(db: Connection) -> None:
    receipt = fact(db, "set", value="x")
    for names in ({}, {"memory_key": KEY, "memory_id": receipt["memory_id"]}):
        with refused(db, "LM001") as refusal:
            operate(db, "memory.history", **IDENTITY, **names)
        assert refusal.detail["field"] == "memory_key"


@pytest.mark.parametrize("limit", [0, 201, -1, 1.5, "1"])
def test_a_limit_is_one_to_two_hundred(db: Connection, limit: Any) -> None:
    with refused(db, "LM001") as refusal:
        fact(db, "history", limit=limit)
    assert refusal.detail["field"] == "limit"
