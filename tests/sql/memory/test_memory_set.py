"""memory.set: a value under a key, its versions, and the conditions of a write.

What fields take stands in test_memory_set_fields, lengths in test_memory_limits, and what else can
refuse a set with locks, pins and the blacklist.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.calls import refused
from tests.databases import Clock
from tests.sql.doors import as_service
from tests.sql.facts import KEY, NOON, TYPES, changes, fact, hash_of, history, value_of

Connection = psycopg.Connection[Any]

DEFAULTS = {
    "memory_type": "semantic",
    "tags": [],
    "confidence": 1,
    "source_class": "stated",
    "source_trace": None,
    "valid_at": None,
    "valid_to": None,
    "expires_at": None,
    "pinned": False,
    "sensitivity": "normal",
    "lock": None,
    "reinforcement_count": 0,
    "char_limit": 262144,
}

OTHERWISE: dict[str, Any] = {
    "memory_type": "decision",
    "tags": ["a", "b"],
    "confidence": 0.25,
    "source_class": "observed",
    "source_trace": "chat:1",
    "valid_at": "2026-01-01T00:00:00.000000Z",
    "valid_to": "2027-01-01T00:00:00.000000Z",
    "expires_at": "2030-01-01T00:00:00.000000Z",
    "pinned": True,
    "sensitivity": "high",
    "char_limit": 1000,
}
"""For every piece of metadata a value that is not its default."""


def test_a_new_row_answers_its_whole_receipt(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    receipt = fact(db, "set", value="héllo", user_id="u1", session_id="s1", char_limit=14)
    UUID(receipt.pop("memory_id"))
    assert receipt == {
        "org": "acme",
        "namespace": "main",
        "agent": "coder",
        "user_id": "u1",
        "session_id": "s1",
        "memory_key": KEY,
        "version": 1,
        "version_text": "1",
        "content_sha256": hash_of("héllo"),
        "value_length": 7,
        "char_limit": 14,
        "fill_ratio": 0.5,
        "created": True,
        "noop": False,
        "status": "current",
        "duplicate_of": None,
        "updated_at": "2026-03-01T12:00:00.000000Z",
    }


def test_ids_left_out_are_the_unset_level(db: Connection) -> None:
    receipt = fact(db, "set", agent=None, value=1)
    assert {receipt[name] for name in ("agent", "user_id", "session_id")} == {"-"}


def test_what_a_first_write_does_not_say_has_its_default(db: Connection) -> None:
    fact(db, "set", value=1)
    got = fact(db, "get")
    assert {name: got[name] for name in DEFAULTS} == DEFAULTS


@pytest.mark.parametrize("value", [None, False, 0, "", [], {}, 1.5, [[{"a": None}]], "null", -1e-7])
def test_a_value_is_any_json(db: Connection, value: Any) -> None:
    receipt = fact(db, "set", value=value)
    assert receipt["content_sha256"] == hash_of(value)
    got = fact(db, "get")
    assert (got["found"], got["value"]) == (True, value)


def test_a_value_must_be_there_though_it_may_be_null(db: Connection) -> None:
    with refused(db, "LM001") as refusal:
        fact(db, "set")
    assert refusal.detail == {"field": "value", "reason": "is required"}


def test_o16_a_changed_value_is_the_next_version_of_the_same_row(
    db: Connection, clock: Clock
) -> None:
    clock.set(NOON)
    first = fact(db, "set", value="one")
    clock.advance(seconds=90)
    second = fact(db, "set", value="two")
    assert second["memory_id"] == first["memory_id"]
    assert (second["version"], second["version_text"], second["created"]) == (2, "2", False)
    assert second["updated_at"] == "2026-03-01T12:01:30.000000Z"
    assert fact(db, "get")["created_at"] == "2026-03-01T12:00:00.000000Z"


def test_o15_o18_every_accepted_write_is_in_history(db: Connection) -> None:
    for number in range(5):
        fact(db, "set", value=number)
    versions = history(db)
    assert [(version["version"], version["value"]) for version in versions] == [
        (number + 1, number) for number in range(5)
    ]
    assert changes(db) == ["set"] * 5


def test_the_same_again_is_a_restatement(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    first = fact(db, "set", value={"a": 1, "b": 2}, **OTHERWISE)
    clock.advance(seconds=1)
    second = fact(db, "set", value={"b": 2.0, "a": 1}, **OTHERWISE)
    assert second == {**first, "created": False, "noop": True}
    clock.advance(seconds=1)
    assert fact(db, "set", value={"a": 1, "b": 2})["noop"] is True
    got = fact(db, "get")
    assert (got["version"], got["reinforcement_count"]) == (1, 2)
    assert got["changed_at"] == "2026-03-01T12:00:02.000000Z"
    assert got["updated_at"] == "2026-03-01T12:00:00.000000Z"
    assert changes(db) == ["set"]


@pytest.mark.parametrize("field", OTHERWISE)
def test_the_same_value_with_other_metadata_is_a_new_version(db: Connection, field: str) -> None:
    fact(db, "set", value="same")
    receipt = fact(db, "set", value="same", **{field: OTHERWISE[field]})
    assert (receipt["version"], receipt["noop"], receipt["created"]) == (2, False, False)
    got = fact(db, "get")
    expected = {**DEFAULTS, field: OTHERWISE[field]}
    assert {name: got[name] for name in expected} == expected
    assert got["value"] == "same"


@pytest.mark.parametrize("field", OTHERWISE)
@pytest.mark.parametrize("value", ["same", "other"])
def test_o9_o23_what_is_left_out_or_null_stays(db: Connection, field: str, value: str) -> None:
    first = {**OTHERWISE, "pinned": False}
    fact(db, "set", value="same", **first)
    fact(db, "set", value=value, **dict.fromkeys(OTHERWISE))
    got = fact(db, "get")
    if value == "other" and field in ("valid_at", "valid_to"):
        assert got[field] is None
    else:
        assert got[field] == first[field]


def test_o9_empty_tags_and_an_empty_trace_take_nothing_away(db: Connection) -> None:
    fact(db, "set", value="same", tags=["a"], source_trace="chat:1")
    assert fact(db, "set", value="same", tags=[], source_trace="")["noop"] is True
    got = fact(db, "get")
    assert (got["tags"], got["source_trace"]) == (["a"], "chat:1")


def test_metadata_that_says_what_it_said_is_still_a_restatement(db: Connection) -> None:
    fact(db, "set", value="same", **OTHERWISE)
    receipt = fact(db, "set", value="same", tags=["b", "a", "b"], confidence=0.2500001)
    assert (receipt["noop"], receipt["version"]) == (True, 1)


@pytest.mark.parametrize("memory_type", TYPES)
def test_a_row_can_be_of_each_type_and_change_it(db: Connection, memory_type: str) -> None:
    assert fact(db, "set", value=1, memory_type=memory_type)["created"]
    assert fact(db, "get")["memory_type"] == memory_type
    for other in TYPES:
        fact(db, "set", value=1, memory_type=other)
        assert fact(db, "get")["memory_type"] == other
    assert len(history(db)) == 6 + (memory_type != TYPES[0])


def test_a_dry_run_answers_the_receipt_and_writes_nothing(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    dry = fact(db, "set", value="one", dry_run=True, pinned=True)
    assert (dry["created"], dry["version"], dry["memory_id"]) == (True, 1, None)
    assert fact(db, "get")["found"] is False
    first = fact(db, "set", value="one")
    assert {**dry, "memory_id": first["memory_id"]} == first
    before = fact(db, "get")
    assert fact(db, "set", value="two", dry_run=True)["version"] == 2
    restated = fact(db, "set", value="one", dry_run=True)
    assert (restated["noop"], restated["version"]) == (True, 1)
    assert fact(db, "get") == before
    assert changes(db) == ["set"]


def test_a_dry_run_is_refused_as_the_write_would_be(db: Connection) -> None:
    fact(db, "set", value="one", pinned=True)
    wrong: dict[str, dict[str, Any]] = {
        "LM202": {"if_absent": True},
        "LM201": {"if_match_sha256": hash_of("stale")},
        "LM204": {},
        "LM402": {"char_limit": 1},
        "LM406": {"char_limit": 0},
    }
    for sqlstate, request in wrong.items():
        with refused(db, sqlstate):
            fact(db, "set", value="two", dry_run=True, **request)


def test_o16_o18_a_hash_that_matches_lets_the_write_through(db: Connection) -> None:
    first = fact(db, "set", value="one")
    assert fact(db, "set", value="two", if_match_sha256=first["content_sha256"])["version"] == 2


def test_o16_o18_a_stale_hash_is_refused_with_the_current_state(db: Connection) -> None:
    first = fact(db, "set", value="one")
    fact(db, "set", value="two")
    with refused(db, "LM201") as refusal:
        fact(db, "set", value="three", if_match_sha256=first["content_sha256"])
    assert refusal.detail == {"current_sha256": hash_of("two"), "current_version": 2}
    assert refusal.hint
    assert value_of(db) == "two"


@pytest.mark.parametrize("before", ["absent", "tombstone", "expired"])
def test_o9_a_hash_matches_nothing_where_no_row_is_current(
    db: Connection, clock: Clock, before: str
) -> None:
    clock.set(NOON)
    if before != "absent":
        fact(db, "set", value="one", ttl_seconds=60)
    if before == "tombstone":
        fact(db, "delete")
    clock.advance(seconds=60)
    with refused(db, "LM201") as refusal:
        fact(db, "set", value="two", if_match_sha256=hash_of("one"))
    assert refusal.detail == {"current_sha256": None, "current_version": None}


def test_if_absent_writes_where_no_row_is_current(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    assert fact(db, "set", value="one", if_absent=True)["version"] == 1
    fact(db, "delete")
    clock.advance(seconds=1)
    assert fact(db, "set", value="two", if_absent=True, ttl_seconds=1)["version"] == 3
    clock.advance(seconds=1)
    assert fact(db, "set", value="three", if_absent=True)["version"] == 4


def test_if_absent_is_refused_over_a_current_row(db: Connection) -> None:
    fact(db, "set", value="one")
    with refused(db, "LM202"):
        fact(db, "set", value="one", if_absent=True)
    assert fact(db, "set", value="two", if_absent=False)["version"] == 2


def test_if_absent_contradicts_a_hash(db: Connection) -> None:
    with refused(db, "LM001") as refusal:
        fact(db, "set", value=1, if_absent=True, if_match_sha256=hash_of(1))
    assert refusal.detail["field"] == "if_absent"


def test_a_set_after_a_delete_takes_the_next_version_and_starts_afresh(
    db: Connection, clock: Clock
) -> None:
    clock.set(NOON)
    first = fact(db, "set", value="one", **OTHERWISE)
    fact(db, "set", value="one")
    assert fact(db, "delete")["version"] == 2
    clock.advance(seconds=1)
    receipt = fact(db, "set", value="two")
    assert (receipt["memory_id"], receipt["version"]) == (first["memory_id"], 3)
    assert receipt["created"] is True
    got = fact(db, "get")
    assert {name: got[name] for name in DEFAULTS} == DEFAULTS


def test_versions_follow_in_time_even_when_the_clock_stands_still_or_runs_back(
    db: Connection, clock: Clock
) -> None:
    clock.set(NOON)
    for number in range(3):
        fact(db, "set", value=number)
    clock.advance(hours=-1)
    fact(db, "delete")
    fact(db, "restore")
    assert [version["recorded_at"] for version in history(db)] == [
        f"2026-03-01T12:00:00.{micros:06}Z" for micros in range(5)
    ]


def test_the_row_names_who_made_and_who_changed_it(services: Connection) -> None:
    row = {"org": "acme", "namespace": "main", "agent": "coder", "memory_key": KEY}
    as_service(services, "loom_test_writer", "memory.set", **row, value=1)
    as_service(services, "loom_test_admin", "memory.set", **row, value=2)
    as_service(services, "loom_test_writer", "memory.pin", **row)
    got = fact(services, "get")
    assert got["created_by"] == "service:loom_test_writer"
    assert got["written_by"] == "service:loom_test_admin"
    assert got["updated_by"] == "service:loom_test_writer"


@pytest.mark.parametrize("table", ["memory", "memory_version"])
def test_o62_no_right_changes_whose_a_row_is(db: Connection, table: str) -> None:
    rows = db.execute(
        "select column_name from information_schema.columns"
        " where table_schema = 'loom' and table_name = %s"
        " and has_column_privilege("
        "'loom_api', format('loom.%%I', table_name), column_name, 'update')",
        (table,),
    ).fetchall()
    owners = {"org", "namespace", "agent", "user_id", "session_id", "memory_key", "memory_id"}
    changed = {column for (column,) in rows}
    assert "value" in changed
    assert changed & owners == set()


def test_setting_takes_a_writer(services: Connection) -> None:
    with refused(services, "42501"):
        as_service(
            services,
            "loom_test_viewer",
            "memory.set",
            **{"org": "acme", "namespace": "main", "memory_key": KEY, "value": 1},
        )
