"""loom.work_fail: the ways in which a try can end without a result, and what each waits for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.calls import Connection, refused
from tests.databases import Clock
from tests.sql.facts import NOON, fact
from tests.sql.structured_profile.building import (
    NAME_AND_CITY,
    as_worker,
    build,
    build_row,
    explained,
    fail,
    finish,
    lease,
    read,
    rest,
    set_schema,
    settings,
    status,
    take,
)

U1 = {"user_id": "u1"}
ROW = {**U1, "memory_key": "structured_profile", "agent": "-"}


@pytest.fixture(autouse=True)
def _noon(db: Connection, clock: Clock) -> None:
    clock.set(NOON)
    set_schema(db)
    _likes(db)


def _likes(db: Connection, value: str = "tea", **fields: Any) -> None:
    fact(db, "set", **{**U1, "value": value, **fields})


def test_o53_a_failure_waits_twice_as_long_each_time_up_to_the_cap(
    db: Connection, clock: Clock
) -> None:
    for count, wait in enumerate((300, 600, 1200, 2400, 4800, 9600, 19200, 21600, 21600), 1):
        taken = lease(db)
        clock.advance(seconds=10)
        told = fail(db, taken)
        assert (told["found"], told["attempts"]) == (True, count)
        rest(db, clock, wait - 0.000001)
        assert take(db) == []
        clock.advance(microseconds=1)
    finish(db, lease(db), {"name": "Sam"})
    told = explained(db)
    assert (told["attempts"], told["last_error"], told["next_attempt_at"]) == (0, None, None)
    # It begins anew.
    clock.advance(seconds=600)
    _likes(db, "coffee")
    assert fail(db, lease(db))["attempts"] == 1


def test_the_waits_are_as_set(db: Connection, clock: Clock) -> None:
    settings(db, backoff_base_seconds=10, backoff_cap_seconds=25, lease_seconds=5)
    for wait in (10, 20, 25, 25):
        fail(db, lease(db))
        clock.advance(seconds=wait, microseconds=-1)
        assert take(db) == []
        clock.advance(microseconds=1)


def test_o53_a_change_of_facts_does_not_shorten_a_wait(db: Connection, clock: Clock) -> None:
    fail(db, lease(db))
    _likes(db, "coffee")
    fact(db, "set", **U1, memory_key="other", value="x")
    fact(db, "delete", **U1)
    set_schema(db, NAME_AND_CITY)
    assert take(db) == []
    rest(db, clock, 299)
    assert take(db) == []
    clock.advance(seconds=1)
    assert take(db) == ["u1"]


def test_a_failure_keeps_what_is_served(db: Connection, clock: Clock) -> None:
    build(db)
    clock.advance(seconds=600)
    _likes(db, "coffee")
    fail(db, lease(db), "failed", "NOT_JSON")
    assert status(db) == "stale"
    told = explained(db)
    assert (told["attempts"], told["last_error"]) == (1, "NOT_JSON")
    assert told["next_attempt_at"] == told["due_at"]
    assert told["sources_match"] is False


def test_o55_waiting_uses_no_attempt_and_waits_as_the_provider_says(
    db: Connection, clock: Clock
) -> None:
    told = fail(db, lease(db), "waiting", "RATE_LIMITED", 42)
    assert (told["attempts"], told["due_at"]) == (0, "2026-03-01T12:00:42.000000Z")
    assert explained(db)["last_error"] == "RATE_LIMITED"
    clock.advance(seconds=42, microseconds=-1)
    assert take(db) == []
    clock.advance(microseconds=1)
    for _ in range(5):
        # Without a word of the provider's the first wait of the backoff, time and again.
        assert fail(db, lease(db), "waiting", "OUTAGE")["attempts"] == 0
        clock.advance(seconds=300, microseconds=-1)
        assert take(db) == []
        clock.advance(microseconds=1)
    # Never sooner than in half a minute, nor later than the cap.
    assert fail(db, lease(db), "waiting", "OUTAGE", 0)["due_at"] == "2026-03-01T12:26:12.000000Z"
    clock.advance(seconds=30)
    assert fail(db, lease(db), "waiting", "OUTAGE", 10**6)["due_at"] == (
        "2026-03-01T18:26:12.000000Z"
    )


def test_waiting_does_not_forget_earlier_failures(db: Connection, clock: Clock) -> None:
    fail(db, lease(db))
    rest(db, clock, 300)
    fail(db, lease(db))
    rest(db, clock, 600)
    assert fail(db, lease(db), "waiting", "RATE_LIMITED", 1)["attempts"] == 2
    rest(db, clock, 30)
    assert fail(db, lease(db))["attempts"] == 3


def test_a_lease_that_is_given_back_gives_back_its_attempt(db: Connection) -> None:
    told = fail(db, lease(db), "released", "STOPPED")
    assert (told["attempts"], told["due_at"]) == (0, "2026-03-01T12:00:00.000000Z")
    assert explained(db)["last_error"] is None
    assert take(db) == ["u1"]


def test_a_lease_that_is_given_back_keeps_the_last_error(db: Connection, clock: Clock) -> None:
    fail(db, lease(db), "failed", "NOT_JSON")
    rest(db, clock, 300)
    assert fail(db, lease(db), "released", "STOPPED")["attempts"] == 1
    assert explained(db)["last_error"] == "NOT_JSON"


@pytest.fixture
def cut_off(db: Connection, clock: Clock) -> None:
    """A user whose answer was cut off ten minutes ago."""
    taken = lease(db)
    read(db, taken)
    fail(db, taken, "cut_off", "CUT_OFF")
    clock.advance(seconds=600)


@pytest.mark.usefixtures("cut_off")
def test_o52_what_was_cut_off_is_not_asked_again(db: Connection, clock: Clock) -> None:
    assert take(db) == []
    told = explained(db)
    assert (told["refused"], told["attempts"], told["last_error"]) == ("CUT_OFF", 0, "CUT_OFF")
    clock.advance(seconds=21600 - 600, microseconds=-1)
    assert take(db) == []
    clock.advance(microseconds=1)
    assert take(db) == ["u1"]


@pytest.mark.usefixtures("cut_off")
@pytest.mark.parametrize("way", ["edit", "new fact", "deletion", "schema", "row", "lock"])
def test_what_was_cut_off_is_asked_again_when_something_changes(db: Connection, way: str) -> None:
    if way == "edit":
        _likes(db, "coffee")
    elif way == "new fact":
        _likes(db, "water", memory_key="other")
    elif way == "deletion":
        _likes(db, "water", memory_key="other")
        fact(db, "delete", **U1)
    elif way == "schema":
        set_schema(db, NAME_AND_CITY)
    elif way == "row":
        fact(db, "set", **ROW, value="a caller's")
    else:
        fact(db, "lock", **U1, reason="r")
    assert take(db) == ["u1"]


@pytest.mark.usefixtures("cut_off")
def test_what_was_cut_off_is_not_asked_again_for_what_is_no_source(
    db: Connection, clock: Clock
) -> None:
    fact(db, "set", **U1, memory_key="episode", value="x", memory_type="episodic")
    fact(db, "set", user_id="u2", value="x")
    assert take(db) == ["u2"]


def test_facts_that_changed_while_the_answer_was_cut_off_are_asked_about(
    db: Connection, clock: Clock
) -> None:
    taken = lease(db)
    read(db, taken)
    _likes(db, "coffee")
    fail(db, taken, "cut_off", "CUT_OFF")
    assert explained(db)["refused"] is None
    clock.advance(seconds=600, microseconds=-1)
    assert take(db) == []
    clock.advance(microseconds=1)
    assert take(db) == ["u1"]


def test_a_schema_that_changed_while_the_answer_was_cut_off_is_tried_at_once(
    db: Connection,
) -> None:
    taken = lease(db)
    read(db, taken)
    set_schema(db, NAME_AND_CITY)
    fail(db, taken, "cut_off", "CUT_OFF")
    assert take(db) == ["u1"]


def test_a_wait_for_refusals_is_as_long_as_is_set(db: Connection, clock: Clock) -> None:
    settings(db, refusal_retry_seconds=1000)
    taken = lease(db)
    read(db, taken)
    fail(db, taken, "cut_off", "CUT_OFF")
    clock.advance(seconds=999)
    assert take(db) == []
    clock.advance(seconds=1)
    assert take(db) == ["u1"]


def test_a_lease_that_is_over_is_not_found(db: Connection, clock: Clock) -> None:
    taken = lease(db)
    finish(db, taken, {"name": "Sam"})
    before = build_row(db)
    for outcome in ("failed", "waiting", "cut_off", "released"):
        assert fail(db, taken, outcome) == {"found": False}
    assert build_row(db) == before


@pytest.mark.parametrize(
    ("outcome", "error", "seconds"),
    [
        ("lost", "X", None),
        (None, "X", None),
        ("failed", None, None),
        ("failed", "", None),
        ("failed", "the user said: tea", None),
        ("failed", "lower", None),
        ("failed", "X" * 65, None),
        ("failed", "TWO\nLINES", None),
        ("waiting", "X", -1),
    ],
)
def test_an_outcome_is_a_known_one_and_an_error_a_code(
    db: Connection, outcome: str | None, error: str | None, seconds: int | None
) -> None:
    taken = lease(db)
    with refused(db, "LM001") as refusal, as_worker(db):
        db.execute(
            "select loom.work_fail('acme', %s, %s, %s, %s)",
            (taken.lease_id, outcome, error, seconds),
        )
    assert refusal.detail["field"] == "p_outcome"
