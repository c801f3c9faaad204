"""memory.get: one row by key or by id, and what stands there when none is current.

Which row a key means stands in test_memory_nearest, times past in test_memory_as_of, and what a
token may read in test_memory_reach.
"""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.calls import operate, refused
from tests.databases import Clock
from tests.sql.doors import IDENTITY, as_service
from tests.sql.facts import KEY, NOON, fact, hash_of

Connection = psycopg.Connection[Any]

NOWHERE = {
    "found": False,
    "status": "absent",
    "memory_id": None,
    "version": None,
    "version_text": None,
}


def test_a_row_is_answered_with_its_value_and_all_that_is_known_of_it(
    db: Connection, clock: Clock
) -> None:
    clock.set(NOON)
    receipt = fact(
        db,
        "set",
        **{"value": {"b": [1], "a": None}, "memory_type": "preference", "tags": ["x"]},
        **{"confidence": 0.5, "source_class": "imported", "source_trace": "file:1"},
        **{"valid_at": "2026-01-01T00:00:00Z", "ttl_seconds": 3600, "sensitivity": "low"},
        **{"user_id": "u1", "session_id": "s1", "char_limit": 100},
    )
    clock.advance(seconds=1)
    got = fact(db, "get", user_id="u1", session_id="s1")
    actor = got["created_by"]
    assert actor.startswith("operator:")
    del receipt["created"], receipt["noop"]
    assert got == {
        **receipt,
        "found": True,
        "unchanged": False,
        "value": {"b": [1], "a": None},
        "memory_type": "preference",
        "tags": ["x"],
        "confidence": 0.5,
        "source_class": "imported",
        "source_trace": "file:1",
        "valid_at": "2026-01-01T00:00:00.000000Z",
        "valid_to": None,
        "expires_at": "2026-03-01T13:00:00.000000Z",
        "pinned": False,
        "sensitivity": "low",
        "lock": None,
        "reinforcement_count": 0,
        "changed_at": "2026-03-01T12:00:00.000000Z",
        "created_at": "2026-03-01T12:00:00.000000Z",
        "created_by": actor,
        "written_by": actor,
        "updated_by": actor,
        "deleted_at": None,
        "redacted_at": None,
    }


def test_by_id_and_by_key_it_is_the_same_row(db: Connection) -> None:
    receipt = fact(db, "set", value="x")
    by_id = fact(db, "get", memory_id=receipt["memory_id"])
    assert by_id == fact(db, "get")
    assert fact(db, "get", memory_id=receipt["memory_id"].upper()) == by_id


def test_nothing_there_is_an_answer(db: Connection) -> None:
    assert fact(db, "get") == NOWHERE
    assert fact(db, "get", memory_id=str(uuid4())) == NOWHERE


def test_a_request_names_either_key_or_id(db: Connection) -> None:
    receipt = fact(db, "set", value="x")
    for names in ({}, {"memory_key": KEY, "memory_id": receipt["memory_id"]}):
        with refused(db, "LM001") as refusal:
            operate(db, "memory.get", **IDENTITY, **names)
        assert refusal.detail["field"] == "memory_key"
        assert refusal.detail["reason"] == "name either memory_key or memory_id"


@pytest.mark.parametrize("memory_id", ["", "x", "0" * 32, "%", 1, {}, str(uuid4()) + "\n"])
def test_an_id_is_a_uuid(db: Connection, memory_id: Any) -> None:
    with refused(db, "LM001") as refusal:
        fact(db, "get", memory_id=memory_id)
    assert refusal.detail["field"] == "memory_id"


@pytest.mark.parametrize("key", ["", "x" * 201, "😀" * 65])
def test_a_key_has_the_limits_of_ids(db: Connection, key: str) -> None:
    for verb, rest in {"get": {}, "set": {"value": 1}, "delete": {}, "history": {}}.items():
        with refused(db, "LM406") as refusal:
            fact(db, verb, memory_key=key, **rest)
        assert refusal.detail["what"] == "memory_key"


@pytest.mark.parametrize("key", ["x" * 200, "😀" * 64, "%", "_", "\\", "a:b", ".", "-", " ", "\n"])
def test_o59_any_character_of_a_key_is_plain_data(db: Connection, key: str) -> None:
    fact(db, "set", memory_key="any other", value="other")
    fact(db, "set", memory_key=key, value=key)
    got = fact(db, "get", memory_key=key)
    assert (got["memory_key"], got["value"]) == (key, key)
    fact(db, "delete", memory_key=key)
    assert fact(db, "get", memory_key="any other")["value"] == "other"


def test_a_deleted_row_is_not_found_but_told(db: Connection) -> None:
    receipt = fact(db, "set", value="x")
    fact(db, "delete")
    told = {**NOWHERE, "status": "deleted", "memory_id": receipt["memory_id"], "version": 2}
    assert fact(db, "get") == {**told, "version_text": "2"}
    assert fact(db, "get", memory_id=receipt["memory_id"]) == {**told, "version_text": "2"}


def test_a_row_is_current_until_the_instant_it_expires(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    receipt = fact(db, "set", value="x", ttl_seconds=60)
    clock.advance(seconds=59, microseconds=999_999)
    assert fact(db, "get")["found"] is True
    clock.advance(microseconds=1)
    assert fact(db, "get") == {
        **NOWHERE,
        "status": "expired",
        "memory_id": receipt["memory_id"],
        "version": 1,
        "version_text": "1",
    }


def test_a_redacted_row_is_not_found_but_told(db: Connection) -> None:
    fact(db, "set", value="x")
    fact(db, "redact", reason="asked for")
    got = fact(db, "get")
    assert (got["found"], got["status"], got["version"]) == (False, "redacted", 2)
    assert "value" not in got


def test_the_version_a_caller_has_is_answered_without_its_value(db: Connection) -> None:
    fact(db, "set", value="one")
    receipt = fact(db, "set", value="two")
    got = fact(db, "get", if_version=2)
    assert (got["found"], got["unchanged"], got["version"]) == (True, True, 2)
    assert got["content_sha256"] == receipt["content_sha256"]
    assert not {"value", "tags"} & set(got)
    for other in (0, 1, 3, 2**53 - 1):
        assert fact(db, "get", if_version=other)["value"] == "two"


def test_a_version_to_compare_with_does_not_hide_that_nothing_is_there(db: Connection) -> None:
    fact(db, "set", value="one")
    fact(db, "delete")
    assert fact(db, "get", if_version=2)["found"] is False
    assert fact(db, "get", memory_key="other", if_version=0) == NOWHERE


@pytest.mark.parametrize("version", [-1, 1.5, "1", True, [], 2**53, 10**400])
def test_a_version_to_compare_with_is_a_whole_number(db: Connection, version: Any) -> None:
    with refused(db, "LM001") as refusal:
        fact(db, "get", if_version=version)
    assert refusal.detail["field"] == "if_version"


def test_o68_a_write_is_seen_at_once_by_every_read_of_another_session(services: Connection) -> None:
    fact(services, "set", value="x", agent=None)
    section = {"org": "acme", "namespace": "main", "label": "persona", "value": "y"}
    as_service(services, "loom_test_writer", "profile.set", **section)
    place = {"org": "acme", "namespace": "main"}
    got = as_service(services, "loom_test_viewer", "memory.get", **place, memory_key=KEY)
    assert got["value"] == "x"
    listed = as_service(services, "loom_test_viewer", "memory.list", **place)["items"]
    assert {item["memory_key"] for item in listed} == {KEY, "persona"}
    past = as_service(services, "loom_test_viewer", "memory.history", **place, memory_key=KEY)
    assert past["items"][0]["content_sha256"] == hash_of("x")
    rendered = as_service(services, "loom_test_viewer", "profile.render", **place)
    assert ">y</section>" in rendered["text"]
