"""memory.get as of a time: what was recorded by then, to the microsecond."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest

from tests.calls import refused
from tests.databases import Clock
from tests.sql.facts import NOON, fact, history, value_of

Connection = psycopg.Connection[Any]

MICROSECOND = timedelta(microseconds=1)


def wire(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def test_a_version_holds_from_the_microsecond_it_was_recorded(db: Connection, clock: Clock) -> None:
    first = clock.set(NOON)
    fact(db, "set", value="one")
    second = clock.advance(seconds=1, microseconds=3)
    fact(db, "set", value="two")
    clock.advance(days=1)
    for at, value in {
        first: "one",
        second - MICROSECOND: "one",
        second: "two",
        second + timedelta(days=9): "two",
    }.items():
        assert value_of(db, as_of=wire(at)) == value
    got = fact(db, "get", as_of=wire(first - MICROSECOND))
    assert (got["found"], got["status"]) == (False, "absent")


def test_versions_of_one_instant_are_a_microsecond_apart(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    for number in range(4):
        fact(db, "set", value=number)
    for number in range(4):
        got = fact(db, "get", as_of=wire(NOON + number * MICROSECOND))
        assert (got["value"], got["version"]) == (number, number + 1)


def test_any_zone_and_the_recorded_time_itself_name_an_instant(
    db: Connection, clock: Clock
) -> None:
    clock.set(NOON)
    fact(db, "set", value="one")
    clock.advance(hours=1)
    fact(db, "set", value="two")
    assert value_of(db, as_of="2026-03-01T17:29:59+04:30") == "one"
    assert value_of(db, as_of="2026-03-01T17:30:00+04:30") == "two"
    for version in history(db):
        assert value_of(db, as_of=version["recorded_at"]) == version["value"]


def test_metadata_is_that_of_the_time(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    fact(db, "set", value="same", tags=["old"], confidence=0.5, valid_at="2026-01-01T00:00:00Z")
    clock.advance(seconds=1)
    fact(db, "set", value="same", tags=["new"], clear_valid=True, sensitivity="high")
    clock.advance(seconds=1)
    fact(db, "lock", reason="held", mode="no_delete")
    then = fact(db, "get", as_of=wire(NOON))
    assert (then["tags"], then["confidence"], then["sensitivity"]) == (["old"], 0.5, "normal")
    assert then["valid_at"] == "2026-01-01T00:00:00.000000Z"
    between = fact(db, "get", as_of=wire(NOON + timedelta(seconds=1)))
    assert (between["value"], between["tags"], between["lock"]) == ("same", ["new"], None)
    assert between["updated_at"] == wire(NOON + timedelta(seconds=1))
    locked = fact(db, "get", as_of=wire(NOON + timedelta(seconds=2)))
    assert (locked["value"], locked["lock"]["mode"]) == ("same", "no_delete")


def test_a_row_is_there_as_of_the_times_it_was_there(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    fact(db, "set", value="one")
    deleted = clock.advance(seconds=1)
    fact(db, "delete")
    back = clock.advance(seconds=1)
    fact(db, "set", value="two")
    assert value_of(db, as_of=wire(deleted - MICROSECOND)) == "one"
    got = fact(db, "get", as_of=wire(deleted))
    assert (got["found"], got["status"], got["version"]) == (False, "deleted", 2)
    assert fact(db, "get", as_of=wire(back - MICROSECOND))["found"] is False
    assert value_of(db, as_of=wire(back)) == "two"
    fact(db, "delete")
    assert value_of(db, as_of=wire(back)) == "two"


def test_expiry_is_judged_by_the_time_asked_for(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    fact(db, "set", value="one", ttl_seconds=60)
    end = NOON + timedelta(seconds=60)
    assert fact(db, "get", as_of=wire(end))["status"] == "expired"
    clock.advance(days=1)
    assert value_of(db, as_of=wire(end - MICROSECOND)) == "one"
    assert fact(db, "get", as_of=wire(end))["found"] is False


def test_by_id_the_past_is_the_same(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    memory_id = fact(db, "set", value="one")["memory_id"]
    clock.advance(seconds=1)
    fact(db, "set", value="two")
    assert value_of(db, memory_id=memory_id, as_of=wire(NOON)) == "one"
    assert fact(db, "get", memory_id=memory_id, as_of=wire(NOON - MICROSECOND))["found"] is False


def test_the_version_a_caller_has_is_compared_with_the_one_of_the_time(
    db: Connection, clock: Clock
) -> None:
    clock.set(NOON)
    fact(db, "set", value="one")
    clock.advance(seconds=1)
    fact(db, "set", value="two")
    assert fact(db, "get", as_of=wire(NOON), if_version=1)["unchanged"] is True
    assert fact(db, "get", as_of=wire(NOON), if_version=2)["value"] == "one"


def test_a_key_means_the_row_that_was_nearest_then(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    fact(db, "set", value="everyone's")
    own = clock.advance(seconds=1)
    fact(db, "set", value="u's", user_id="u")
    gone = clock.advance(seconds=1)
    fact(db, "delete", user_id="u")
    clock.advance(seconds=1)
    for at, value in {
        NOON: "everyone's",
        own - MICROSECOND: "everyone's",
        own: "u's",
        gone - MICROSECOND: "u's",
        gone: "everyone's",
    }.items():
        assert value_of(db, user_id="u", as_of=wire(at)) == value, wire(at)


def test_a_near_row_that_ended_since_was_near_then(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    fact(db, "set", value="everyone's")
    clock.advance(seconds=1)
    fact(db, "delete")
    assert value_of(db, user_id="u", as_of=wire(NOON)) == "everyone's"


def test_what_was_nearest_then_is_judged_by_the_expiry_of_then(
    db: Connection, clock: Clock
) -> None:
    clock.set(NOON)
    fact(db, "set", value="everyone's")
    fact(db, "set", value="u's", user_id="u", ttl_seconds=60)
    end = NOON + timedelta(seconds=60)
    for _ in range(2):
        assert value_of(db, user_id="u", as_of=wire(end - MICROSECOND)) == "u's"
        assert value_of(db, user_id="u", as_of=wire(end)) == "everyone's"
        clock.advance(days=1)


def test_the_reach_of_the_past_is_that_of_the_present(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    receipt = fact(db, "set", value="v's", user_id="v", session_id="s1")
    for names in ({}, {"memory_id": receipt["memory_id"]}):
        for scope in ({}, {"read_scope": "own_session", "session_id": "s2"}):
            got = fact(db, "get", user_id="u", as_of=wire(NOON), **names, **scope)
            assert (got["found"], got["memory_id"]) == (False, None)
    got = fact(db, "get", user_id="v", session_id="s2", read_scope="own_session", as_of=wire(NOON))
    assert got["found"] is False


@pytest.mark.parametrize("as_of", ["", "yesterday", "2026-03-01", "infinity", 1, {}])
def test_a_time_that_is_none_is_refused(db: Connection, as_of: Any) -> None:
    with refused(db, "LM001") as refusal:
        fact(db, "get", as_of=as_of)
    assert refusal.detail["field"] == "as_of"
