"""memory.unlock: an admin takes a lock off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from tests.calls import Token, refused
from tests.databases import Clock
from tests.sql.doors import as_service, through_api
from tests.sql.facts import KEY, NOON, audited, changes, fact, hash_of

Connection = psycopg.Connection[Any]
Mint = Callable[..., Token]


@pytest.fixture(autouse=True)
def _noon(clock: Clock) -> None:
    clock.set(NOON)


def test_an_unlocked_row_changes_again(db: Connection, clock: Clock) -> None:
    memory_id = fact(db, "set", value="x")["memory_id"]
    fact(db, "lock", reason="held")
    clock.advance(seconds=5)
    receipt = fact(db, "unlock")
    assert (receipt["version"], receipt["noop"]) == (3, False)
    assert receipt["content_sha256"] == hash_of("x")
    got = fact(db, "get")
    assert (got["lock"], got["changed_at"]) == (None, "2026-03-01T12:00:05.000000Z")
    assert fact(db, "set", value="y")["version"] == 4
    assert changes(db) == ["set", "lock", "unlock", "set"]
    assert audited(db, "memory.unlock") == [{"memory_id": memory_id}]


def test_a_row_without_a_lock_stays_as_it_is(db: Connection) -> None:
    receipt = fact(db, "set", value="x")
    assert fact(db, "unlock") == {**receipt, "created": False, "noop": True}
    assert changes(db) == ["set"]
    assert audited(db, "memory.unlock") == []


def test_a_lock_that_has_ended_can_be_taken_off(db: Connection, clock: Clock) -> None:
    fact(db, "set", value="x")
    fact(db, "lock", reason="held", ttl_seconds=1)
    clock.advance(seconds=2)
    assert fact(db, "unlock")["noop"] is False
    assert fact(db, "unlock")["noop"] is True


def test_a_redacted_row_can_be_unlocked(db: Connection) -> None:
    fact(db, "set", value="x")
    fact(db, "lock", reason="held")
    fact(db, "redact", reason="r")
    assert fact(db, "unlock")["status"] == "redacted"


def test_there_is_nothing_to_unlock_where_no_row_is(db: Connection) -> None:
    with refused(db, "LM102"):
        fact(db, "unlock")


@pytest.mark.parametrize("role", ["viewer", "writer"])
def test_unlocking_takes_an_admin(services: Connection, mint: Mint, role: str) -> None:
    fact(services, "set", value="x")
    fact(services, "lock", reason="held")
    request = {"org": "acme", "namespace": "main", "agent": "coder", "memory_key": KEY}
    with refused(services, "LM302") as refusal:
        through_api(services, mint(role=role), "memory.unlock", **request)
    assert refusal.detail == {"reason": "role", "needed": "admin"}
    with refused(services, "42501"):
        as_service(services, f"loom_test_{role}", "memory.unlock", **request)
    assert fact(services, "get")["lock"] is not None
