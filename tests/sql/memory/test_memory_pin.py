"""memory.pin and memory.unpin: a value that callers cannot change."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.calls import Answer, refused
from tests.databases import Clock
from tests.sql.doors import DOORS, IDENTITY
from tests.sql.facts import NOON, audited, changes, fact, hash_of, section, value_of

Connection = psycopg.Connection[Any]

NAMED: Answer = {"memory_key": "persona"}

CHANGED: dict[str, tuple[str, Answer]] = {
    "memory.set": ("memory.set", {**NAMED, "value": "new"}),
    "memory.set pinned": ("memory.set", {**NAMED, "value": "new", "pinned": True}),
    "memory.revert": ("memory.revert", {**NAMED, "version": 1}),
    "profile.set": ("profile.set", {"label": "persona", "value": "new"}),
    "profile.append": ("profile.append", {"label": "persona", "addition": "new"}),
    "profile.replace": ("profile.replace", {"label": "persona", "old": "old", "new": "new"}),
}


@pytest.fixture(autouse=True)
def _noon(clock: Clock) -> None:
    clock.set(NOON)


@pytest.fixture
def pinned(db: Connection) -> Connection:
    """A database with a pinned section that every change of `CHANGED` would change."""
    section(db, "set", value="older")
    section(db, "set", value="old")
    fact(db, "pin", **NAMED)
    return db


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("change", CHANGED)
def test_a_changed_value_is_refused_by_every_operation_and_door(
    pinned: Connection, change: str, door: str
) -> None:
    op, request = CHANGED[change]
    with refused(pinned, "LM204") as refusal:
        DOORS[door](pinned, op, **IDENTITY, **request)
    assert refusal.hint
    assert value_of(pinned, **NAMED) == "old"


def test_the_same_value_and_other_metadata_go_through(pinned: Connection) -> None:
    assert section(pinned, "set", value="old")["noop"] is True
    assert fact(pinned, "set", **NAMED, value="old", tags=["t"])["version"] == 4
    assert fact(pinned, "label", **NAMED, sensitivity="high")["version"] == 5
    assert section(pinned, "replace", old="old", new="old")["noop"] is True
    assert fact(pinned, "get", **NAMED)["pinned"] is True


def test_a_set_that_unpins_may_change_the_value(pinned: Connection) -> None:
    fact(pinned, "set", **NAMED, value="new", pinned=False)
    got = fact(pinned, "get", **NAMED)
    assert (got["value"], got["pinned"]) == ("new", False)


@pytest.mark.parametrize(("verb", "before"), [("pin", False), ("unpin", True)])
def test_it_is_a_new_version_that_does_not_date_the_fact_anew(
    db: Connection, clock: Clock, verb: str, before: bool
) -> None:
    fact(db, "set", value="x", pinned=before)
    clock.advance(seconds=5)
    receipt = fact(db, verb)
    assert (receipt["version"], receipt["noop"], receipt["created"]) == (2, False, False)
    assert receipt["content_sha256"] == hash_of("x")
    got = fact(db, "get")
    assert got["pinned"] is not before
    assert got["updated_at"] == "2026-03-01T12:00:05.000000Z"
    assert got["changed_at"] == "2026-03-01T12:00:00.000000Z"
    assert changes(db) == ["set", verb]


@pytest.mark.parametrize(("verb", "before"), [("pin", True), ("unpin", False)])
def test_a_row_that_is_so_already_stays_as_it_is(db: Connection, verb: str, before: bool) -> None:
    receipt = fact(db, "set", value="x", pinned=before)
    assert fact(db, verb) == {**receipt, "created": False, "noop": True}
    assert changes(db) == ["set"]


def test_an_unpinned_row_changes_again(pinned: Connection) -> None:
    fact(pinned, "unpin", **NAMED)
    assert section(pinned, "append", addition="new")["version"] == 5


def test_each_pin_is_audited_by_the_row_however_it_came_about(db: Connection) -> None:
    memory_id = fact(db, "set", value="x", pinned=True)["memory_id"]
    fact(db, "set", value="x", pinned=False)
    fact(db, "pin")
    fact(db, "pin")
    fact(db, "unpin")
    fact(db, "set", value="y", pinned=True, dry_run=True)
    assert audited(db, "memory.pin") == [{"memory_id": memory_id}] * 2
    assert audited(db, "memory.unpin") == [{"memory_id": memory_id}] * 2


@pytest.mark.parametrize("state", ["absent", "deleted", "redacted", "expired"])
def test_only_a_current_row_is_pinned(db: Connection, clock: Clock, state: str) -> None:
    if state != "absent":
        fact(db, "set", value="x", ttl_seconds=60)
    if state == "deleted":
        fact(db, "delete")
    if state == "redacted":
        fact(db, "redact", reason="r")
    clock.advance(seconds=61)
    with refused(db, "LM102"):
        fact(db, "pin")


def test_there_is_nothing_to_unpin_where_no_row_is(db: Connection) -> None:
    with refused(db, "LM102"):
        fact(db, "unpin")


def test_a_redacted_row_can_be_unpinned(db: Connection) -> None:
    fact(db, "set", value="x", pinned=True)
    fact(db, "redact", reason="r")
    assert fact(db, "unpin")["status"] == "redacted"


def test_a_new_value_over_a_tombstone_meets_no_pin(db: Connection) -> None:
    fact(db, "set", value="x", pinned=True)
    fact(db, "delete")
    fact(db, "set", value="y")
    assert fact(db, "get")["pinned"] is False
