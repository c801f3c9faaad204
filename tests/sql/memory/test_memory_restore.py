"""memory.restore: a deleted row back as it was, for 14 days."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import operate, refused
from tests.databases import Clock
from tests.sql.facts import NOON, changes, fact, hash_of, section, value_of

Connection = psycopg.Connection[Any]

METADATA: dict[str, Any] = {
    "memory_type": "decision",
    "tags": ["a"],
    "confidence": 0.25,
    "source_class": "observed",
    "source_trace": "chat:1",
    "valid_at": "2026-01-01T00:00:00.000000Z",
    "valid_to": "2027-01-01T00:00:00.000000Z",
    "pinned": True,
    "sensitivity": "high",
    "char_limit": 1000,
}


@pytest.fixture(autouse=True)
def _noon(clock: Clock) -> None:
    clock.set(NOON)


def test_o9_a_restored_row_is_as_it_was_before_in_its_next_version(
    db: Connection, clock: Clock
) -> None:
    first = fact(db, "set", value="x", **METADATA)
    fact(db, "delete")
    clock.advance(seconds=1)
    receipt = fact(db, "restore")
    assert receipt == {
        **first,
        "version": 3,
        "version_text": "3",
        "restored": True,
        "updated_at": "2026-03-01T12:00:01.000000Z",
    }
    got = fact(db, "get")
    assert (got["value"], {name: got[name] for name in METADATA}) == ("x", METADATA)
    assert got["created_at"] == "2026-03-01T12:00:00.000000Z"
    assert got["changed_at"] == "2026-03-01T12:00:01.000000Z"
    assert changes(db) == ["set", "delete", "restore"]


def test_what_comes_back_is_the_last_value_not_the_first(db: Connection) -> None:
    fact(db, "set", value="one")
    fact(db, "set", value="two")
    fact(db, "pin")
    fact(db, "delete")
    fact(db, "restore")
    got = fact(db, "get")
    assert (got["value"], got["pinned"]) == ("two", True)
    fact(db, "delete")
    fact(db, "restore")
    assert value_of(db) == "two"


def test_restoring_a_live_row_changes_nothing(db: Connection) -> None:
    receipt = fact(db, "set", value="x")
    answer = fact(db, "restore")
    assert answer == {**receipt, "created": False, "noop": True, "restored": False}
    assert changes(db) == ["set"]


def test_a_tombstone_is_restorable_for_fourteen_days(db: Connection, clock: Clock) -> None:
    fact(db, "set", value="x")
    clock.advance(seconds=1)
    fact(db, "delete")
    clock.advance(days=14, microseconds=-1)
    assert fact(db, "restore")["restored"] is True
    clock.advance(seconds=1)
    fact(db, "delete")
    clock.advance(days=14)
    with refused(db, "LM102") as refusal:
        fact(db, "restore")
    assert refusal.hint
    assert fact(db, "get")["status"] == "deleted"


@pytest.mark.parametrize("verb", ["restore", "revert"])
def test_exactly_fourteen_days_later_it_is_too_late(
    db: Connection, clock: Clock, verb: str
) -> None:
    fact(db, "set", value="x")
    clock.advance(seconds=1)
    fact(db, "delete")
    clock.advance(days=14)
    with refused(db, "LM102"):
        fact(db, verb, **({"version": 1} if verb == "revert" else {}))


def test_nothing_to_restore_is_told(db: Connection, clock: Clock) -> None:
    with refused(db, "LM102"):
        fact(db, "restore")
    fact(db, "set", value="x", ttl_seconds=60)
    clock.advance(seconds=60)
    with refused(db, "LM102"):
        fact(db, "restore")


def test_what_expired_while_it_was_deleted_does_not_come_back(db: Connection, clock: Clock) -> None:
    fact(db, "set", value="x", ttl_seconds=60)
    fact(db, "delete")
    clock.advance(seconds=60)
    with refused(db, "LM102"):
        fact(db, "restore")


def test_what_was_redacted_does_not_come_back(db: Connection) -> None:
    fact(db, "set", value="x")
    fact(db, "delete")
    fact(db, "redact", reason="r")
    with refused(db, "LM102"):
        fact(db, "restore")
    fact(db, "set", value="y")
    fact(db, "redact", reason="r")
    with refused(db, "LM102"):
        fact(db, "restore")


def test_a_tombstone_has_no_hash_to_match(db: Connection) -> None:
    receipt = fact(db, "set", value="x")
    fact(db, "delete")
    with refused(db, "LM201") as refusal:
        fact(db, "restore", if_match_sha256=receipt["content_sha256"])
    assert refusal.detail == {"current_sha256": None, "current_version": None}


def test_what_was_blacklisted_meanwhile_does_not_come_back(db: Connection) -> None:
    fact(db, "set", value="apple")
    fact(db, "delete")
    operate(db, "blacklist.add", org="acme", namespace="main", pattern="APPLE", reason="no fruit")
    with refused(db, "LM407") as refusal:
        fact(db, "restore")
    assert refusal.detail == {"reason": "no fruit"}


def test_a_section_is_restored_as_a_section(db: Connection) -> None:
    section(db, "set", value="x", char_limit=100)
    section(db, "delete")
    receipt = fact(db, "restore", memory_key="persona")
    assert (receipt["char_limit"], receipt["content_sha256"]) == (100, hash_of("x"))
    assert section(db, "append", addition="y")["version"] == 4
