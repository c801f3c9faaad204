"""memory.lock: what a lock guards a row against, how long, and who replaces it."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import Answer, refused
from tests.databases import Clock
from tests.sql.doors import as_service
from tests.sql.facts import NOON, audited, changes, fact, hash_of, history, section
from tests.sql.texts import exactly

Connection = psycopg.Connection[Any]

ROW: Answer = {"org": "acme", "namespace": "main", "agent": "coder", "memory_key": "persona"}
SECTION: Answer = {"org": "acme", "namespace": "main", "agent": "coder", "label": "persona"}

CHANGES: dict[str, tuple[str, Answer]] = {
    "set": ("memory.set", {**ROW, "value": "new"}),
    "restatement": ("memory.set", {**ROW, "value": "old"}),
    "metadata": ("memory.set", {**ROW, "value": "old", "tags": ["t"]}),
    "revert": ("memory.revert", {**ROW, "version": 1}),
    "pin": ("memory.pin", ROW),
    "unpin": ("memory.unpin", ROW),
    "label": ("memory.label", {**ROW, "sensitivity": "high"}),
    "profile.set": ("profile.set", {**SECTION, "value": "new"}),
    "profile.append": ("profile.append", {**SECTION, "addition": "new"}),
    "profile.replace": ("profile.replace", {**SECTION, "old": "old", "new": "new"}),
}
DELETES: dict[str, tuple[str, Answer]] = {
    "delete": ("memory.delete", ROW),
    "profile.delete": ("profile.delete", SECTION),
}


@pytest.fixture(autouse=True)
def _noon(clock: Clock) -> None:
    clock.set(NOON)


@pytest.fixture
def live(services: Connection) -> Connection:
    """A database with a section that every change of these tables would change."""
    section(services, "set", value="old")
    return services


def by(conn: Connection, role: str, change: tuple[str, Answer]) -> Answer:
    return as_service(conn, f"loom_test_{role}", change[0], **change[1])


def lock(conn: Connection, **fields: Any) -> Answer:
    return by(conn, "writer", ("memory.lock", {**ROW, "reason": "held", **fields}))


def test_a_lock_is_a_new_version_with_the_same_content_that_dates_the_fact_anew(
    live: Connection, clock: Clock
) -> None:
    clock.advance(seconds=5)
    receipt = lock(live)
    assert (receipt["version"], receipt["created"], receipt["noop"]) == (2, False, False)
    assert receipt["content_sha256"] == hash_of("old")
    got = fact(live, "get", memory_key="persona")
    assert got["lock"] == {"mode": "read_only", "reason": "held", "until": None}
    assert got["changed_at"] == got["updated_at"] == "2026-03-01T12:00:05.000000Z"
    assert (got["value"], got["updated_by"]) == ("old", "service:loom_test_writer")
    assert got["written_by"] == got["created_by"] != got["updated_by"]
    assert changes(live, memory_key="persona") == ["set", "lock"]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("role", ["writer", "admin"])
def test_read_only_refuses_every_change_from_everyone(
    live: Connection, change: str, role: str
) -> None:
    lock(live)
    with refused(live, "LM205") as refusal:
        by(live, role, CHANGES[change])
    assert refusal.detail == {"reason": "held", "until": None}
    assert refusal.hint
    assert changes(live, memory_key="persona") == ["set", "lock"]


@pytest.mark.parametrize("change", CHANGES)
def test_no_delete_lets_changes_through(live: Connection, change: str) -> None:
    lock(live, mode="no_delete")
    by(live, "writer", CHANGES[change])
    assert fact(live, "get", memory_key="persona")["lock"]["mode"] == "no_delete"


@pytest.mark.parametrize("mode", ["read_only", "no_delete"])
@pytest.mark.parametrize("change", DELETES)
def test_both_modes_refuse_a_delete(live: Connection, change: str, mode: str) -> None:
    lock(live, mode=mode)
    for role in ("writer", "admin"):
        with refused(live, "LM205"):
            by(live, role, DELETES[change])
    assert fact(live, "get", memory_key="persona")["found"] is True


@pytest.mark.parametrize("named", ["until", "ttl_seconds"])
def test_a_lock_ends_by_the_clock(live: Connection, clock: Clock, named: str) -> None:
    end = {"until": "2026-03-01T13:01:05+01:00", "ttl_seconds": 60}[named]
    clock.advance(seconds=5)
    lock(live, **{named: end})
    with refused(live, "LM205") as refusal:
        by(live, "writer", CHANGES["set"])
    assert refusal.detail == {"reason": "held", "until": "2026-03-01T12:01:05.000000Z"}
    clock.advance(seconds=60, microseconds=-2)
    with refused(live, "LM205"):
        by(live, "writer", CHANGES["set"])
    clock.advance(microseconds=2)
    assert fact(live, "get", memory_key="persona")["lock"] is None
    by(live, "writer", CHANGES["set"])
    assert by(live, "writer", DELETES["delete"])["found"] is True


def test_a_lock_says_so_before_a_stale_hash_or_a_long_value_does(live: Connection) -> None:
    lock(live)
    op, request = CHANGES["set"]
    for wrong in ({"if_match_sha256": "stale"}, {"value": exactly(9000)}):
        with refused(live, "LM205"):
            by(live, "writer", (op, {**request, **wrong}))


def test_a_second_lock_by_a_writer_is_refused_and_an_admins_replaces(live: Connection) -> None:
    lock(live, ttl_seconds=60)
    with refused(live, "LM205") as refusal:
        lock(live, reason="mine")
    assert refusal.detail["reason"] == "held"
    by(live, "admin", ("memory.lock", {**ROW, "reason": "audit", "mode": "no_delete"}))
    got = fact(live, "get", memory_key="persona")
    assert got["lock"] == {"mode": "no_delete", "reason": "audit", "until": None}


def test_a_lock_that_has_ended_can_be_replaced_by_a_writer(live: Connection, clock: Clock) -> None:
    lock(live, ttl_seconds=60)
    clock.advance(seconds=61)
    lock(live, reason="again")
    assert fact(live, "get", memory_key="persona")["lock"]["reason"] == "again"


@pytest.mark.parametrize("state", ["absent", "deleted", "redacted", "expired"])
def test_only_a_current_row_is_locked(db: Connection, clock: Clock, state: str) -> None:
    if state != "absent":
        fact(db, "set", value="x", ttl_seconds=60)
    if state in ("deleted", "redacted"):
        fact(db, state.removesuffix("ed") + "e" * (state == "deleted"), **_reason(state))
    clock.advance(seconds=61)
    with refused(db, "LM102"):
        fact(db, "lock", reason="r")


def _reason(state: str) -> Answer:
    return {"reason": "r"} if state == "redacted" else {}


def test_a_reason_is_required_and_has_at_most_five_hundred_characters(db: Connection) -> None:
    fact(db, "set", value="x")
    for missing in ({}, {"reason": None}):
        with refused(db, "LM001") as refusal:
            fact(db, "lock", **missing)
        assert refusal.detail == {"field": "reason", "reason": "is required"}
    with refused(db, "LM406") as refusal:
        fact(db, "lock", reason=exactly(501, "😀"))
    assert refusal.detail == {"what": "reason", "limit": 500, "value": 501}
    fact(db, "lock", reason=exactly(500, "😀"))


def test_an_end_is_told_in_one_way(db: Connection) -> None:
    fact(db, "set", value="x")
    with refused(db, "LM001") as refusal:
        fact(db, "lock", reason="r", ttl_seconds=1, until="2030-01-01T00:00:00Z")
    assert refusal.detail["field"] == "ttl_seconds"
    for wrong in (0, -1, 315_360_001, "60", 1.5):
        with refused(db, "LM001"):
            fact(db, "lock", reason="r", ttl_seconds=wrong)
    for wrong in ("tomorrow", 1, "2030-01-01"):
        with refused(db, "LM001") as refusal:
            fact(db, "lock", reason="r", until=wrong)
        assert refusal.detail["field"] == "until"
    with refused(db, "LM001") as refusal:
        fact(db, "lock", reason="r", mode="hidden")
    assert refusal.detail["field"] == "mode"


def test_a_lock_is_audited_without_its_reason(live: Connection) -> None:
    memory_id = lock(live, reason="because she is ill", mode="no_delete")["memory_id"]
    assert audited(live, "memory.lock") == [{"memory_id": memory_id, "mode": "no_delete"}]


def test_a_row_that_was_locked_keeps_the_lock_through_changes(live: Connection) -> None:
    lock(live, mode="no_delete", ttl_seconds=60)
    by(live, "writer", CHANGES["set"])
    versions = history(live, memory_key="persona")
    assert versions[-1]["lock"]["reason"] == "held"
