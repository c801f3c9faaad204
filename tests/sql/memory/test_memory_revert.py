"""memory.revert: an older version's content as a new version."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import operate, refused
from tests.databases import Clock
from tests.sql.facts import NOON, changes, fact, hash_of, history, value_of

Connection = psycopg.Connection[Any]


@pytest.fixture(autouse=True)
def _noon(clock: Clock) -> None:
    clock.set(NOON)


def test_o58_one_call_takes_a_change_back_and_keeps_it_in_history(
    db: Connection, clock: Clock
) -> None:
    first = fact(db, "set", value="one", tags=["a"], valid_at="2026-01-01T00:00:00Z")
    fact(db, "set", value="two", tags=["b"], confidence=0.5, memory_type="decision")
    clock.advance(seconds=1)
    receipt = fact(db, "revert", version=1)
    assert receipt == {
        **first,
        "version": 3,
        "version_text": "3",
        "created": False,
        "updated_at": "2026-03-01T12:00:01.000000Z",
    }
    got = fact(db, "get")
    assert (got["value"], got["tags"], got["confidence"]) == ("one", ["a"], 1)
    assert (got["memory_type"], got["valid_at"]) == ("semantic", "2026-01-01T00:00:00.000000Z")
    assert got["changed_at"] == "2026-03-01T12:00:01.000000Z"
    assert [version["value"] for version in history(db)] == ["one", "two", "one"]
    assert changes(db) == ["set", "set", "revert"]


def test_a_version_that_changed_metadata_only_reverts_to_the_value_it_had(db: Connection) -> None:
    fact(db, "set", value="one")
    fact(db, "label", tags={"add": ["t"]})
    fact(db, "set", value="two")
    fact(db, "revert", version=2)
    got = fact(db, "get")
    assert (got["value"], got["tags"]) == ("one", ["t"])


def test_pin_lock_and_expiry_stay_those_of_now(db: Connection) -> None:
    fact(db, "set", value="one")
    fact(db, "set", value="one", ttl_seconds=60, tags=["t"])
    fact(db, "lock", reason="r", mode="no_delete")
    fact(db, "pin")
    fact(db, "revert", version=1)
    got = fact(db, "get")
    assert (got["pinned"], got["lock"]["mode"], got["tags"]) == (True, "no_delete", [])
    assert got["expires_at"] is not None


def test_a_row_that_has_expired_comes_back_with_the_expiry_of_the_version(
    db: Connection, clock: Clock
) -> None:
    fact(db, "set", value="one", ttl_seconds=600)
    fact(db, "set", value="two", ttl_seconds=60)
    clock.advance(seconds=61)
    receipt = fact(db, "revert", version=1)
    assert receipt["status"] == "current"
    got = fact(db, "get")
    assert (got["value"], got["expires_at"]) == ("one", "2026-03-01T12:10:00.000000Z")
    fact(db, "set", value="three", ttl_seconds=1)
    clock.advance(seconds=61)
    fact(db, "revert", version=2)  # whose own expiry lies behind
    assert fact(db, "get")["expires_at"] is None


def test_a_deleted_row_can_be_reverted_to_any_version_it_had(db: Connection) -> None:
    fact(db, "set", value="one")
    fact(db, "set", value="two")
    fact(db, "delete")
    receipt = fact(db, "revert", version=1)
    assert (receipt["created"], receipt["version"]) == (True, 4)
    assert value_of(db) == "one"


@pytest.mark.parametrize("version", [2, 4, 2**53 - 1])
def test_a_version_that_is_not_there_or_holds_no_value_is_told(
    db: Connection, version: int
) -> None:
    fact(db, "set", value="one")
    fact(db, "delete")
    fact(db, "set", value="two")
    with refused(db, "LM102") as refusal:
        fact(db, "revert", version=version)
    assert refusal.detail == {"version": version, "version_text": str(version)}
    assert value_of(db) == "two"


def test_there_is_nothing_to_revert_where_no_row_is(db: Connection) -> None:
    with refused(db, "LM102"):
        fact(db, "revert", version=1)


def test_redacted_text_never_comes_back(db: Connection) -> None:
    fact(db, "set", value="one")
    fact(db, "redact", reason="r")
    fact(db, "set", value="two")
    for version in (1, 2):
        with refused(db, "LM102"):
            fact(db, "revert", version=version)
    assert fact(db, "revert", version=3)["version"] == 4


def test_another_rows_version_is_never_meant(db: Connection) -> None:
    fact(db, "set", value="other's", user_id="u")
    fact(db, "set", value="other's again", user_id="u")
    fact(db, "set", value="mine")
    with refused(db, "LM102"):
        fact(db, "revert", version=2)


def test_o16_o18_a_revert_can_depend_on_the_current_hash(db: Connection) -> None:
    fact(db, "set", value="one")
    receipt = fact(db, "set", value="two")
    with refused(db, "LM201") as refusal:
        fact(db, "revert", version=1, if_match_sha256=hash_of("one"))
    assert refusal.detail == {"current_sha256": hash_of("two"), "current_version": 2}
    fact(db, "revert", version=1, if_match_sha256=receipt["content_sha256"])
    assert value_of(db) == "one"


def test_a_locked_row_is_not_reverted(db: Connection) -> None:
    fact(db, "set", value="one")
    fact(db, "set", value="two")
    fact(db, "lock", reason="held")
    with refused(db, "LM205") as refusal:
        fact(db, "revert", version=1)
    assert refusal.detail == {"reason": "held", "until": None}


def test_a_pinned_row_reverts_only_to_the_value_it_has(db: Connection) -> None:
    fact(db, "set", value="one")
    fact(db, "set", value="two")
    fact(db, "set", value="two", tags=["t"], pinned=True)
    with refused(db, "LM204"):
        fact(db, "revert", version=1)
    fact(db, "revert", version=2)
    assert fact(db, "get")["tags"] == []


def test_what_was_blacklisted_meanwhile_does_not_come_back(db: Connection) -> None:
    fact(db, "set", value="apple")
    fact(db, "set", value="pear")
    operate(db, "blacklist.add", org="acme", namespace="main", pattern="apple")
    with refused(db, "LM407"):
        fact(db, "revert", version=1)
    fact(db, "revert", version=2)


@pytest.mark.parametrize("version", [None, 0, -1, 1.5, "1", True, 2**53, 10**400])
def test_a_version_is_a_whole_number(db: Connection, version: Any) -> None:
    fact(db, "set", value="one")
    with refused(db, "LM001") as refusal:
        fact(db, "revert", version=version)
    assert refusal.detail["field"] == "version"
