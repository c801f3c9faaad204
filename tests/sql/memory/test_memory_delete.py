"""memory.delete: a tombstone in place of the value, with its precondition."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import refused
from tests.databases import Clock
from tests.sql.facts import NOON, fact, hash_of, history, section, value_of

Connection = psycopg.Connection[Any]


def test_a_delete_answers_the_version_of_the_tombstone(db: Connection) -> None:
    receipt = fact(db, "set", value="x")
    assert fact(db, "delete") == {
        "found": True,
        "tombstoned": True,
        "memory_id": receipt["memory_id"],
        "version": 2,
        "version_text": "2",
    }


def test_o9_a_tombstone_tells_deleted_from_never_there(db: Connection) -> None:
    assert fact(db, "delete") == {
        "found": False,
        "tombstoned": False,
        "memory_id": None,
        "version": None,
        "version_text": None,
    }
    fact(db, "set", value="x")
    first = fact(db, "delete")
    assert fact(db, "delete") == {**first, "found": False}
    assert len(history(db)) == 2


def test_o69_a_deleted_row_is_gone_from_every_read(db: Connection) -> None:
    memory_id = fact(db, "set", value="x", memory_type="profile")["memory_id"]
    fact(db, "delete")
    for scope in ("own_user", "namespace"):
        assert fact(db, "get", read_scope=scope)["found"] is False
        assert fact(db, "get", memory_id=memory_id, read_scope=scope)["found"] is False
        assert fact(db, "list", read_scope=scope)["items"] == []
        assert section(db, "list", read_scope=scope)["items"] == []
        assert section(db, "render", read_scope=scope)["sections"] == []


def test_nothing_of_the_text_stays_in_the_row(db: Connection) -> None:
    fact(db, "set", value="secret", tags=["t"])
    fact(db, "delete")
    row = db.execute(
        "select value, content_sha256, value_length, deleted_at is not null from loom.memory"
    ).fetchone()
    assert row == (None, None, None, True)


def test_a_delete_with_the_current_hash_goes_through(db: Connection) -> None:
    receipt = fact(db, "set", value="x")
    assert fact(db, "delete", if_match_sha256=receipt["content_sha256"])["found"] is True


def test_o9_o16_a_delete_with_a_stale_hash_is_refused(db: Connection) -> None:
    fact(db, "set", value="x")
    with refused(db, "LM201") as refusal:
        fact(db, "delete", if_match_sha256=hash_of("old"))
    assert refusal.detail == {"current_sha256": hash_of("x"), "current_version": 1}
    assert value_of(db) == "x"
    fact(db, "delete")
    with refused(db, "LM201") as refusal:
        fact(db, "delete", if_match_sha256=hash_of("x"))
    assert refusal.detail == {"current_sha256": None, "current_version": None}


def test_an_expired_row_is_not_found_by_a_delete(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    fact(db, "set", value="x", ttl_seconds=60)
    clock.advance(seconds=60)
    answer = fact(db, "delete")
    assert (answer["found"], answer["tombstoned"], answer["version"]) == (False, False, 1)


@pytest.mark.parametrize(
    ("level", "other"), [("user_id", "u"), ("session_id", "s"), ("agent", "a"), ("namespace", "n")]
)
def test_o60_only_the_row_of_exactly_this_identity_is_deleted(
    db: Connection, level: str, other: str
) -> None:
    fact(db, "set", value="mine")
    fact(db, "set", value="other's", **{level: other})
    assert fact(db, "delete")["found"] is True
    assert value_of(db, **{level: other}) == "other's"


def test_a_delete_must_name_a_key(db: Connection) -> None:
    with refused(db, "LM001") as refusal:
        fact(db, "delete", memory_key=None)
    assert refusal.detail == {"field": "memory_key", "reason": "is required"}


def test_a_pinned_row_can_be_deleted(db: Connection) -> None:
    fact(db, "set", value="x", pinned=True)
    assert fact(db, "delete")["found"] is True
