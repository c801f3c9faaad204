"""Thousands of facts that end at once: no write pays for all of them, and none is told of twice."""

from __future__ import annotations

import pytest

from tests.calls import Connection
from tests.databases import Clock
from tests.sql.facts import NOON, fact
from tests.sql.structured_profile.served import (
    MANY,
    USER,
    builds,
    complete,
    serve,
    set_schema,
    status,
)
from tests.sql.structured_profile.source_rules import Owner, check, states, stored_rows

OWNER: Owner = ("acme", "main", "u1")
PLACE = {**USER, "agent": "coder"}
ENDING = 2500


@pytest.fixture
def ending(db: Connection, clock: Clock) -> Connection:
    """2,500 facts of a served profile that end in a minute, and one that does not."""
    clock.set(NOON)
    fact(db, "set", **PLACE, value="tea")
    db.execute(MANY.encode(), {"number": ENDING, "user": "u1", "lasts": "60 seconds"})
    check(db, NOON)
    set_schema(db)
    serve(db)
    assert (status(db), states(db)[OWNER].count) == ("ready", ENDING + 1)
    return db


def test_a_write_leaves_what_is_over_a_thousand_to_the_next(
    ending: Connection, clock: Clock
) -> None:
    clock.advance(seconds=60, microseconds=-1)
    assert status(ending) == "ready"
    now = clock.advance(microseconds=1)
    assert status(ending) == "stale"
    for left in (1500, 500):
        fact(ending, "set", **PLACE, memory_key="other", value=left)
        state = states(ending)[OWNER]
        assert state.count == left + 2
        assert state.next_change_at == now
        assert status(ending) == "stale"
    fact(ending, "delete", **PLACE, memory_key="other")
    assert states(ending)[OWNER].next_change_at is None
    check(ending, now)
    assert status(ending) == "stale"  # for 2,500 facts fewer
    serve(ending)
    assert status(ending) == "ready"


def test_claims_finish_what_no_write_does_and_build_once(ending: Connection, clock: Clock) -> None:
    clock.advance(seconds=60)
    given = []
    for _ in range(10):
        for lease_id, read in builds(ending):
            given.append({source["memory_key"] for source in read["sources"]})
            complete(ending, lease_id, {"name": "Sam"})
        if status(ending) == "ready":
            break
        clock.advance(seconds=600)
    now = clock.advance(seconds=0)
    assert status(ending) == "ready"
    check(ending, now)
    # No fact that has ended was given to a model, and no call was in vain.
    assert given == [{"likes"}]


def test_housekeeping_settles_before_it_removes(ending: Connection, clock: Clock) -> None:
    now = clock.advance(seconds=60)
    left = ENDING
    while left:
        row = ending.execute("select loom.housekeeping_memory(700)").fetchone()
        assert row is not None and 0 < row[0] <= 700
        left -= row[0]
        assert len(stored_rows(ending)) == left + 2  # the fact that stays, and the profile
    assert states(ending)[OWNER].count == 1
    check(ending, now)


def test_housekeeping_removes_nothing_whose_end_is_not_told_yet(
    ending: Connection, clock: Clock
) -> None:
    clock.set(NOON)
    fact(ending, "set", **PLACE, memory_key="z", value="same", ttl_seconds=60)
    clock.advance(seconds=1)
    fact(ending, "set", **PLACE, memory_key="zz", value="same")
    ending.execute("update loom.memory set changes_at = changes_at + '1 ms' where memory_key = 'z'")
    now = clock.advance(seconds=60)
    removed = []
    for _ in range(4):
        row = ending.execute("select loom.housekeeping_memory(5000)").fetchone()
        assert row is not None
        removed.append(row[0])
    assert removed == [1000, 1000, 501, 0]
    check(ending, now)
    assert states(ending)[OWNER].count == 2


@pytest.mark.parametrize("how", ["unlock", "unpin", "set", "set another", "redact"])
def test_a_row_that_has_ended_untold_hands_over_to_its_twin_when_it_is_written(
    ending: Connection, clock: Clock, how: str
) -> None:
    """The write settles a thousand others first, so that its own row's end is not told of yet."""
    clock.set(NOON)
    fact(ending, "set", **PLACE, memory_key="z", value="same", ttl_seconds=60)
    fact(ending, "lock", **PLACE, memory_key="z", reason="r", mode="no_delete")
    fact(ending, "pin", **PLACE, memory_key="z")
    clock.advance(seconds=1)
    fact(ending, "set", **PLACE, memory_key="zz", value="same")
    ending.execute("update loom.memory set changes_at = changes_at + '1 ms' where memory_key = 'z'")
    now = clock.advance(seconds=60)
    match how:
        case "set" | "set another":
            value = "same" if how == "set" else "another"
            fact(ending, "set", **PLACE, memory_key="z", value=value)
        case _:
            fields = {"reason": "r"} if how == "redact" else {}
            fact(ending, how, **PLACE, memory_key="z", **fields)
    assert (states(ending)[OWNER].next_change_at or now) < now
    for _ in range(3):
        fact(ending, "pin", **PLACE)
        fact(ending, "unpin", **PLACE)
    check(ending, now)


def test_a_row_that_has_ended_untold_comes_back_before_the_twin_that_followed_it(
    ending: Connection, clock: Clock
) -> None:
    clock.set(NOON)
    fact(ending, "set", **PLACE, memory_key="z", value="same", ttl_seconds=60)
    ending.execute("update loom.memory set changes_at = changes_at + '1 ms' where memory_key = 'z'")
    clock.advance(seconds=61)
    for key in ("zz", "z"):
        now = clock.advance(seconds=1)
        fact(ending, "set", **PLACE, memory_key=key, value="same")
    assert (states(ending)[OWNER].next_change_at or now) < now
    ending.execute("select loom._settle('acme', 'main', 'u1', %s)", (now,))
    check(ending, now)
    assert states(ending)[OWNER].count == 2


def test_twins_that_end_one_after_the_other_count_once_throughout(
    db: Connection, clock: Clock
) -> None:
    clock.set(NOON)
    for number in range(60):
        fact(
            db, "set", **PLACE, memory_key=f"k{number}", value="same", ttl_seconds=60 - number // 2
        )
        now = clock.advance(microseconds=1)
    check(db, now)
    assert states(db)[OWNER].count == 1
    for _ in range(61):
        state = states(db)[OWNER]
        if state.next_change_at is None:
            break
        now = clock.set(state.next_change_at)
        db.execute("select loom._settle('acme', 'main', 'u1', %s)", (now,))
        check(db, now)
    assert states(db)[OWNER].count == 0
